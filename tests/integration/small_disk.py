"""A file system of a given size in a mount namespace of its own, where nobody else writes. Nothing here knows pytest."""

import subprocess
from pathlib import Path


def can_mount():
    """Whether a mount namespace of our own is to be had."""
    done = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                          check=False)
    return done.returncode == 0


def wrapper(size, place):
    """Words before a command: the program sees an empty disk of `size` bytes at `place`."""
    script = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    return ["unshare", "-rm", "sh", "-c", script, str(place)]


def seen_by(server, path):
    """A path as the daemon in its own mount namespace sees it."""
    return Path(f"/proc/{server.pid}/root{path}")
