"""get while its calls fail, the 1st, 2nd, 3rd … time: the copy that is there stays whole, a path is printed for a whole
copy only, and the same command goes on (docs/local-tier.md)."""

import shutil
import socket
import subprocess

import pytest

import faults
import models
from harness import MIB, push
from test_cache import Tier

#        call         errors of which one is taken in turn
CALLS = {"renameat": ["EIO", "ENOSPC", "EROFS"], "linkat": ["EIO", "EMLINK", "ENOSPC"],
         "pwrite": ["ENOSPC", "EIO", "EDQUOT"]}
SLOW_CALLS = {"write": ["ENOSPC", "EIO"], "mkdirat": ["ENOSPC", "EACCES"], "fsync": ["EIO"], "fdatasync": ["EIO"],
              "syncfs": ["EIO"], "futimens": ["EPERM"], "utimensat": ["EPERM"], "symlinkat": ["EPERM", "EIO"],
              "unlinkat": ["EIO", "EACCES"], "fallocate": ["ENOSPC"], "fstatvfs": ["EIO"], "fcntl_lock": ["ENOLCK"],
              "openat": ["EIO", "EMFILE"], "openat2": ["EIO", "EMFILE"]}
MOST = 400


@pytest.fixture
def nobody():
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield "%s:%d" % taken.getsockname()


class Place:
    """A cache with the former version of the model, pinned; the server has the next one."""

    def __init__(self, client, work, shim, nobody):
        self.client, self.work, self.shim, self.nobody = client, work, shim, nobody
        self.versions = [faults.version(work / f"v{n}", n, largest=900_000) for n in range(2)]
        push(client, self.versions[0])
        before = Tier(client, work, "before")
        before.get("ns/m")
        before.local("cache", "pin", "ns/m")
        push(client, self.versions[1])

    def check(self, tier, result):
        """Behind the fault; the former version may have been replaced, but what counts is whole."""
        path = result.out.rstrip("\n")
        faults.assert_truth(result, path and faults.is_copy(self.versions[1], path))
        assert result.status in (0, 1, 7, 8), result
        assert result.status == 0 or path == "", "a path of a copy that is not whole"
        there = tier.run("get", "ns/m", address=self.nobody)
        assert there.status == 0, there
        assert faults.which(there.out.rstrip("\n"), self.versions) == 1 or result.status != 0, there

    def trial(self, rule):
        """One get with this rule, then one without; whether the rule struck."""
        tier, log = Tier(self.client, self.work), self.work / "log"
        subprocess.run(["cp", "-a", self.work / "before", tier.path], check=True)
        result = tier.run("get", "ns/m", "--retries", "0", preload=self.shim, shim=faults.logging(rule, log))
        struck = faults.struck(log, rule)
        self.check(tier, result)
        assert faults.is_copy(self.versions[1], tier.get("ns/m")), "the same command did not go on"
        assert tier.names() == {"ns/m"} and tier.ls()["ns/m"]["pinned"]
        assert sorted(p.name for p in (tier.path / "state").iterdir()) == ["ns--m.json"]
        assert not any((tier.path / "trash").iterdir())
        shutil.rmtree(tier.path)
        log.unlink(missing_ok=True)
        return struck


@pytest.mark.parametrize("call, errors", list(CALLS.items()) +
                         [pytest.param(*c, marks=pytest.mark.slow) for c in SLOW_CALLS.items()])
def test_every_call_fails(server, client, shims, work, nobody, call, errors):
    place = Place(client, work, shims["shim_fail"], nobody)
    for number in range(1, MOST):
        rule = f"{call}:{errors[number % len(errors)]}:{number}:{work}/cache"
        try:
            if not place.trial(rule):
                assert number > 1, "none is made"
                return
        except AssertionError as e:
            raise AssertionError(f"with {rule}: {e}") from None
    raise AssertionError(f"the {MOST}th {call} still struck")


def test_without_links_all_of_it_moves(server, client, shims, work, nobody):
    """A link spares what has not changed; it is no condition."""
    place = Place(client, work, shims["shim_fail"], nobody)
    size = sum(f.stat().st_size for f in place.versions[1].rglob("*") if f.is_file())
    tier = Tier(client, work, "before")
    data = tier.data("ns/m", preload=shims["shim_fail"], shim={"SHIM_FAIL": f"linkat:EMLINK:1+:{work}/before"})
    assert data["bytes_received"] == size
    models.assert_same(place.versions[1], data["path"])


def test_a_full_disk(server, client, shims, work, nobody):
    place = Place(client, work, shims["shim_fail"], nobody)
    tier = Tier(client, work, "before")
    shim = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": f"pwrite:ENOSPC:1+:{work}/before"}}
    result = tier.fails(8, "--json", "get", "ns/m", "--retries", "0", **shim)
    assert "no space left" in result.err and result.out.count("\n") == 1, result  # the JSON alone
    place.check(tier, tier.run("get", "ns/m", "--retries", "0", **shim))
    models.assert_same(place.versions[1], tier.get("ns/m"))


def test_a_failing_disk_keeps_what_came(server, client, shims, make_proxy, make_client, work):
    """Only what stands in the way of a version is thrown away: bytes that cannot be moved to their place stay."""
    models.rnd(work / "m" / "w.bin", 20 * MIB, seed=1)
    push(client, work / "m")
    for most in (21 * MIB, MIB):  # the second one fails before anything is sent
        proxy = make_proxy(server.address)
        tier = Tier(make_client(proxy.address), work)
        result = tier.fails(7, "get", "ns/m", preload=shims["shim_fail"], shim={"SHIM_FAIL": "renameat:EIO:1+:/1/w.bin"})
        assert "cannot move" in result.err and proxy.bytes("s2c") < most
    data = tier.data("ns/m")
    assert data["bytes_received"] == 0
    models.assert_same(work / "m", data["path"])
