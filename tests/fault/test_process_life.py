"""Signals, descriptors and restarts (kind J)."""

import random
import signal
import socket
import subprocess
import time

import pytest

import cproxy
import faults
import models
from harness import BUILD, MIB, SLOWNESS, clean_environment, pull, push, wait_until


def test_b58_peers_that_reset_in_the_middle(server, client, make_client, make_proxy, src, work):
    """30 pulls are reset while another one goes on all the time; the daemon is the same afterwards."""
    models.rnd(src / "w.bin", 16 * MIB, seed=1)
    push(client, src)
    steady = make_client(make_proxy(server.address, cproxy.rate(2.5e6)).address).start("pull", "ns/m", work / "steady")
    through = make_client(make_proxy(server.address, cproxy.cut(MIB, conn=range(1, 1000), dir="s2c")).address)
    pid = server.pid
    for number in range(30):
        assert through.run("pull", "ns/m", work / f"cut{number % 3}", "--retries", "0").status == 6
    assert steady.wait().status == 0 and server.is_running and server.pid == pid
    models.assert_same(src, work / "steady")


@pytest.mark.parametrize("command", ["ls", "info ns/m", "--json ls", "--help"])
def test_b58_reader_that_goes_away(server, client, work, src, command):
    """`mstore ls | head -1` ends quietly."""
    models.rnd(src / "w.bin", 1000, seed=1)
    for number in range(20 if "ls" in command else 1):
        push(client, src, f"ns/m{number or ''}")
    words = f"{BUILD / 'mstore'} -s {server.address} {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, env=clean_environment(work),
                          timeout=20, check=False)
    assert done.stderr == "" and done.returncode in (0, 1, 141), done


