"""One run of the tool: its folder (one bench at a time), what it has set up, and that all of it goes away again."""

import contextlib
import fcntl
import shutil
import signal
import time

import machine
import nets
import places
import processes
import report
from peers.mstore import Mstored
from servers import Servers

QUICK_S = 540  # of the ten minutes that --quick may take


class Bench:
    """`with Bench(options, scenario) as run`: places, networks and servers that are opened end with it."""

    def __init__(self, options, scenario, began):
        self.options, self.scenario = options, scenario
        self.folder = options.folder.resolve()
        self.contents = self.folder / "content"
        self.scratch = self.folder / "run"
        self.stack = contextlib.ExitStack()
        self.report = None
        self.began = began  # on time.monotonic(); building and installing count
        self.longest_s = 0.0

    @property
    def is_late(self):
        """Whether --quick should begin nothing new: one more table as long as the longest would be too much."""
        return self.options.quick and time.monotonic() - self.began + self.longest_s > QUICK_S

    @contextlib.contextmanager
    def one_table(self):
        """Notes how long the block took."""
        began = time.monotonic()
        yield
        self.longest_s = max(self.longest_s, time.monotonic() - began)

    @property
    def slow_s(self):
        """A peer that takes longer for one run is timed in the first round only."""
        return 5 if self.options.quick else 60

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, _interrupt)
            self.contents.mkdir(parents=True, exist_ok=True)
            self._lock(stack)
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.scratch.mkdir()
            stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
            Mstored.programs_folder = self.options.build.resolve()
            self.report = stack.enter_context(report.Report(self._out(), self.scenario))
            self.report.machine(machine.facts())
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending is not interrupted
        try:
            self.stack.close()
        finally:
            signal.signal(signal.SIGINT, before)

    def _lock(self, stack):
        lock = stack.enter_context(open(self.folder / "lock", "w", encoding="ascii"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise processes.Failed(f"another bench runs in '{self.folder}'") from None

    def _out(self):
        if self.options.out and self.options.scenario != "all":
            return self.options.out
        stem = machine.facts()["date"].partition("+")[0].replace(":", "")
        if self.options.out:
            return self.options.out.with_name(f"{self.options.out.stem}-{self.scenario}{self.options.out.suffix}")
        return self.folder / "results" / f"{stem}-{self.scenario}.jsonl"

    @contextlib.contextmanager
    def setting(self, net_name, place_name):
        """A network, a place and the servers there (started when asked for), for as long as the block lasts."""
        with contextlib.ExitStack() as stack:
            net = stack.enter_context(nets.make(net_name, self.folder))
            place = stack.enter_context(places.make(place_name, self.folder))
            folder = self.scratch / f"{net_name}-{place_name}"
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir()
            yield stack.enter_context(Servers(folder, place, net))


def _interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)
