"""Partial results of system calls (kind E): every call goes on from where it really was."""

import time

import pytest

import cproxy
import models
from harness import MIB, push, pull, roundtrip, wait_until

SIDES = ["sender", "receiver"]
SIZE = 5 * MIB + 321


@pytest.fixture
def transfer(make_server, make_client, work, src, dst):
    """Runs a push or pull with a shim under one side and returns its summary; the result is compared."""

    def run(command, side, preload, shim, options=(), io="auto", timeout=60):
        on_server = (command == "pull") == (side == "sender")
        wrap = {"preload": preload, "shim": shim}
        server = make_server(options=["--io", io], **(wrap if on_server and command == "push" else {}))
        client = make_client(server.address)
        how = {} if on_server else wrap
        if command == "push":
            summary = push(client, src, "ns/m", *options, timeout=timeout, **how)
            models.assert_same(src, server.model("ns/m"))
            server.assert_no_leftovers()
            return server, summary
        push(client, src)
        if on_server:
            server.stop()
            server.wrap.update(wrap)
            server.start()
        summary = pull(client, dst, "ns/m", "--io", io, *options, timeout=timeout, **how)
        models.assert_same(src, dst)
        return server, summary
    return run


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("cap, size", [(65536, SIZE), (4095, SIZE), (1, 50_000)])
def test_b26_sendfile_moves_little(transfer, shims, src, command, cap, size):
    models.rnd(src / "w.bin", size, seed=cap)
    models.rnd(src / "x.bin", 777, seed=1)
    transfer(command, "sender", shims["shim_short"], {"SHIM_SHORT": f"sendfile:{cap}"})


@pytest.mark.slow
@pytest.mark.parametrize("command", ["push", "pull"])
def test_b26_sendfile_moves_one_byte_of_5_mb(transfer, shims, src, command):
    models.rnd(src / "w.bin", SIZE, seed=1)
    transfer(command, "sender", shims["shim_short"], {"SHIM_SHORT": "sendfile:1"}, timeout=300)


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("calls", ["read:1000,pread:1000,send:999,sendmsg:999,write:999,writev:999",
                                   "pread:1,read:1", "send:7,sendmsg:7"])
def test_b26_reading_and_sending_move_little(transfer, shims, src, command, calls):
    """The way without sendfile."""
    models.rnd(src / "w.bin", 100_000, seed=1)
    both = f"{shims['shim_fail']}:{shims['shim_short']}"
    transfer(command, "sender", both, {"SHIM_FAIL": "sendfile:EINVAL:1+", "SHIM_SHORT": calls})


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("io, calls", [
    ("buffered", "recv:1000,recvmsg:1000,read:1000,readv:1000"),
    ("buffered", "pwrite:4095,pwritev:4095,write:4095"),
    ("buffered", "recv:1,pwrite:1,pwritev:1,write:1"),
    ("direct", "pwrite:4096,pwritev:4096,write:4096"),
    ("direct", "recv:1000,pwrite:65536"),
])
def test_b27_receiving_moves_little(transfer, shims, src, command, io, calls):
    """The size is right from the start where space is reserved; the content must be, too."""
    models.rnd(src / "w.bin", 60_000 if ":1," in calls else SIZE, seed=1)
    models.rnd(src / "x.bin", 777, seed=1)
    transfer(command, "receiver", shims["shim_short"], {"SHIM_SHORT": calls}, io=io)


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("error", ["EINVAL", "ENOSYS", "EOPNOTSUPP"])
def test_b31_sendfile_is_refused(transfer, shims, src, command, error):
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    server, summary = transfer(command, "sender", shims["shim_fail"], {"SHIM_FAIL": f"sendfile:{error}:1+"})
    assert {stream["send"] for stream in summary["streams"]} == {"copy"}
    assert server.log().lower().count("sendfile") <= 1 + len(server.hashed_bytes())


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b31_sendfile_is_refused_after_data_went_out(transfer, shims, src, command):
    """Calls of 100 000 bytes, so that the third one is in the middle of a block."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    both = f"{shims['shim_short']}:{shims['shim_fail']}"
    transfer(command, "sender", both, {"SHIM_FAIL": "sendfile:EINVAL:3+", "SHIM_SHORT": "sendfile:100000"})


def test_sendfile_is_the_normal_case(transfer, shims, src):
    """Without a fault the summary says sendfile: else the tests above would prove nothing."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    for command in ("push", "pull"):
        _, summary = transfer(command, "sender", shims["shim_short"], {"SHIM_SHORT": "none:1"})
        assert {stream["send"] for stream in summary["streams"]} == {"sendfile"}