def test_b59_restarts_on_the_same_port(server, client, src, work, make_client, make_proxy):
    """Ten times in the middle of a pull, by SIGTERM and by SIGKILL: bound again at once."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src)
    for number in range(10):
        proxy = make_proxy(server.address, cproxy.rate(3e6))
        running = make_client(proxy.address).start("pull", "ns/m", work / "dst", "--retries", "0")
        wait_until(lambda: proxy.bytes("s2c") > 500_000 or not running.is_running, "the pull is under way", 20)
        (server.stop if number % 2 else server.kill)()
        began = time.monotonic()
        server.kill()
        server.start(check_idle=False)
        assert time.monotonic() - began < 2 * SLOWNESS
        assert running.wait().status == 6
    pull(client, work / "dst")
    models.assert_same(src, work / "dst")


def test_b59_second_daemon_on_the_same_address(server, client, work):
    """Refused with a clear message while the first one lives; the first one is not disturbed."""
    (work / "other").mkdir(exist_ok=True)
    done = subprocess.run([BUILD / "mstored", "--root", work / "other", "--listen", server.address],
                          capture_output=True, text=True, env=clean_environment(work), timeout=20, check=False)
    assert done.returncode != 0 and done.stdout == "", done
    assert str(server.port) in done.stderr and "in use" in done.stderr.lower(), done
    client.ok("ls")


# B60: no descriptor is left (idle connections: integration/test_daemon).

def test_b60_200_connections_at_the_limit(make_server, make_client, src):
    """No spinning, no flood in the log; it serves again when they are gone, and moves data."""
    server = make_server(limits={"nofile": 48}, check_idle=False)
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    client = make_client(server.address)
    push(client, src)
    host, port = server.address.split(":")
    sockets = [socket.create_connection((host, int(port))) for _ in range(200)]
    cpu, lines, began = server.cpu_seconds(), server.log().count("\n"), time.monotonic()
    wait_until(lambda: time.monotonic() - began > 3, "three seconds passed")
    assert server.cpu_seconds() - cpu < 0.3 * SLOWNESS and server.log().count("\n") - lines < 200
    for sock in sockets:
        sock.close()
    wait_until(lambda: client.run("ls", "--retries", "0").status == 0, "it serves again")
    push(client, src, "ns/again", "-n", "2")


@pytest.mark.parametrize("error", ["EMFILE", "ENFILE", "ECONNABORTED", "EAGAIN"])
def test_b60_accept_fails(make_server, make_client, shims, src, error):
    """For a while, then it works: the connections of that time are served or closed, later ones are served."""
    server = make_server(preload=shims["shim_fail"], shim={"SHIM_FAIL": f"accept4:{error}:2,accept4:{error}:3"},
                         check_idle=False)
    models.rnd(src / "w.bin", MIB, seed=1)
    client = make_client(server.address)
    wait_until(lambda: client.run("push", src, "ns/m", "--timeout", "5").status == 0, "it serves again", 20)
    push(client, src)
    assert server.log().count("\n") < 100


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("limit", [12, 16, 20, 24])
def test_b60_client_without_descriptors(server, client, src, dst, command, limit):
    """It says so, or makes do; never a wrong tree."""
    models.rnd(src / "sub" / "w.bin", 9 * MIB, seed=1)
    models.rnd(src / "v.bin", MIB, seed=2)
    push(client, src, "ns/stored")
    args = ["push", src, "ns/m"] if command == "push" else ["pull", "ns/stored", dst]
    result = client.run(*args, "-n", "8", "--retries", "0", limits={"nofile": limit})
    place = server.model("ns/m") if command == "push" else dst
    faults.assert_truth(result, faults.is_copy(src, place))
    assert result.status not in (5, 130, 143)
    client.ok(*args)
    models.assert_same(src, place)


# B62: signals.

def signals_at_random(server, client, make_client, make_proxy, src, work, rounds, seed):
    """Pushes and pulls with 8 streams get one or two signals at any moment."""
    choose = random.Random(seed)
    models.rnd(src / "big.bin", 20 * MIB, seed=1)
    for number in range(6):
        models.rnd(src / f"f{number}", 300_000, seed=number)
    push(client, src, "ns/stored")
    slow = make_client(make_proxy(server.address, cproxy.rate(6e6)).address)
    for number in range(rounds):
        command = choose.choice(["push", "pull"])
        dst = work / f"dst{number % 4}"
        args = ["push", src, f"ns/m{number % 4}"] if command == "push" else ["pull", "ns/stored", dst]
        running = slow.start(*args, "-n", "8")
        began, moment = time.monotonic(), choose.uniform(0.02, 0.6)
        wait_until(lambda: time.monotonic() - began > moment or not running.is_running, "the moment")
        what = choose.choice([(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGINT),
                              (signal.SIGTERM, signal.SIGINT)])
        sent = time.monotonic()
        for which in what:
            if running.is_running:
                running.signal(which)
        result = running.wait()
        assert time.monotonic() - sent < 2 * SLOWNESS, f"{what} took too long: {result}"
        allowed = {signal.SIGINT: (130, -2), signal.SIGTERM: (143, -15), signal.SIGHUP: (129, 143, -1)}
        place = server.model(f"ns/m{number % 4}") if command == "push" else dst
        equal = faults.is_copy(src, place)
        assert result.status in (0,) + tuple(s for w in what for s in allowed[w]), (what, result)
        assert result.status != 0 or equal
        if place.exists():
            assert faults.assert_whole_files(place, [src]) is None
    for number in range(4):
        push(client, src, f"ns/m{number}")
        pull(client, work / f"dst{number}", "ns/stored")
        models.assert_same(src, work / f"dst{number}")
    faults.assert_clean(server)


@pytest.mark.sanitize
def test_b62_signals_at_random_moments(server, client, make_client, make_proxy, src, work):
    signals_at_random(server, client, make_client, make_proxy, src, work, 10, 62)


@pytest.mark.slow
def test_b62_signals_at_50_random_moments(server, client, make_client, make_proxy, src, work):
    signals_at_random(server, client, make_client, make_proxy, src, work, 50, 6250)


def test_b62_daemon_on_sigterm(server, client, make_client, make_proxy, src, dst):
    """Stops accepting, ends its sessions, keeps what it has and exits with 0 in time: push, pull, verify at once."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src, "ns/stored")
    slow = make_client(make_proxy(server.address, cproxy.rate(3e6)).address)
    running = [slow.start("push", src, "ns/m", "--retries", "0"), slow.start("pull", "ns/stored", dst, "--retries", "0"),
               slow.start("verify", "ns/stored", "--retries", "0")]
    staging = server.root / ".mstore" / "staging" / "ns" / "m" / "tree"
    wait_until(lambda: staging.exists() and any(staging.iterdir()) and (dst / ".mstore").exists(), "all run")
    server.stop()
    for client_ in running[:2]:
        assert client_.wait().status == 6
    assert running[2].wait().status in (0, 6)
    server.start(check_idle=False)
    push(client, src)
    pull(client, dst, "ns/stored")
    models.assert_same(src, dst)
