"""`mstore ls` of 2 000 tiny models, warm, against `find ROOT -maxdepth 2`, in turns.

Once with models that were pushed (they have manifests) and once with models that were copied into the root.
"""

import os
import time

import content
import processes
import report
import sides
import stats
import targets
from peers.mstore import Mstore

MODELS, NAMESPACES, TURNS = 2000, 20, 6


def run(bench):
    """A table with both kinds; the target is judged by the pushed ones."""
    bench.report.versions(Mstore().versions())
    for place in bench.options.place or ["memory"]:
        rows = []
        for kind, fill in (("pushed", _push), ("copied", _copy)):
            with bench.setting("loopback", place) as servers:
                mstore = Mstore()
                fill(bench, servers, mstore)
                found = len(mstore.models(servers))
                if found != MODELS:
                    raise processes.Failed(f"mstore ls names {found} models of {MODELS}")
                rows.append(dict(_turns(bench, servers, mstore), models=kind, place=place))
                bench.report.line("row", **rows[-1])
        _show(bench, rows, place)


def _names():
    return [f"space{number % NAMESPACES:02}/model{number:04}" for number in range(MODELS)]


def _copy(_bench, servers, _mstore):
    for name in _names():
        folder = servers.place.root / name
        folder.mkdir(parents=True)
        content.write_random(folder / "config.json", 500)
        content.write_random(folder / "model.safetensors", 2000)


def _push(bench, servers, mstore):
    source = content.make(bench.contents, "tinymodel", [("config.json", 500), ("model.safetensors", 2000)])
    for name in _names():
        mstore.ask(servers, "push", source.path, name, "-q")


def _turns(bench, servers, mstore):
    """Both commands in turns; the first turn is not counted."""
    group, group_of_server = sides.make_group("client"), mstore.server(servers).group
    commands = {"ls": mstore.words(servers, "ls"), "find": ["find", servers.place.root, "-maxdepth", "2"]}
    times = {name: {} for name in commands}
    try:
        for turn in range(-1, bench.options.rounds * TURNS):
            if turn == 0:
                before = group_of_server.cpu_seconds()
            for name in sorted(commands, reverse=turn % 2 == 1):
                seconds = _timed(servers, group, commands[name])
                if turn >= 0:
                    times[name][turn] = seconds
                    bench.report.line("run", command=name, seconds=seconds, turn=turn)
    finally:
        group.close()
    used = (group_of_server.cpu_seconds() - before) / len(times["ls"])
    return {"ls_ms": stats.middle(list(times["ls"].values())) * 1e3, "server_cpu_ms": used * 1e3,
            "find_ms": stats.middle(list(times["find"].values())) * 1e3,
            "ratio": stats.paired(times["ls"], times["find"]),
            "noise": stats.spread(list(times["ls"].values()))["noise"]}


def _timed(servers, group, words):
    with open(os.devnull, "wb") as nothing:
        began = time.monotonic()
        process = processes.spawn(words, group, None, servers.folder / "client.log",
                                  processes.environment(servers.folder), stdout=nothing)
        ended = processes.wait(process, 60)
        seconds = time.monotonic() - began
    group.ended(process.pid, ended.cpu_seconds)
    if ended.status != 0:
        raise processes.Failed(f"{words[0]} ended with {ended.status}")
    return seconds


def _show(bench, rows, place):
    bench.report.table(f"ls of {MODELS} models, {place}, warm; {bench.options.rounds * TURNS} turns", [
        ("models", lambda row: row["models"]), report.column("mstore ls ms", "ls_ms", ".1f"),
        report.column("noise", "noise", ".0%"), report.column("server CPU ms", "server_cpu_ms", ".1f"),
        report.column("find ms", "find_ms", ".1f"), report.column("ls by find", "ratio", ".2f")], rows)
    targets.show(bench.report, [targets.Target(f"ls of {MODELS} pushed models by find ROOT -maxdepth 2", 5,
                                               rows[0]["ratio"], at_most=True)])
