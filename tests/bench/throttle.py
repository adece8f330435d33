"""A slower disk: a limit on how many bytes a second a group of processes reads from one device.

Version 1 of cgroups calls it blkio, version 2 io.max. Where neither can be had, make() says why.
"""

import contextlib
import os
from pathlib import Path

import processes

BLKIO = Path("/sys/fs/cgroup/blkio")
UNIFIED = Path("/sys/fs/cgroup")


class Throttle:
    """A cgroup with the limit: `with make(path, rate) as throttle`, then add() processes."""

    def __init__(self, folder, setting, text):
        self.folder = folder
        folder.mkdir()
        try:
            (folder / setting).write_text(text, encoding="ascii")
        except OSError as why:
            folder.rmdir()
            raise processes.Failed(f"the disk cannot be throttled: {why}") from None

    @property
    def members(self):
        """The file that a process number is written to."""
        return self.folder / "cgroup.procs"

    def add(self, pid):
        """Throttles a process from now on."""
        self.members.write_text(str(pid), encoding="ascii")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):  # busy only when a process is being ended
            processes.wait_until(self._is_removed, "the throttled processes are gone")

    def _is_removed(self):
        with contextlib.suppress(OSError):
            self.folder.rmdir()
            return True
        return False


def device_of(path):
    """The whole disk that a path is on, as MAJOR:MINOR."""
    number = os.stat(path).st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not entry.exists():
        raise processes.Failed(f"'{path}' is not directly on a block device, so it cannot be throttled")
    disk = entry.resolve()
    disk = disk.parent if (disk / "partition").exists() else disk
    return (disk / "dev").read_text().strip()


def make(path, rate):
    """A limit for reads from the disk of a path."""
    device, name = device_of(path), f"mstore-bench-{os.getpid()}-throttle"
    if (BLKIO / "blkio.throttle.read_bps_device").exists() or BLKIO.is_dir():
        return Throttle(BLKIO / name, "blkio.throttle.read_bps_device", f"{device} {rate}")
    controllers = UNIFIED / "cgroup.controllers"
    if controllers.exists() and "io" in controllers.read_text().split():
        (UNIFIED / "cgroup.subtree_control").write_text("+io", encoding="ascii")
        return Throttle(UNIFIED / name, "io.max", f"{device} rbps={rate}")
    raise processes.Failed("this machine has no cgroup controller for disks (blkio or io): nothing was throttled")
