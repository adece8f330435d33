"""A disk of one's own whose rate is known: a loop device with a limit for the programs that join it.

Nothing here knows pytest. Needs root, a loop device and a cgroup controller for disks; Unavailable says what is missing.
"""

import contextlib
import os
import subprocess
from pathlib import Path

import harness

V1 = Path("/sys/fs/cgroup/blkio")
V2 = Path("/sys/fs/cgroup")


class Unavailable(Exception):
    """This machine has no such disk to offer."""


class SlowDisk:
    """`place` is where it is mounted; programs that are started behind `prefix` are held to the rates, bytes a second."""

    def __init__(self, place, group):
        self.place = place
        self.prefix = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group / "cgroup.procs")]
        self._group = group
        device = os.stat(place).st_dev
        self._device = f"{os.major(device)}:{os.minor(device)}"

    def limit(self, read=None, write=None):
        """From now on."""
        if V1.is_dir():
            for name, rate in (("read", read), ("write", write)):
                if rate:
                    (self._group / f"blkio.throttle.{name}_bps_device").write_text(f"{self._device} {rate}")
        else:
            limits = [f"{name}={rate}" for name, rate in (("rbps", read), ("wbps", write)) if rate]
            (self._group / "io.max").write_text(f"{self._device} {' '.join(limits)}")


def _group(name):
    if V1.is_dir():
        return V1 / name
    if "io" not in (V2 / "cgroup.controllers").read_text().split():
        raise Unavailable("no cgroup controller for disks")
    (V2 / "cgroup.subtree_control").write_text("+io")
    return V2 / name


@contextlib.contextmanager
def disk(work, megabytes, name="slow"):
    """A fresh file system of that size."""
    if os.geteuid() != 0:
        raise Unavailable("needs root")
    image, place = work / f"{name}.img", work / name
    group = _group(f"mstore-test-{os.getpid()}-{name}")
    with open(image, "wb") as file:
        file.truncate(megabytes * 10**6)
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,nodiscard", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, place], check=False).returncode != 0:
        raise Unavailable("no loop device")
    try:
        group.mkdir()
        yield SlowDisk(place, group)
    finally:
        harness.wait_until(lambda: _is_gone(group), "the programs on the slow disk have ended")
        subprocess.run(["umount", place], check=True)


def _is_gone(group):
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()
