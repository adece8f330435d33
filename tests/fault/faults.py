"""What the fault tests share: versions of a model and the invariants after a fault.

The four invariants, checked after every fault:
    I1  what has a final name, on either side, is byte for byte one complete version
    I2  exit status 0 if and only if both sides are equal; otherwise each failed path is named
    I3  when the client is gone, the daemon is idle as before and answers
    I4  the same command again, undisturbed, ends with equality and leaves nothing behind
Nothing here knows pytest.
"""

import errno
import fcntl
import os
import re
import struct
import subprocess
import time
from pathlib import Path

import harness
import models
from harness import MIB, wait_until

STATUSES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143}
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}")
OWN = (".mstore",)
DATA_LINKS = range(1, 1000)  # of a session through a proxy of its own


def version(folder, number, largest=9 * MIB, mtime=None):
    """One version of a small model: files of two blocks, one block and less, in two folders. `sub/same`
    is equal in all versions, `config.json` comes first, `only-N` is in version N alone."""
    models.rnd(folder / "big.bin", largest + 1000 * number, seed=1000 + number)
    models.rnd(folder / "mid.bin", 2 * MIB + 77, seed=2000 + number)  # of equal size in all versions
    models.rnd(folder / "sub" / "deep" / "small.bin", 5000 - number, seed=3000 + number)
    models.rnd(folder / "sub" / "same", 300_000, seed=4)
    models.rnd(folder / f"only-{number}", 10 + number, seed=5000 + number)
    (folder / "empty").write_bytes(b"")
    (folder / "config.json").write_text('{"version":%d}\n' % number)
    stamp = 1_700_000_000 + 1000 * number if mtime is None else mtime
    for name in models.files(folder).values():
        os.utime(name, (stamp, stamp))
    os.utime(folder / "sub" / "same", (1_600_000_000, 1_600_000_000))
    return folder


def is_copy(source, place):
    """Whether `place` holds exactly the files of `source` (own book-keeping aside)."""
    return Path(place).is_dir() and not models.differences(source, place, skip_b=OWN)


def which(place, versions):
    """The version (its number in the list) that a folder is, None if there is no folder; fails for a mix."""
    if not os.path.lexists(place):
        return None
    for number, source in enumerate(versions):
        if is_copy(source, place):
            return number
    found = [models.differences(source, place, skip_b=OWN)[:4] for source in versions]
    raise AssertionError(f"I1: {place} is none of the complete versions: {found}")


def assert_whole_files(place, versions):
    """I1 for a destination: each file there is that file of one of the versions; None is an empty place."""
    if not os.path.lexists(place):
        return
    for name, full in models.files(place, skip=OWN).items():
        known = [os.path.join(os.fsencode(v), name) for v in versions]
        assert any(os.path.exists(k) and models.same_bytes(k, full) for k in known), \
            f"I1: {full!r} ({os.path.getsize(full)} bytes) is that file of no version"


def assert_truth(result, equal, paths=()):
    """I2: the status is documented, is 0 only with equality, and a failure speaks (and names the paths)."""
    assert result.status in STATUSES, f"I2: undocumented status: {result}"
    if result.status == 0:
        assert equal, f"I2: status 0 although the sides differ: {result}"
        return
    assert result.err.strip(), f"I2: failed without a word: {result}"
    for path in paths:
        assert path in result.err, f"I2: '{path}' is not named: {result}"


def is_unlocked(server, name):
    """Whether no session holds the push lock of a model: what a client that is gone had asked for is done."""
    path = server.root / ".mstore" / "lock" / name
    if not path.exists():
        return True
    with open(path, "r+b") as file:
        found = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
    return struct.unpack("hhqqi", found)[0] == fcntl.F_UNLCK


def temporaries(folder):
    """Names of unfinished files below a folder, the book-keeping aside."""
    found = models.files(folder, skip=OWN) if os.path.isdir(folder) else {}
    return [n for n in found if TEMPORARY.fullmatch(os.path.basename(os.fsdecode(n)))]


def live_models(root):
    """Ids of the folders that are models."""
    return {f"{ns.name}/{m.name}" for ns in Path(root).iterdir() if ns.name != ".mstore" and ns.is_dir()
            for m in ns.iterdir() if m.is_dir()}


