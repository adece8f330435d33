"""Links that fall silent, half-open clients and sick streams (kind I): nobody hangs, nobody blocks others for long."""

import signal
import socket
import time

import pytest

import cproxy
import faults
import models
from harness import MIB, SLOWNESS, pull, push, wait_until

HELLO = 48  # bytes of the server's


# B56: the slow tail. A block that takes long is fetched over another stream as well; only one copy counts,
# and it counts when it is there.

@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("streams, rate", [("2", 3e6), ("4", 4e6)])
def test_b56_blocks_that_take_long_are_not_lost(through, server, client, src, dst, command, streams, rate):
    """Small files make the average block quick, so the blocks of the large one look overdue on every stream."""
    models.rnd(src / "big.bin", 9 * MIB, seed=1)
    models.rnd(src / "mid.bin", 2 * MIB, seed=2)
    slow, _ = through(cproxy.rate(rate))
    if command == "pull":
        push(client, src)
    args = ("push", src, "ns/m") if command == "push" else ("pull", "ns/m", dst)
    slow.ok(*args, "-n", streams, timeout=30)
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)


@pytest.mark.parametrize("command, rate", [("push", None), pytest.param("pull", None, marks=pytest.mark.slow),
                                           pytest.param("push", 4e6, marks=pytest.mark.slow)])
def test_b56_one_sick_stream_holds_nobody_up(through, server, client, src, dst, command, rate):
    """One of four streams carries 64 KB a second: the others take its work over."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    if command == "pull":
        push(client, src)
    args = ["push", src, "ns/m"] if command == "push" else ["pull", "ns/m", dst]
    good = [cproxy.rate(rate, conn=(0, 1, 3, 4))] if rate else []
    times = []
    for sick in (([cproxy.rate(rate, conn=2)] if rate else []), [cproxy.rate(64e3, conn=2)]):
        slow, proxy = through(*good, *sick)
        times.append(slow.ok(*args, "-n", "4", timeout=60).seconds)
        assert len(proxy.links) >= 5
        models.assert_same(src, server.model("ns/m") if command == "push" else dst)
        client.ok("rm", "-y", "ns/m") if command == "push" else models.subprocess.run(["rm", "-r", dst], check=True)
    # Three streams need 4/3 of the time of four, and a block is moved once more.
    assert times[1] < 2 * times[0] + 2, times


# B52: silence that is no end.

@pytest.mark.parametrize("command, way", [("pull", "s2c"), ("push", "c2s"), ("push", "s2c")])
def test_b52_silence_ends_in_time(through, server, client, src, dst, command, way):
    """From some byte on nothing comes through, on all connections: the client ends within its time-out and a second,
    and says how to go on; what was received is kept."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    if command == "pull":
        push(client, src)
    args = ["push", src, "ns/m"] if command == "push" else ["pull", "ns/m", dst]
    slow, proxy = through(cproxy.rate(6e6))
    running = slow.start(*args, "-n", "1", "--timeout", "2", "--retries", "0")
    main = "c2s" if command == "push" else "s2c"
    wait_until(lambda: proxy.bytes(main) > 9 * MIB or not running.is_running, "it is under way")
    began = time.monotonic()
    proxy.add(cproxy.hole(0, dir=way))
    result = running.wait()
    assert result.status == 6 and "again" in result.err, result
    assert time.monotonic() - began < 4.5 * SLOWNESS
    proxy.clear()
    proxy.cut()
    place = server.model("ns/m") if command == "push" else dst
    assert not place.exists() or models.files(place, skip=faults.OWN) == {}
    summary = push(client, src) if command == "push" else pull(client, dst)
    assert summary["bytes"]["resumed"] > 0
    models.assert_same(src, place)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b52_silence_that_ends_is_survived(make_server, make_client, make_proxy, src, dst, command):
    """Shorter than all retries together: the same command goes on and succeeds."""
    server = make_server(options=["--timeout", "3"])
    client, proxy = make_client(server.address), make_proxy(server.address, cproxy.rate(6e6))
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    if command == "pull":
        push(client, src)
    args = ["push", src, "ns/m"] if command == "push" else ["pull", "ns/m", dst]
    running = make_client(proxy.address).start(*args, "-n", "1", "--timeout", "2")
    main = "c2s" if command == "push" else "s2c"
    wait_until(lambda: proxy.bytes(main) > 9 * MIB or not running.is_running, "it is under way")
    proxy.add(cproxy.hole(0, conn=range(len(proxy.links))))
    result = running.wait(40)
    assert result.status == 0, result
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)


@pytest.mark.parametrize("args", [["ls"], ["info", "ns/m"], ["rm", "-y", "ns/m"], ["verify", "ns/m"], ["status"], ["doctor"]],
                         ids=lambda a: a[0])