INTERRUPTED = ("read", "pread", "write", "pwrite", "writev", "send", "sendmsg", "recv", "recvmsg", "sendfile")


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("every", [3, 2])
def test_b32_every_third_call_is_interrupted(transfer, shims, src, command, side, every):
    """Equal bytes, and counters that are exact (push and pull check them)."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    models.many(src / "many", 50)
    shim = {"SHIM_EINTR": ",".join(f"{call}:{every}" for call in INTERRUPTED),
            "SHIM_SHORT": "recv:70000,sendfile:70000,pwrite:65536"}
    _, summary = transfer(command, side, shims["shim_short"], shim)
    assert summary["bytes"]["sent"] == sum(p.stat().st_size for p in src.rglob("*") if p.is_file())


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("call", ["fallocate", "fdatasync", "fsync", "openat", "openat2", "accept4", "ftruncate"])
def test_b32_other_calls_are_interrupted(transfer, shims, src, command, side, call):
    models.rnd(src / "w.bin", SIZE, seed=1)
    transfer(command, side, shims["shim_fail"], {"SHIM_FAIL": f"{call}:EINTR:*2"})


# B29: the source changes while it is sent.

def test_b29_file_grows_while_it_is_sent(server, client, make_client, make_proxy, src):
    """Exactly the announced length goes out, the change is told, and the frames behind it are whole."""
    models.rnd(src / "w.log", 40 * MIB, seed=1)
    models.many(src / "many", 20)
    proxy = make_proxy(server.address, cproxy.rate(25e6, conn=1))
    running = make_client(proxy.address).start("--json", "push", src, "ns/m", "-n", "1")
    wait_until(lambda: proxy.bytes("c2s") > MIB, "the push is under way")
    while running.is_running:
        with open(src / "w.log", "a") as file:
            file.write("x\n")
        time.sleep(0.01)
    result = running.wait()
    assert result.status == 7 and [f["path"] for f in result.data["failed"]] == ["w.log"], result
    assert result.data["files"] == {"total": 21, "sent": 20, "skipped": 0, "failed": 1}
    assert not server.model("ns/m").exists()
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    server.assert_no_leftovers()


@pytest.mark.sanitize
@pytest.mark.parametrize("change", ["shrink", "rewrite", "remove"])
def test_b29_file_changes_otherwise(server, client, make_client, make_proxy, src, work, change):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    models.rnd(src / "x.bin", 1000, seed=2)
    gate = cproxy.hole(MIB, conn=1, dir="c2s")
    proxy = make_proxy(server.address, gate)
    running = make_client(proxy.address).start("--json", "push", src, "ns/m", "-n", "1")
    assert gate.hit.wait(20)
    if change == "shrink":
        with open(src / "w.bin", "r+b") as file:
            file.truncate(9 * MIB)
    elif change == "rewrite":
        models.rnd(src / "w.bin", 24 * MIB, seed=3)
    else:
        (src / "w.bin").unlink()
    gate.release()
    result = running.wait()
    if change == "remove" and result.status == 0:
        # Its descriptor was open: the bytes that were announced are the bytes that arrived.
        (src / "w.bin").parent.mkdir(exist_ok=True)
        models.rnd(src / "w.bin", 24 * MIB, seed=1)
        models.assert_same(src, server.model("ns/m"))
        return
    assert result.status == 7 and [f["path"] for f in result.data["failed"]] == ["w.bin"], result
    assert not server.model("ns/m").exists()
    push(client, src)
    models.assert_same(src, server.model("ns/m"))


@pytest.mark.sanitize
def test_b29_stored_file_changes_while_it_is_pulled(server, client, make_client, make_proxy, src, dst):
    """By other means than mstore: the pull ends with an error and DST stays empty, or is one version."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    push(client, src)
    gate = cproxy.hole(MIB, conn=1, dir="s2c")
    proxy = make_proxy(server.address, gate)
    running = make_client(proxy.address).start("--json", "pull", "ns/m", dst, "-n", "1", "--retries", "1")
    assert gate.hit.wait(20)
    with open(server.model("ns/m") / "w.bin", "r+b") as file:
        file.truncate(9 * MIB)
    gate.release()
    result = running.wait()
    assert result.status in (5, 7) and "w.bin" in str(result.data["failed"]), result
    assert not (dst / "w.bin").exists()


