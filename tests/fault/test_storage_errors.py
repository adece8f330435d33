"""Errors of the disk are neither swallowed nor fatal to the daemon (kind G)."""

import os

import pytest

import cproxy
import faults
import models
import small_disk
from harness import MIB, pull, push, wait_until


# B39: an error that shows up late. The kernel reports a failed writeback once for each open file, to whoever
# asks first: who asks has to act on it.

@pytest.mark.parametrize("call, options", [("fdatasync", []), ("sync_file_range", ["--io", "buffered"])])
@pytest.mark.parametrize("side", ["push", "pull"])
def test_b39_writeback_error_seen_once(make_server, make_client, make_proxy, shims, src, dst, side, call, options):
    """The first flush of the data fails while the transfer runs; a later one would say that all is well."""
    shim = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": f"{call}:EIO:1:/tree/"}}
    server = make_server(options=options, **(shim if side == "push" else {}))
    size = 100 * MIB if call == "sync_file_range" else 24 * MIB
    models.rnd(src / "w.bin", size, seed=1)
    proxy = make_proxy(server.address, *([cproxy.rate(14e6)] if call == "fdatasync" else []))
    client, direct = make_client(proxy.address), make_client(server.address)
    if side == "push":
        result = client.run("--json", "push", src, "ns/m", "-n", "1")
        place = server.model("ns/m")
    else:
        push(direct, src)
        result = client.run("--json", "pull", "ns/m", dst, "-n", "1", *options, **shim)
        place = dst / "w.bin"
    assert result.status not in (0, 130, 143), result
    assert "w.bin" in result.err and "nput/output" in result.err, result
    assert not place.exists()
    push(direct, src)
    pull(direct, dst)
    models.assert_same(src, dst)
    server.assert_no_leftovers()


# Errors of each kind, by their own words and statuses, on both sides.

WORDS = {"ENOSPC": (8, "pace"), "EDQUOT": (8, "uota"), "EFBIG": (8, "arge"), "EIO": (7, "nput/output"),
         "EROFS": (7, "ead-only")}
SLOW_ERRORS = [pytest.param(e, marks=pytest.mark.slow) if e in ("EFBIG", "EROFS") else e for e in WORDS]


@pytest.fixture
def failing(make_server, make_client, shims, src, dst):
    """failing(side, rule, *options): a push or pull whose receiver has this rule, and afterwards the same command
    without it against the same daemon (push: a rule that struck once)."""

    def run(side, rule, *options):
        shim = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": rule}}
        server = make_server(**(shim if side == "push" else {}), check_idle=False)
        client = make_client(server.address)
        if side == "push":
            result = client.run("--json", "push", src, "ns/m", "--retries", "0", *options)
        else:
            push(client, src)
            result = client.run("--json", "pull", "ns/m", dst, "--retries", "0", *options, **shim)
        place = server.model("ns/m") if side == "push" else dst
        if result.status:
            assert not place.exists() or models.files(place, skip=faults.OWN) == {} or "renameat" in rule, "I1"
        return server, client, result
    return run


def goes_on(server, client, src, dst, restart=False):
    """The daemon serves on, and the same commands succeed (after a restart if its disk would fail for ever)."""
    if restart:
        server.stop()
        server.wrap.update(preload=None, shim=None)
        server.start(check_idle=False)
    push(client, src)
    pull(client, dst)
    models.assert_same(src, server.model("ns/m"))
    models.assert_same(src, dst)
    assert faults.temporaries(dst) == [] and not (dst / ".mstore").exists()
    faults.assert_clean(server)


@pytest.mark.parametrize("side", ["push", "pull"])
@pytest.mark.parametrize("error", SLOW_ERRORS)
@pytest.mark.parametrize("call", ["close", "pwrite"])
def test_b39_errors_of_one_file(failing, src, dst, side, call, error):
    """Of two files one fails, from its second write on or only when it is closed."""
    models.rnd(src / "bad.bin", 3 * MIB, seed=1)
    models.rnd(src / "good.bin", 3 * MIB, seed=2)
    server, client, result = failing(side, f"{call}:{error}:{'1' if call == 'close' else '2+'}:bad.bin.")
    status, word = WORDS[error]
    assert result.status == status, result
    assert "bad.bin" in result.err and word in result.err, result
    assert result.data["ok"] is False and result.data["durable"] is False
    goes_on(server, client, src, dst, restart=call == "pwrite")


