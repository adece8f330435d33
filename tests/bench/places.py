"""Where the bytes lie: a memory file system, or the disk of the bench's folder.

A place has two folders: `root` belongs to the server (it is mstored's root, and the other servers serve the
same files), `home` to the client.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import processes


class Place:
    """One of them: `with make(...) as place`."""

    def __init__(self, name, top):
        self.name, self.top = name, top
        self.root, self.home = top / "server", top / "client"

    @property
    def is_disk(self):
        """Whether what is written has to reach a disk."""
        return self.name == "disk"

    def model(self, name):
        """The server's folder of a model of the bench's."""
        return self.root / "bench" / name

    def __enter__(self):
        self._mount()
        for folder in (self.root / "bench", self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return self

    def __exit__(self, *_):
        self._unmount()

    def _mount(self):
        self.top.mkdir(parents=True, exist_ok=True)

    def _unmount(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def sync_words(self):
        """The command that makes durable what has been written here."""
        return ["sync", "-f", str(self.top)]

    def settle(self):
        """Nothing of an earlier run is still to be written."""
        if self.is_disk:
            subprocess.run(self.sync_words(), check=True)


class Memory(Place):
    """A tmpfs of its own, as root."""

    def _mount(self):
        super()._mount()
        detach(self.top)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=90%,mode=755,nr_inodes=0", "mstore-bench",
                               str(self.top)], check=False, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise processes.Failed(f"no tmpfs: {done.stderr.decode().strip()}")

    def _unmount(self):
        detach(self.top)
        super()._unmount()


def detach(path):
    """Unmounts what an earlier run left there."""
    while os.path.ismount(path):
        subprocess.run(["umount", "-l", str(path)], check=True)


def make(name, folder):
    """The place of that name; memory without root's rights is a folder in /dev/shm."""
    if name == "disk":
        return Place("disk", folder / "disk")
    if os.geteuid() == 0:
        return Memory("memory", folder / "memory")
    return Place("memory", Path(tempfile.mkdtemp(prefix="mstore-bench-", dir="/dev/shm")))
