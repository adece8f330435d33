"""In which order things reach the disk, and when success is said (B43, B44): from a trace of the calls."""

import re

import pytest

import faults
import models
from harness import MIB

CALLS = ("pwrite,pwritev,write,writev,fdatasync,fsync,syncfs,renameat,renameat2,rename,mkdirat,mkdir,linkat,send,sendmsg,"
         "futimens,ftruncate")
FLUSHES = ("fdatasync", "fsync", "syncfs")


class Event:
    """One line of the trace."""

    def __init__(self, line):
        begin, end, tid, self.call, result, errno, rest = re.match(
            r"(\d+) (\d+) (\d+) (\S+) (-?\d+) (\d+) ?(.*)", line).groups()
        self.begin, self.end = int(begin), int(end)
        self.ok = not result.startswith("-")
        self.match = rest.startswith("match")
        self.subject = rest.removeprefix("match").strip().removesuffix(" (deleted)")

    def __repr__(self):
        return f"{self.begin}-{self.end} {self.call} {self.subject}{' MATCH' if self.match else ''}"


def trace(path):
    """The calls that succeeded, in the order in which they began."""
    events = [Event(line) for line in path.read_text(errors="replace").splitlines()]
    return sorted((e for e in events if e.ok), key=lambda e: e.begin)


def before(a, b):
    """Whether a had returned when b was called."""
    return a.end < b.begin


def assert_between(events, first, last, wanted, what):
    """There is a flush that began after `first` returned and returned before `last` was called."""
    for flush in events:
        if flush.call in FLUSHES and before(first, flush) and before(flush, last) and wanted(flush):
            return
    raise AssertionError(f"{what}: nothing between {first} and {last}")


def covers(place):
    """A flush that covers a file or a folder: of itself, or of its whole file system."""
    return lambda flush: flush.call == "syncfs" or flush.subject == str(place)


@pytest.fixture
def traced(shims, work):
    """Wrapping for a program under a trace, and the file."""
    log = work / "trace"
    return {"preload": shims["shim_fail"],
            "shim": {"SHIM_LOG": log, "SHIM_LOG_CALLS": CALLS, "SHIM_LOG_MATCH": '"published"'}}, log


@pytest.mark.parametrize("io", ["buffered", "direct", "auto"])
@pytest.mark.parametrize("again", [False, True], ids=["first", "republish"])
def test_b43_b44_push(make_server, make_client, traced, work, again, io):
    """Data, manifest, folder, exchange, folders above, and only then the reply."""
    how, log = traced
    server = make_server(options=["--io", io], check_idle=False, **how)
    client = make_client(server.address)
    src = faults.version(work / "v0", 0)
    if again:
        client.ok("push", faults.version(work / "v1", 1), "ns/m")
        log.write_bytes(b"")
    client.ok("push", src, "ns/m", "-n", "2")
    events = trace(log)
    live = server.root / "ns" / "m"
    publish = [e for e in events if e.call in ("renameat2", "renameat") and e.subject == str(live)][-1]
    reply = [e for e in events if e.match and e.call in ("write", "writev", "send", "sendmsg") and "socket" in e.subject]
    assert len(reply) == 1, reply
    tree = server.root / ".mstore" / "staging" / "ns" / "m" / "tree"
    shown = [e for e in events if e.call.startswith("renameat") and e.subject.startswith(f"{tree}/")]
    assert len(shown) >= 5
    for rename in shown:  # a file's data and its name in the tree, before the exchange
        temporary = f"{rename.subject.rpartition('/')[0]}/.{rename.subject.rpartition('/')[2]}."
        writes = [e for e in events if e.call in ("pwrite", "pwritev", "write") and e.subject.startswith(temporary)]
        last = max(writes, key=lambda e: e.end) if writes else rename
        assert before(last, rename) or last is rename
        assert_between(events, last, publish,
                       lambda f, t=temporary: f.call == "syncfs" or f.subject.startswith(t), f"data of {rename.subject}")
        assert_between(events, rename, publish,
                       covers(rename.subject.rpartition("/")[0]), f"the folder of {rename.subject}")
    meta = server.root / ".mstore" / "meta" / "ns" / "m"
    for rename in [e for e in events if e.call == "renameat" and e.subject.startswith(f"{meta}/")]:
        assert before(rename, publish)
        assert_between(events, rename, publish, covers(meta), "the manifest's folder")
    for folder in (server.root / "ns",) if again else (server.root / "ns", server.root):
        assert_between(events, publish, reply[0], covers(folder), f"{folder} after the exchange")


@pytest.mark.parametrize("over", [False, True], ids=["new folder", "over another version"])
@pytest.mark.parametrize("io", ["buffered", "auto"])
def test_b43_b44_pull(make_server, make_client, traced, work, dst, over, io):
    """Data, final names, folders, and only then `done` to the server, whose answer the client awaits before it says
    success."""
    how, log = traced
    server = make_server()
    client = make_client(server.address)
    src = faults.version(work / "v0", 0)
    if over:
        client.ok("push", faults.version(work / "v1", 1), "ns/m")
        client.ok("pull", "ns/m", dst)
    client.ok("push", src, "ns/m")
    how["shim"]["SHIM_LOG_MATCH"] = '"done"'
    client.ok("--json", "pull", "ns/m", dst, "-n", "2", "--io", io, **how)
    events = trace(log)
    success = [e for e in events if e.match]
    assert len(success) == 1 and "socket" in success[0].subject, success
    wanted = {str(dst / name) for name in map(bytes.decode, models.files(src))} - ({str(dst / "sub/same")} if over else set())
    shown = [e for e in events if e.call.startswith("rename") and e.subject in wanted]
    assert {e.subject for e in shown} >= wanted - {str(dst / "empty")}
    first = min(shown, key=lambda e: e.begin)
    for write in [e for e in events if e.call in ("pwrite", "pwritev") and f"{dst}/.mstore/" in e.subject
                  and "/tree/" in e.subject]:
        assert before(write, first)
        assert_between(events, write, first, lambda f, w=write: f.call == "syncfs" or f.subject == w.subject,
                       "data before any final name")
    last = max(shown, key=lambda e: e.end)
    for folder in {e.subject.rpartition("/")[0] for e in shown}:
        assert_between(events, last if folder == str(dst) else
                       max((e for e in shown if e.subject.startswith(folder)), key=lambda e: e.end),
                       success[0], covers(folder), f"{folder} after the last name in it")


def test_b43_journal_is_behind_the_data(make_server, make_client, make_proxy, traced, src):
    """What the journal says is there was flushed before it was written down."""
    import cproxy
    how, log = traced
    server = make_server(check_idle=False, **how)
    models.rnd(src / "w.bin", 40 * MIB, seed=1)
    make_client(make_proxy(server.address, cproxy.rate(16e6)).address).ok("push", src, "ns/m", "-n", "1")
    events = trace(log)
    records = [e for e in events if e.call in ("write", "pwrite") and e.subject.endswith("/journal")]
    assert records, "a push of more than a second records something"
    for record in records:
        data = [e for e in events if e.call == "pwrite" and "/.w.bin." in e.subject and before(e, record)]
        flushes = [e for e in events if e.call in FLUSHES and before(e, record)
                   and (e.call == "syncfs" or "/.w.bin." in e.subject)]
        assert data and flushes, record
    # The record itself is flushed, too.
    assert_between(events, records[0], events[-1], lambda f: f.subject.endswith("/journal"), "the journal")