def folders_below(root, area):
    """Ids (ns/model) that have a folder in one of the areas of ROOT/.mstore."""
    top = Path(root) / ".mstore" / area
    return {f"{p.parent.name}/{p.name}" for p in top.glob("*/*")} if top.exists() else set()


def settled_trash(server, timeout=10):
    """Waits until the trash is empty."""
    trash = server.root / ".mstore" / "trash"
    wait_until(lambda: not trash.exists() or not any(trash.iterdir()), "the trash is emptied", timeout)


def assert_clean(server):
    """I4: no staging, no trash, no temporary name, one manifest for each live model and none besides."""
    settled_trash(server)
    assert server.staged() == [] and folders_below(server.root, "staging") == set(), server.staged()
    assert temporaries(server.root) == []
    live = live_models(server.root)
    assert folders_below(server.root, "meta") <= live
    for name in live:
        kept = sorted(p.name for p in (server.root / ".mstore" / "meta" / name).glob("*"))
        assert len([k for k in kept if k.endswith(".json")]) == 1 and len(kept) <= 2, f"{name}: {kept}"


def assert_listed(server, client, names=None):
    """`ls` and `info` say what is in the root: complete models, unfinished ones, sizes and files."""
    listed = {m["name"]: m for m in client.json("ls")["models"]}
    live = live_models(server.root)
    unfinished = {n for n in folders_below(server.root, "staging")
                  if (server.root / ".mstore" / "staging" / n / "plan.json").exists()}
    assert set(listed) == live | unfinished, (set(listed), live, unfinished)
    for name, entry in listed.items():
        assert entry["state"] == ("complete" if name in live else "incomplete"), entry
        if name not in live:
            assert 0 <= entry["bytes_present"] <= entry["bytes"]
            continue
        found = models.files(server.root / name)
        sizes = {os.fsdecode(n): os.path.getsize(full) for n, full in found.items()}
        assert (entry["files"], entry["bytes"]) == (len(sizes), sum(sizes.values())), entry
        if names is None or name in names:
            info = client.json("info", name)
            assert {f["path"]: f["bytes"] for f in info["files"]} == sizes


def disk_usage(root):
    """Bytes that a folder takes on its disk, each file once."""
    seen, total = set(), 0
    for place, _, names in os.walk(root):
        for name in names:
            try:
                st = os.lstat(os.path.join(place, name))
            except FileNotFoundError:
                continue
            if (st.st_dev, st.st_ino) not in seen:
                seen.add((st.st_dev, st.st_ino))
                total += st.st_blocks * 512
    return total


def journal_bytes(folder):
    """Size of the journal of a staging folder, 0 if there is none."""
    try:
        return (Path(folder) / "journal").stat().st_size
    except FileNotFoundError:
        return 0


class Pace:
    """Seconds since it was made, for conditions with a lower limit."""

    def __init__(self):
        self.began = time.monotonic()

    @property
    def seconds(self):
        """So far."""
        return time.monotonic() - self.began


def logging(rule, log):
    """The environment of shim_fail with this rule, such that struck() can tell."""
    return {"SHIM_FAIL": rule, "SHIM_LOG": log, "SHIM_LOG_CALLS": rule.split(":")[0]}


def struck(log, rule):
    """Whether the rule CALL:ERROR:… made a call fail, by the log of shim_fail."""
    call, error = rule.split(":")[:2]
    words = [line.split() for line in log.read_text(errors="replace").splitlines()] if log.exists() else []
    return any(w[3:6] == [call, "-1", str(getattr(errno, error))] for w in words)


def shim_library(folder):
    """shim_fail.so, from the build or compiled into `folder` (for programs beside pytest)."""
    built, source = harness.BUILD / "shim_fail.so", Path(__file__).with_name("shim_fail.c")
    if built.is_file() and built.stat().st_mtime >= source.stat().st_mtime:
        return built
    target = Path(folder) / "shim_fail.so"
    if not target.exists():
        subprocess.run(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-o", target, source, "-ldl"], check=True)
    return target
