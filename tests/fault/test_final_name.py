"""Unfinished bytes never have a name that means "finished" (kind A). More of this: test_delivery, test_kill_loop."""

import signal

import pytest

import cproxy
import faults
import models
from harness import MIB, listed, pull, push, wait_until

INCOMPLETE = {"state": "incomplete"}


@pytest.mark.parametrize("who, how", [("client", signal.SIGINT), ("client", signal.SIGKILL), ("server", signal.SIGKILL),
                                      ("server", signal.SIGTERM)])
def test_b01_interrupted_push_shows_nothing(server, client, make_client, make_proxy, src, who, how):
    """Whoever ends it: no final name, `ls` and `info` do not call it complete, a pull refuses, and the same command
    completes it."""
    models.rnd(src / "a.safetensors", 64 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(8e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 12 * MIB, "it is under way")
    (running if who == "client" else server).signal(how)
    result = running.wait()
    assert result.status == {signal.SIGINT: 130, signal.SIGKILL: -9 if who == "client" else 6, signal.SIGTERM: 6}[how]
    if who == "server":
        server.process.wait(5)
        server.kill()
        server.start(check_idle=False)
    assert not server.model("ns/m").exists()
    wait_until(lambda: (listed(client, "ns/m") or INCOMPLETE)["state"] == "incomplete", "not complete")
    info = client.run("--json", "info", "ns/m")
    assert info.status in (0, 3) and b'"complete"' not in info.out_bytes, info
    client.fails(3, "pull", "ns/m", src.parent / "never")
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    faults.assert_clean(server)


@pytest.mark.parametrize("streams", ["1", "4"])
@pytest.mark.parametrize("command", ["push", "pull"])
def test_b03_one_data_stream_dies(server, client, make_client, make_proxy, src, dst, command, streams):
    """The last of one or of four, always behind 5 MB, without retries: the end is whole, or nothing has a name and
    the status says so. One stream or many makes no difference."""
    models.rnd(src / "big", 32 * MIB, seed=1)
    if command == "pull":
        push(client, src)
    way = "c2s" if command == "push" else "s2c"
    proxy = make_proxy(server.address, cproxy.cut(5 * MIB, conn=range(int(streams), 1000, int(streams)), dir=way))
    args = ["push", src, "ns/m"] if command == "push" else ["pull", "ns/m", dst]
    result = make_client(proxy.address).run(*args, "-n", streams, "--retries", "0")
    place = server.model("ns/m") if command == "push" else dst
    assert proxy.rules[0].hits
    faults.assert_truth(result, faults.is_copy(src, place))
    if result.status:
        assert result.status == 6 and (not place.exists() or models.files(place, skip=faults.OWN) == {})
        if command == "push":
            assert listed(client, "ns/m")["state"] == "incomplete"
    (push(client, src) if command == "push" else pull(client, dst))
    models.assert_same(src, place)


def test_b04_daemon_killed_at_a_quarter(server, client, make_client, make_proxy, src, dst):
    """The unfinished file may have its full length on the disk already; what says "done" is not the length."""
    models.rnd(src / "q.gguf", 32 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(5e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "4", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 8 * MIB, "a quarter passed")
    server.kill()
    assert running.wait().status == 6
    server.start(check_idle=False)
    counted = make_proxy(server.address)
    push(make_client(counted.address), src)
    assert counted.bytes("c2s") > 23 * MIB  # nothing was whole yet
    pull(client, dst)
    models.assert_same(src, dst)