# B33: deliveries of one byte, and several frames in one.

@pytest.fixture
def three_files(src):
    """Under 64 KB in all."""
    models.rnd(src / "a.bin", 20_000, seed=1)
    models.rnd(src / "sub" / "b.bin", 5_000, seed=2)
    (src / "c").touch()
    return src


@pytest.mark.sanitize
@pytest.mark.parametrize("rule", [cproxy.dribble(1), cproxy.glue(0.02)], ids=["dribble", "glue"])
def test_b33_deliveries_of_any_size(server, make_client, make_proxy, three_files, dst, rule):
    proxy = make_proxy(server.address, cproxy.Rule(rule.action, rule.value))
    client = make_client(proxy.address)
    roundtrip(server, client, three_files, dst)
    assert [m["name"] for m in client.json("ls")["models"]] == ["ns/m"]
    assert len(client.json("info", "ns/m")["files"]) == 3
    assert client.json("verify", "ns/m")["ok"] is True
    client.ok("rm", "-y", "ns/m")
    assert client.json("ls") == {"models": []}
    assert proxy.rules[0].hits > 0


def test_b33_large_listings_in_pieces(server, client, make_client, make_proxy, src, dst):
    """Frames of a listing that arrive in pieces of 300 bytes."""
    models.many(src, 1000)
    push(client, src)
    proxy = make_proxy(server.address, cproxy.dribble(300, conn=0))
    pull(make_client(proxy.address), dst)
    models.assert_same(src, dst)


def test_posix_fadvise_refused(transfer, shims, src):
    """B105: a hint that is refused costs nothing; it reports its error as its value."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    for command in ("push", "pull"):
        transfer(command, "sender", shims["shim_fail"], {"SHIM_FAIL": "posix_fadvise:ESPIPE:1+"})


@pytest.mark.parametrize("error", ["EOPNOTSUPP", "EINVAL", "ENOSYS"])
def test_b42_fallocate_refused(transfer, shims, src, error):
    """Reserving space is a wish."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    for command in ("push", "pull"):
        transfer(command, "receiver", shims["shim_fail"], {"SHIM_FAIL": f"fallocate:{error}:1+"})


def test_the_shims_are_in_force(transfer, shims, src, work):
    """The calls that these tests bend are the calls that the programs make."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    transfer("push", "sender", shims["shim_fail"], {"SHIM_TALLY": work / "client"})
    server, _ = transfer("push", "receiver", shims["shim_fail"], {"SHIM_TALLY": work / "server"})
    server.stop()
    counts = {side: dict(line.split() for line in (work / side).read_text().splitlines())
              for side in ("client", "server")}
    assert int(counts["client"]["sendfile"]) > 0
    assert int(counts["server"]["recv"]) > 0
    assert int(counts["server"].get("pwrite", 0)) + int(counts["server"].get("pwritev", 0)) > 0
