"""The command line: what is asked for, checked, as one object; and which scenario does it."""

import argparse
import importlib
import sys
import time
from pathlib import Path

import bench
import build
import packages
import processes
from peers import PEERS

SCENARIOS = {
    "compare": "mstore against the other tools, round by round (the default)",
    "ab": "mstore's own choices against each other: --io, streams and other variants",
    "dd": "a push to disk, durable, against dd with direct I/O to the same disk",
    "clients": "1, 4, 16 and 64 clients that pull the same model at a time",
    "ls": "mstore ls of 2 000 models against find",
    "cold": "a pull of a source that is not in the cache, from a disk throttled to 400 MB/s",
    "memory": "peak memory of both sides for one big file and for very many files",
    "all": "each of these in turn",
}
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def size(text):
    """A number of bytes: 64M is 64 * 10^6."""
    word = text.lower()
    unit = word[-1:] if word[-1:] in "kmg" else ""
    try:
        number = float(word.removesuffix(unit)) * UNITS[unit]
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a size: {text!r}") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"too small: {text!r}")
    return int(number)


def choice_of(*names):
    """A parser of comma-separated lists of these names."""
    def parse(text):
        chosen = [word for word in text.split(",") if word]
        unknown = [word for word in chosen if word not in names]
        if unknown or not chosen:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown) or 'nothing'}: choose from {', '.join(names)}")
        return chosen
    return parse


def number(text):
    """A whole number from 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number from 1: {text!r}")
    return int(text)


def names(text):
    """Comma-separated names."""
    return [word for word in text.split(",") if word]


def parser():
    """All options."""
    scenarios = "\n".join(f"  {name:8} {what}" for name, what in SCENARIOS.items())
    made = argparse.ArgumentParser(prog="tests/bench/run", formatter_class=argparse.RawDescriptionHelpFormatter,
                                   description="Measures mstore on this machine.", epilog="scenarios:\n" + scenarios)
    add = made.add_argument
    add("scenario", nargs="?", choices=SCENARIOS, default="compare", metavar="SCENARIO", help="see below (compare)")
    add("--scenario", dest="scenario_option", choices=SCENARIOS, metavar="SCENARIO", help="the same as an option")
    add("--quick", action="store_true", help="less data, fewer rounds and combinations: under 10 minutes")
    add("--rounds", type=number, metavar="N", help="timed rounds (5; quick: 2)")
    add("--size", type=size, metavar="SIZE", help="bytes of the workloads single and model (4G; quick: 512M)")
    add("--files", type=number, metavar="N", help="files of the workload small (5000; quick: 1000)")
    add("--peers", type=choice_of(*PEERS), metavar="LIST", help=f"which of {', '.join(PEERS)} (all)")
    add("--work", type=choice_of("single", "model", "small"), metavar="LIST", help="which of single, model, small")
    add("--direction", type=choice_of("push", "pull"), metavar="LIST", help="which of push, pull")
    add("--place", type=choice_of("memory", "disk"), metavar="LIST", help="which of memory, disk")
    add("--cache", type=choice_of("warm", "cold"), metavar="LIST", help="the source on disk: warm, cold")
    add("--net", type=choice_of("loopback", "netns"), metavar="LIST", help="which of loopback, netns")
    add("--variants", type=names, metavar="LIST", help="for ab: groups or single variants of variants.py (all)")
    add("--throttle", type=size, default=400 * 10**6, metavar="RATE", help="for cold: the disk's bytes a second (400M)")
    add("--out", type=Path, metavar="FILE", help="the JSON lines (in the folder, named after date and scenario)")
    add("--folder", type=Path, default=build.REPO / "build" / "bench", metavar="DIR",
        help="where everything is made; its disk is the one that is measured (build/bench)")
    add("--build", type=Path, default=build.REPO / "build" / "release", metavar="DIR",
        help="the programs; made when missing (build/release)")
    add("--install", action="store_true", help="install what is missing from Debian first")
    return made


def options_from(words):
    """The options with the defaults that depend on --quick."""
    options = parser().parse_args(words)
    options.scenario = options.scenario_option or options.scenario
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.size = options.size or (512 * 10**6 if options.quick else 4 * 10**9)
    options.files = options.files or (1000 if options.quick else 5000)
    return options


def main(words):
    """Runs what the words ask for; the exit status."""
    options, began = options_from(words), time.monotonic()
    wanted = [name for name in SCENARIOS if name != "all"] if options.scenario == "all" else [options.scenario]
    try:
        if options.install:
            packages.install()
        build.ensure(options.build)
        for name in wanted:
            with bench.Bench(options, name, began) as run:
                importlib.import_module(f"scenarios.{name}").run(run)
            began = time.monotonic()
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    except (processes.Failed, OSError) as why:
        print(f"bench: {why}", file=sys.stderr)
        return 1
    return 0
