"""The processor time and memory of a group of processes: all that belong to one side of a transfer.

Where cgroups (version 2, also beside version 1) can be made, a group is a cgroup: its cpu.stat is exact and holds
what children have used that are gone. Elsewhere the process tree is read from /proc, in ticks. Peak memory is the
largest sum of the high-water marks (VmHWM) of the processes that a group has at a time; pages that they share are
counted in each. The marks are read every 50 ms, so a program that ends within that time shows none.
"""

import contextlib
import os
import re
import threading
import time
from pathlib import Path

import processes

TICKS = os.sysconf("SC_CLK_TCK")
INTERVAL_S = 0.05


def _cgroup_top():
    """Where cgroups of version 2 are mounted, or None."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(where, os.W_OK):
            return Path(where)
    return None


class Cgroup:
    """A group that is a cgroup."""

    method = "cgroup"

    def __init__(self, top, name):
        self.path = top / f"mstore-bench-{os.getpid()}-{name}"
        self.path.mkdir()

    def join(self):
        """Called in the child, before exec."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def started(self, pid):
        """Called in the bench: a program of the group has been started."""

    def ended(self, pid, cpu_seconds):
        """Called in the bench: a program of the group has been waited for."""

    def cpu_seconds(self):
        """Used so far, also by those that have ended."""
        return int(re.search(r"usage_usec (\d+)", (self.path / "cpu.stat").read_text())[1]) / 1e6

    def pids(self):
        """Who is in it now."""
        return [int(word) for word in (self.path / "cgroup.procs").read_text().split()]

    def close(self):
        """Ends who is still in it and removes it."""
        for _ in range(200):
            processes.kill_all(self.pids())
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.01)


class Tree:
    """A group that is the trees below the programs started in it."""

    method = "proc"

    def __init__(self):
        self.roots = set()
        self.gone_seconds = 0.0

    def join(self):
        """Nothing to do in the child."""

    def started(self, pid):
        """Remembers the root of a tree."""
        self.roots.add(pid)

    def ended(self, pid, cpu_seconds):
        """Keeps what an ended tree has used."""
        self.roots.discard(pid)
        self.gone_seconds += cpu_seconds

    def cpu_seconds(self):
        """Ticks of the living and of the children they have waited for, and what ended trees have used."""
        living = (_stat(pid) for pid in self.pids())
        return self.gone_seconds + sum(sum(map(int, fields[11:15])) for fields in living if fields) / TICKS

    def pids(self):
        """The roots and all below them."""
        parents = {pid: int(fields[1]) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                   if (fields := _stat(pid))}
        found = {pid for pid in self.roots if pid in parents}
        while True:
            more = {pid for pid, parent in parents.items() if parent in found} - found
            if not more:
                return sorted(found)
            found |= more

    def close(self):
        """Nothing to remove; programs are ended where they were started."""


def _stat(pid):
    """The fields of /proc/PID/stat from the state on, or None."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def make_group(name):
    """A group of the best kind that this machine allows."""
    top = _cgroup_top()
    if top is not None:
        with contextlib.suppress(OSError):
            return Cgroup(top, name)
    return Tree()


def _high_water(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


class PeakWatch(threading.Thread):
    """Reads the high-water marks of groups while something runs: `with PeakWatch(client=[g], server=[h]) as peaks`."""

    def __init__(self, **sides):
        super().__init__(daemon=True)
        self.sides = sides
        self.peaks = {side: 0 for side in sides}
        self.over = threading.Event()
        for group in (group for groups in sides.values() for group in groups):
            for pid in group.pids():
                with contextlib.suppress(OSError):
                    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the mark starts again

    def run(self):
        """Until the end, one reading each interval."""
        while not self.over.wait(INTERVAL_S):
            self._read()

    def _read(self):
        for side, groups in self.sides.items():
            marks = sum(_high_water(pid) for group in groups for pid in group.pids())
            self.peaks[side] = max(self.peaks[side], marks)

    def peak(self, side):
        """Bytes, or None when nothing was seen."""
        return self.peaks[side] or None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self._read()