@pytest.mark.parametrize("side", ["push", "pull"])
@pytest.mark.parametrize("call", ["syncfs", "fsync", "fdatasync"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC", pytest.param("EDQUOT", marks=pytest.mark.slow)])
def test_b39_flush_fails(failing, src, dst, side, call, error):
    """Whichever flush it is, there is no success without it."""
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    models.rnd(src / "small.bin", 1000, seed=2)
    server, client, result = failing(side, f"{call}:{error}:1")
    assert result.status in (8,) if error != "EIO" else result.status in (1, 7), result
    assert WORDS[error][1] in result.err, result
    goes_on(server, client, src, dst)


# B40: a full disk.

@pytest.fixture
def small_server(make_server, make_client, work):
    """A daemon with a root of 48 MB, and its client."""
    if not small_disk.can_mount():
        pytest.skip("no mount namespaces here")
    root = work / "root"
    root.mkdir()
    server = make_server(root=root, prefix=small_disk.wrapper("48m", root))
    return server, make_client(server.address), small_disk.seen_by(server, root)


def used(root):
    """Bytes in use on the disk of `root`."""
    st = os.statvfs(root)
    return (st.f_blocks - st.f_bfree) * st.f_frsize


def test_b40_full_server(small_server, make_proxy, make_client, src, dst, work):
    """8, the old version stays readable, and after making room the same command succeeds without a restart."""
    server, client, root = small_server
    old = models.rnd(work / "old" / "w.bin", 4 * MIB, seed=1).parent
    push(client, old)
    push(client, models.rnd(work / "large" / "w.bin", 20 * MIB, seed=2).parent, "ns/large")
    models.rnd(src / "w.bin", 30 * MIB, seed=3)
    pid, result = server.pid, client.fails(8, "--json", "push", src, "ns/m")
    assert result.data["error"]["code"] == "no-space" and "no space" in result.err and "server" in result.err
    assert models.same_bytes(old / "w.bin", root / "ns/m/w.bin")
    pull(client, dst)
    models.assert_same(old, dst)
    client.ok("rm", "-y", "ns/large")
    wait_until(lambda: used(root) < 10 * MIB, "the trash is emptied")
    push(client, src)
    assert server.pid == pid and server.is_running
    pull(client, dst)
    models.assert_same(src, dst)
    assert used(root) < 31 * MIB


def fill(root, leave):
    """Somebody else fills the disk but for `leave` bytes; the path of his file."""
    st, path = os.statvfs(root), root / "foreign"
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, st.f_bfree * st.f_frsize - leave)
    return path


def test_b40_failures_do_not_pile_up(small_server, make_proxy, make_client, src, work):
    """The disk fills while the push runs: twenty failing pushes use no more space than one; what had arrived is kept,
    and counts when there is room again."""
    server, client, root = small_server
    for number in range(8):
        models.rnd(src / f"w{number}.bin", 5 * MIB, seed=number)
    proxy = make_proxy(server.address, cproxy.hole(4 * MIB, conn=range(1, 10), dir="c2s"))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "2")
    assert proxy.rules[0].hit.wait(20)
    foreign = fill(root, 10 * MIB)
    proxy.clear()
    result = running.wait()
    assert result.status == 8 and "no space" in result.err.lower(), result
    first = used(root)
    for number in range(19):
        other = models.rnd(work / f"v{number}" / f"w{number}.bin", 38 * MIB, seed=number).parent
        result = client.run("push", src if number % 3 else other, "ns/m")
        assert result.status == 8, result
    assert used(root) <= first + MIB, (used(root), first)
    assert client.ok("ls").out
    foreign.unlink()
    push(client, src)
    assert models.differences(src, root / "ns/m") == []
    assert used(root) < 41 * MIB


def test_b40_partials_count_as_space(small_server, make_proxy, make_client, src):
    """What an unfinished push holds is neither needed again nor forgotten."""
    server, client, root = small_server
    models.rnd(src / "w.bin", 40 * MIB, seed=3)
    proxy = make_proxy(server.address, cproxy.rate(30e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "2", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 30 * MIB, "30 MB passed")
    proxy.cut()
    assert running.wait().status == 6
    push(client, src)  # needs 10 to 26 MB more, 48 - 30 are free
    assert models.same_bytes(src / "w.bin", root / "ns/m/w.bin")


def test_b40_full_client(server, client, src, work):
    """The same on the other side: 8, nothing with a final name, and the next pull succeeds when there is room."""
    if not small_disk.can_mount():
        pytest.skip("no mount namespaces here")
    models.rnd(src / "w.bin", 16 * MIB, seed=2)
    push(client, src)
    disk = work / "disk"
    disk.mkdir()
    script = """
fallocate -l 12M "$1/foreign"
shift
"$@"; first=$?
ls -A "$0/dst" 2>/dev/null | grep -v '^.mstore$' && exit 90
rm "$0/foreign"
"$@" || exit 91
cmp "$0/dst/w.bin" "$SRC/w.bin" || exit 92
exit $first"""
    prefix = small_disk.wrapper("20m", disk) + ["env", f"SRC={src}", "sh", "-c", script, disk, disk]
    result = client.run("pull", "ns/m", disk / "dst", prefix=[str(p) for p in prefix])
    assert result.status == 8 and "no space" in result.err, result


# B42: fallocate says early that the disk is full; anything else that it says is a wish not granted (test_short_io).

@pytest.mark.parametrize("side", ["push", "pull"])
@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT"])
def test_b42_fallocate_without_space(failing, src, dst, side, error):
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    server, client, result = failing(side, f"fallocate:{error}:1")
    assert result.status == 8 and WORDS[error][1] in result.err and "w.bin" in result.err, result
    goes_on(server, client, src, dst)


# A store that is away is "unavailable"; that is not "no such model", which would let a client believe that it is gone.

@pytest.mark.parametrize("error", ["EIO", "ESTALE", "ENOTCONN"])
@pytest.mark.parametrize("args", [["pull", "ns/m", "DST"], ["info", "ns/m"], ["push", "SRC", "ns/m"], ["ls"]],
                         ids=lambda a: a[0])
def test_b39_store_unavailable(make_server, make_client, shims, src, dst, work, args, error):
    server = make_server()
    models.rnd(src / "w.bin", 1000, seed=1)
    push(make_client(server.address), src)
    rule = f"openat:{error}:1+:/root/ns,openat2:{error}:1+:/root/ns"
    server.stop()
    server.wrap.update(preload=shims["shim_fail"], shim={"SHIM_FAIL": rule})
    server.start(check_idle=False)
    client = make_client(server.address)
    words = [{"DST": dst, "SRC": src}.get(a, a) for a in args]
    result = client.run("--json", *words, "--retries", "0")
    assert result.status == 1, result
    assert result.data["error"]["code"] in ("store-unavailable", "failed" if error == "EIO" else ""), result
    assert models.same_bytes(src / "w.bin", server.root / "ns/m/w.bin")