def test_b52_silent_server(make_client, args):
    """It accepts and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        client = make_client("127.0.0.1:%d" % mute.getsockname()[1])
        result = client.run(*args, "--timeout", "1", "--retries", "0")
    assert result.status not in (0, 3) and result.err, result
    assert result.seconds < 4 * SLOWNESS


@pytest.mark.sanitize
@pytest.mark.parametrize("layer, way", [("link-up", "c2s"), ("link-up", "s2c"), ("link-down", "s2c")])
@pytest.mark.parametrize("how", ["silence", "interrupt"])
def test_b52_a_link_that_is_measured(through, server, work, layer, way, how):
    """It falls silent: the client ends within its time-out and a second, after the 3 s in which bytes that nobody
    acknowledges may still be sent; by a signal it ends at once."""
    slow, proxy = through(cproxy.rate(6e6))
    running = slow.start("bench", "--size", "1G", "--layer", layer, "-n", "2", "--timeout", "2", cwd=work)
    wait_until(lambda: max(proxy.bytes("c2s"), proxy.bytes("s2c")) > 2 * MIB, "it is under way")
    began = time.monotonic()
    proxy.add(cproxy.hole(0, dir=way))
    if how == "interrupt":
        running.signal(signal.SIGINT)
    result = running.wait()
    assert result.status == (130 if how == "interrupt" else 6) and result.err, result
    assert time.monotonic() - began < (1.5 if how == "interrupt" else 7) * SLOWNESS


def test_b52_time_out_counts_progress_not_duration(make_server, make_client, make_proxy, src, dst):
    """A link so slow that one block takes several time-outs is no silence, in either direction, and nothing is sent
    twice."""
    server = make_server(options=["--timeout", "2"])
    models.rnd(src / "w.bin", 6 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(1e6))
    for args in (["push", src, "ns/m"], ["pull", "ns/m", dst]):
        result = make_client(proxy.address).ok(*args, "-n", "2", "--timeout", "2", "--retries", "0")
        assert result.seconds > 5
    assert max(proxy.bytes("c2s"), proxy.bytes("s2c")) < 7 * MIB
    models.assert_same(src, dst)


@pytest.mark.sanitize
@pytest.mark.parametrize("args", [["ls"], ["info", "ns/m"], ["verify", "ns/m"], ["status"], ["doctor"]],
                         ids=lambda a: a[0])
def test_b52_a_question_whose_answer_is_lost_is_asked_again(through, server, client, src, args):
    """Behind the hello the first connection breaks in the answer."""
    models.rnd(src / "w.bin", MIB, seed=1)
    push(client, src)
    slow, proxy = through(cproxy.cut(HELLO + 5, conn=0, dir="s2c"))
    result = slow.ok("--json", *args)
    assert len(proxy.links) == 2 and result.err.count("trying again") == 1
    slow, proxy = through(cproxy.cut(HELLO + 5, dir="s2c"))
    result = slow.fails(6, *args, "--retries", "1")
    assert len(proxy.links) == 2 and "given up after 1 retry" in result.err and "goes on" not in result.err


def test_b52_an_rm_that_may_have_been_done_is_not_repeated(through, server, client, src):
    """Somebody may have pushed the model again since; what was removed before is said."""
    models.rnd(src / "w.bin", MIB, seed=1)
    for name in ("ns/a", "ns/b", "ns/c"):
        push(client, src, name)
    slow, proxy = through(cproxy.cut(HELLO + 30, dir="s2c"))
    result = slow.fails(6, "--json", "rm", "-y", "ns/a", "ns/b", "ns/c")
    assert len(proxy.links) == 1 and "'ns/b' may be gone" in result.err
    assert result.data["removed"] == ["ns/a"]
    assert [m["name"] for m in client.json("ls")["models"]] == ["ns/c"]


def test_b52_what_was_shown_is_not_asked_again(through, client, src):
    """The answer breaks in its second half: nothing is printed twice."""
    models.rnd(src / "w.bin", MIB, seed=1)
    for number in range(40):
        push(client, src, f"ns/m{number:02}")
    slow, proxy = through(cproxy.cut(4000, dir="s2c"))
    result = slow.fails(6, "ls")
    names = [line.split()[0] for line in result.out.splitlines()[1:]]
    assert len(proxy.links) == 1 and 0 < len(names) < 40 and names == sorted(set(names))


# B53: half-open connections.

@pytest.mark.parametrize("how", ["hole", pytest.param("stopped", marks=pytest.mark.slow)])
def test_b53_20_half_open_clients(make_server, make_client, make_proxy, src, work, how):
    """20 clients in the middle of pushes fall silent, one of them with the lock of the model: another model is served
    at once, the same model after the time-out at the latest, and nothing of the 20 stays behind."""
    server = make_server(options=["--timeout", "3"])
    proxy = make_proxy(server.address, cproxy.rate(2e6))
    dead, healthy = make_client(proxy.address), make_client(server.address)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    fresh = models.rnd(work / "fresh" / "w.bin", MIB, seed=2).parent
    running = [dead.start("push", src, "ns/m" if number == 0 else f"ns/m{number}", "-n", "1", "--timeout", "3600")
               for number in range(20)]
    wait_until(lambda: len(proxy.links) >= 40 and proxy.bytes("c2s") > 4 * MIB, "the 20 push", 30)
    if how == "hole":
        proxy.add(cproxy.hole(0))
    else:
        for client in running:
            client.signal(signal.SIGSTOP)
    began = time.monotonic()
    assert healthy.ok("push", fresh, "ns/other").seconds < 3 * SLOWNESS
    result = wait_until(lambda: (lambda r: r if r.status == 0 else None)(healthy.run("push", fresh, "ns/m", "--retries", "0")),
                        "the lock is free again", 20)
    # What lies in the buffers of a stopped client still arrives: 24 MB at 2 MB/s, then the time-out.
    assert result.status == 0 and time.monotonic() - began < (8 if how == "hole" else 18) * SLOWNESS
    models.assert_same(fresh, server.model("ns/m"))
    for client in running:
        client.kill()
    proxy.cut()
    server.assert_idle()
    models.assert_same(fresh, server.model("ns/m"))


def test_b53_stopped_client_comes_back(make_server, make_client, make_proxy, src, work):
    """A client is stopped for longer than the time-out, in the middle of a push; another one publishes; then the first
    goes on. It never touches what came after: the end is one whole version, and its status tells which."""
    server = make_server(options=["--timeout", "2"])
    client = make_client(server.address)
    models.rnd(src / "w.bin", 48 * MIB, seed=1)
    other = models.rnd(work / "other" / "w.bin", 48 * MIB, seed=2).parent
    proxy = make_proxy(server.address, cproxy.rate(8e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "2", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 9 * MIB, "the first push is under way")
    running.signal(signal.SIGSTOP)
    wait_until(lambda: client.run("push", other, "ns/m", "--retries", "0").status == 0, "the second push gets in", 20)
    running.signal(signal.SIGCONT)
    result = running.wait()
    which = faults.which(server.model("ns/m"), [src, other])
    assert (result.status == 0) is (which == 0), (result, which)
    assert result.status in (0, 6, 9), result


# B55: silent connections (their end: test_wrong_clients).

def test_b55_200_silent_connections_do_not_delay_ls(server, client):
    """By less than a second, also while they are being opened."""
    host, port = server.address.split(":")
    before = min(client.ok("ls").seconds for _ in range(3))
    silent = [socket.create_connection((host, int(port))) for _ in range(100)]
    times = [client.ok("ls").seconds]
    silent += [socket.create_connection((host, int(port))) for _ in range(100)]
    silent[-1].send(b"mstore\r\n\1\0")
    times += [client.ok("ls").seconds for _ in range(3)]
    for sock in silent:
        sock.close()
    assert min(times) < before + 1 and sorted(times)[1] < before + 1, (before, times)


def test_b53_own_half_open_session_is_waited_for(make_server, make_client, make_proxy, src):
    """The link of a session dies without a word to the server, whose time-out is longer than the client's. When
    the client comes back, the lock is still held by its own dead session; within its retries it has to get in."""
    server = make_server(options=["--timeout", "6"])
    proxy = make_proxy(server.address, cproxy.rate(8e6))
    client = make_client(proxy.address)
    models.rnd(src / "w.bin", 16 * MIB, seed=1)
    running = client.start("push", src, "ns/m", "-n", "1", "--timeout", "3")
    wait_until(lambda: proxy.bytes("c2s") > 2 * MIB, "the push is under way")
    proxy.add(cproxy.hole(0, conn=(0, 1)))
    result = running.wait(40)
    assert result.status == 0, result
    models.assert_same(src, server.model("ns/m"))


@pytest.mark.parametrize("wishes", [1, 3])
def test_b52_wishes_that_do_not_arrive(through, client, src, dst, wishes):
    """What the client sends on its data connection is lost, all else is well: it ends within a few time-outs."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    push(client, src)
    slow, proxy = through(cproxy.hole(48 + 32 * wishes, conn=range(1, 100), dir="c2s"))
    result = slow.run("pull", "ns/m", dst, "-n", "1", "--timeout", "2", "--retries", "0", timeout=20)
    assert proxy.rules[0].hits and (result.status == 6 or faults.is_copy(src, dst)), result
