"""Each system call of the store and of the streams is made to fail, the 1st, 2nd, 3rd … time, until a transfer passes
without it having struck; on both sides, in both directions. After each the invariants hold (kinds B and G, I1 to I4).

The tables say which calls, with which errors, and which side makes them. The fast subset takes a seeded sample of the
numbers; the slow one takes them all."""

import random

import pytest

import faults
import models
from harness import Client, Server

#       call               errors of which one is taken in turn
DISK = {
    "pwrite":          ["ENOSPC", "EIO", "EDQUOT", "EROFS"],
    "write":           ["ENOSPC", "EIO"],
    "fsync":           ["EIO", "ENOSPC"],
    "fdatasync":       ["EIO", "EDQUOT"],
    "syncfs":          ["EIO", "ENOSPC"],
    "sync_file_range": ["EIO", "ENOSPC"],
    "close":           ["EIO", "EDQUOT"],
    "rename":          ["EIO", "ENOSPC", "EROFS"],
    "renameat":        ["EIO", "ENOSPC", "EROFS"],
    "renameat2":       ["EIO", "ENOSPC", "EROFS"],
    "fallocate":       ["ENOSPC", "EIO", "EDQUOT"],
    "mkdirat":         ["ENOSPC", "EACCES", "EROFS"],
    "linkat":          ["EIO", "EMLINK", "ENOSPC"],
    "unlinkat":        ["EIO", "EACCES"],
    "fstatvfs":        ["EIO", "ENOSYS"],
    "ftruncate":       ["EIO", "ENOSPC"],
    "futimens":        ["EPERM", "EIO"],
    "openat":          ["EIO", "EACCES", "EMFILE", "ESTALE"],
    "openat2":         ["EIO", "EACCES", "EMFILE", "ESTALE"],
}
WIRE = {
    "sendfile":        ["EIO", "ECONNRESET", "EPIPE"],
    "send":            ["ECONNRESET", "EPIPE", "ENOBUFS"],
    "recv":            ["ECONNRESET", "ETIMEDOUT"],
    "setsockopt":      ["ENOBUFS", "EINVAL"],
    "accept4":         ["EMFILE", "ECONNABORTED", "ENOBUFS"],
    "socket":          ["EMFILE", "ENOBUFS"],
    "connect":         ["ECONNREFUSED", "ETIMEDOUT", "ECONNRESET"],
}
# Paths that count: what a daemon or client opens of its own (logs, libraries, /proc) does not.
PLACES = {"push": {"server": "/root/", "client": "/v1"}, "pull": {"server": "/root/", "client": "/dst"}}
MOST = 400  # the 400th call of a kind must be far beyond a transfer this small


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """The stored version and the one that is pushed over it: 24 bytes to two blocks, eight files."""
    top = tmp_path_factory.mktemp("versions")
    return [faults.version(top / f"v{n}", n, largest=8_400_000) for n in range(2)]


class Trial:
    """One transfer with one rule: its own root, its own daemon."""

    def __init__(self, work, shim, versions, command, side):
        self.work, self.shim, self.versions, self.command, self.side = work, shim, versions, command, side
        self.old, self.new = versions
        self.dst = work / "dst"
        self.server = Server(work)
        self.client = None

    def set_up(self, rule, tally):
        """The old version is on the receiving side; the side with the rule is started last."""
        self.server.start(check_idle=False)
        self.client = Client(self.work, self.server.address)
        self.client.ok("push", self.old if self.command == "push" else self.new, "ns/m")
        if self.command == "pull":
            models.subprocess.run(["cp", "-a", self.old, self.dst], check=True)
        shim = faults.logging(rule, tally)
        if self.side == "client":
            return {"preload": self.shim, "shim": shim}
        self.server.stop()
        self.server.wrap.update(preload=self.shim, shim=shim)
        try:
            self.server.start(check_idle=False)
        except AssertionError:
            self.server.kill()  # it did not come up: it has to have said why
            assert "mstored" in self.server.log(), "ended without a word"
        return {}

    @property
    def args(self):
        """The command."""
        words = ["push", self.new, "ns/m"] if self.command == "push" else ["pull", "ns/m", self.dst]
        return words + ["-n", "2", "--retries", "2", "--timeout", "5"]

    def run(self, rule):
        """Returns the result and whether the rule struck."""
        log = self.work / "calls.log"
        how = self.set_up(rule, log)
        result = self.client.run(*self.args, timeout=90, **how)
        struck = faults.struck(log, rule)
        self.check(result, rule)
        return result, struck

    def check(self, result, rule):
        """I1 and I2 behind the fault, I3, then I4 with a daemon and a client that are well."""
        server = self.server
        stored = faults.which(server.model("ns/m"), self.versions)
        assert stored is not None, "I1: no version is stored"
        if self.command == "pull":
            assert stored == 1
            faults.assert_whole_files(self.dst, self.versions)
            there = models.files(self.dst, skip=faults.OWN)
            equal = all(n in there and models.same_bytes(full, there[n]) for n, full in models.files(self.new).items())
        else:
            equal = stored == 1
        faults.assert_truth(result, equal)
        assert result.status not in (2, 3, 5, 9, 130, 143), result
        if server.is_running:
            answers = [self.client.run("ls").status for _ in range(2)]  # the first may meet the fault itself
            assert 0 in answers, "I3: it does not answer"
            server.wrap.update(preload=None, shim=None)
            server.stop()
        server.wrap.update(preload=None, shim=None)
        server.start()
        self.client.ok(*self.args, timeout=90)
        if self.command == "push":
            models.assert_same(self.new, server.model("ns/m"))
        else:
            left = models.differences(self.new, self.dst, skip_b=faults.OWN)
            assert all("only in" in d and "only-0" in d for d in left), left
            assert not (self.dst / ".mstore").exists() and faults.temporaries(self.dst) == []
        faults.assert_clean(server)
        faults.assert_listed(server, self.client)
        server.assert_idle()
        server.stop()

    def end(self):
        """In any case."""
        if self.client:
            self.client.end()
        self.server.kill()


def trial(work, shims, versions, command, side, call, error, number):
    """One trial in a folder of its own."""
    place = work / f"{call}-{number}"
    place.mkdir()
    where = PLACES[command][side] if call in DISK else ""
    rule = f"{call}:{error}:{number}" + (f":{where}" if where else "")
    this = Trial(place, shims["shim_fail"], versions, command, side)
    try:
        result, struck = this.run(rule)
    except AssertionError as e:
        raise AssertionError(f"{command}, {side} with {rule}: {e}") from None
    finally:
        this.end()
        models.subprocess.run(["rm", "-rf", place], check=False)
    return result, struck


def cases(table):
    """(command, side, call) for all that a side may do."""
    return [(command, side, call) for command in ("push", "pull") for side in ("server", "client") for call in table
            if not (call == "accept4" and side == "client") and not (call == "connect" and side == "server")
            and not (call in DISK and (command, side) in (("push", "client"), ("pull", "server"))
                     and not call.startswith("openat"))]


FAST = [c for c in cases(DISK) + cases(WIRE)]


@pytest.mark.parametrize("command, side", [("push", "server"), ("push", "client"), ("pull", "server"), ("pull", "client")])
def test_b39_sampled_calls_fail(work, shims, versions, command, side):
    """A seeded sample: each call once, its first or one of the next few."""
    choose, problems, struck = random.Random(f"{command} {side} 39"), [], 0
    for _, _, call in [c for c in FAST if c[:2] == (command, side)]:
        error, number = choose.choice({**DISK, **WIRE}[call]), choose.choice((1, 1, 2, 3, 5, 8))
        try:
            struck += trial(work, shims, versions, command, side, call, error, number)[1]
        except AssertionError as e:  # the others are worth a try
            problems.append(str(e)[:1500])
    assert not problems, "\n\n".join(problems)
    assert struck >= 4, "hardly any of these calls is made"


@pytest.mark.slow
@pytest.mark.parametrize("command, side, call", cases(DISK) + cases(WIRE))
def test_b39_every_call_fails(work, shims, versions, command, side, call):
    """The 1st, 2nd, 3rd … until a transfer passes in which none was left to fail."""
    errors = {**DISK, **WIRE}[call]
    for number in range(1, MOST):
        _, struck = trial(work, shims, versions, command, side, call, errors[number % len(errors)], number)
        if not struck:
            return
        if number > 40 and call in ("recv", "send", "close", "openat", "openat2", "write"):
            return  # from here on they repeat themselves
    raise AssertionError(f"the {MOST}th {call} still struck")


# The path is named, on the client of a push too: each call that concerns one file, on that file.

NAMED = [("pwrite", "ENOSPC"), ("pwrite", "EIO"), ("fdatasync", "EIO"), ("renameat2", "EIO"), ("ftruncate", "EIO"),
         ("fallocate", "EIO")]


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("call, error", NAMED, ids=lambda v: v)
def test_b39_failing_path_is_named(make_server, make_client, shims, src, dst, command, call, error):
    """From the first on, on one file of two."""
    models.rnd(src / "good.bin", 9_000_000, seed=1)
    models.rnd(src / "sub" / "bad.bin", 9_000_000, seed=2)
    shim = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": f"{call}:{error}:1+:bad.bin"}}
    server = make_server(check_idle=False, **(shim if command == "push" else {}))
    client = make_client(server.address)
    if command == "push":
        result = client.run("--json", "push", src, "ns/m", "--retries", "0")
    else:
        client.ok("push", src, "ns/m")
        result = client.run("--json", "pull", "ns/m", dst, "--retries", "0", **shim)
    assert result.status == (8 if error == "ENOSPC" else 7), result
    assert "sub/bad.bin" in result.err, result
    word = {"EIO": "nput/output", "ENOSPC": "pace"}[error]
    assert word in result.err, result
    place = server.model("ns/m") if command == "push" else dst
    assert not (place / "sub" / "bad.bin").exists()
