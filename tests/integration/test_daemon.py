"""The life of the daemon: its ready line, signals, restarts, and what it leaves in the root."""

import signal
import socket
import subprocess
import time

import pytest

import cproxy
import models
from harness import BUILD, MIB, SLOWNESS, clean_environment, pull, push, wait_until


@pytest.mark.sanitize
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_daemon_ends_with_0(make_server, number):
    server = make_server()
    server.signal(number)
    assert server.process.wait(5 * SLOWNESS) == 0
    server.kill()


@pytest.mark.sanitize
@pytest.mark.parametrize("command", ["push", "pull"])
def test_sigterm_in_the_middle_of_a_transfer(server, client, make_client, make_proxy, src, dst, command):
    """Within 5 s, although the clients do not go away; no half model, and afterwards all is well."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src, "ns/stored")
    proxy = make_proxy(server.address, cproxy.hole(MIB, conn=(1, 2, 3, 4)))
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    running = make_client(proxy.address).start(*args, "--retries", "0")
    wait_until(lambda: proxy.bytes() > 3 * MIB, "the transfer is under way")
    server.stop()
    assert running.wait(20).status == 6
    assert not server.model("ns/m").exists() and not (dst / "w.bin").exists()
    server.start()
    client.ok(*args)
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)


def test_second_sigterm_ends_it_at_once(make_server):
    """Stopped before it can react to the first one, so that both are seen."""
    server = make_server()
    server.signal(signal.SIGSTOP)
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGCONT)
    server.process.wait(2 * SLOWNESS)
    server.kill()


def test_restart_on_the_same_port(server, client, small_model, dst):
    """B59: at once, although the last connections linger in TIME_WAIT."""
    push(client, small_model)
    for _ in range(5):
        port = server.port
        server.restart()
        assert server.port == port
        pull(client, dst)


def test_port_in_use_is_said(server, work):
    done = subprocess.run([BUILD / "mstored", "--root", work / "root", "--listen", server.address], capture_output=True,
                          text=True, timeout=10, env=clean_environment(work), check=False)
    assert done.returncode == 1 and server.address.rpartition(":")[2] in done.stderr and "another" in done.stderr, done


def test_ready_is_told_to_systemd(programs, make_server, work):
    """One datagram READY=1 to NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(work / "notify"))
        notify.settimeout(10)
        make_server(env={"NOTIFY_SOCKET": work / "notify"})
        assert "READY=1" in notify.recv(4096).decode().splitlines()


def test_watchdog_is_told_that_the_loop_turns(make_server, work):
    """WATCHDOG=1 at half of WATCHDOG_USEC while the loop turns, and no more when it is stuck."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(work / "notify"))
        notify.settimeout(10)
        server = make_server(env={"NOTIFY_SOCKET": work / "notify", "WATCHDOG_USEC": "400000"})
        assert notify.recv(4096) == b"READY=1"
        began = time.monotonic()
        assert [notify.recv(4096) for _ in range(5)] == [b"WATCHDOG=1"] * 5
        assert 0.7 < time.monotonic() - began < 2 * SLOWNESS
        server.signal(signal.SIGSTOP)
        notify.settimeout(0.5)
        with pytest.raises(TimeoutError):
            for _ in range(3):
                notify.recv(4096)
        server.signal(signal.SIGCONT)


@pytest.mark.parametrize("variables", [{}, {"WATCHDOG_USEC": "many"}, {"WATCHDOG_USEC": "0"},
                                       {"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}])
def test_no_watchdog_message_that_nobody_waits_for(make_server, work, variables):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(work / "notify"))
        notify.settimeout(10)
        server = make_server(env={"NOTIFY_SOCKET": work / "notify", **variables})
        server.stop()
        assert [notify.recv(4096) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


@pytest.mark.sanitize
def test_killed_daemon_leaves_no_half_model(server, client, make_client, make_proxy, src):
    """SIGKILL in the middle of a push: nothing under the final name, and the next push repairs all."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.hole(3 * MIB, conn=(1, 2, 3, 4)))
    running = make_client(proxy.address).start("push", src, "ns/m", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 10 * MIB, "the push is under way")
    server.kill()
    assert running.wait(20).status == 6
    assert not server.model("ns/m").exists()
    server.start()
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    server.assert_no_leftovers()


@pytest.mark.sanitize
def test_the_root_holds_plain_files_and_one_folder_of_ours(server, client, small_model):
    """Usable over NFS and SMB as it is."""
    push(client, small_model)
    push(client, small_model, "ns2/m")
    assert sorted(p.name for p in server.root.iterdir()) == [".mstore", "ns", "ns2"]
    assert [p.name for p in (server.root / "ns").iterdir()] == ["m"]
    models.assert_same(small_model, server.root / "ns" / "m")


@pytest.mark.sanitize
def test_clients_that_vanish_leave_nothing_open(server, client, make_client, make_proxy, src, work):
    """Killed in the middle, ten times; the fixture compares descriptors and threads at the end (I3)."""
    models.rnd(src / "w.bin", 16 * MIB, seed=1)
    push(client, src)
    proxy = make_proxy(server.address, cproxy.hole(MIB, conn=range(1, 100), dir="s2c"))
    through = make_client(proxy.address)
    for number in range(10):
        links = len(proxy.links)
        running = through.start("pull", "ns/m", work / f"dst{number}")
        wait_until(lambda: len(proxy.links) > links + 1, "the pull is under way")
        running.kill()
    server.assert_idle()


def test_b58_reset_peers_do_not_end_the_daemon(server, client, make_client, make_proxy, src, work):
    """SIGPIPE from sendfile would; a steady client goes on meanwhile."""
    models.rnd(src / "w.bin", 16 * MIB, seed=1)
    push(client, src)
    proxy = make_proxy(server.address, cproxy.cut(MIB, conn=range(1, 1000), dir="s2c"))
    through, pid = make_client(proxy.address), server.pid
    for number in range(10):
        assert through.run("pull", "ns/m", work / f"cut{number}", "--retries", "0").status == 6
        pull(client, work / f"good{number}")
    assert server.is_running and server.pid == pid


def test_b60_descriptor_limit(make_server, make_client):
    """At the limit it neither spins nor floods the log, and serves again afterwards."""
    server = make_server(limits={"nofile": 40}, check_idle=False)
    host, port = server.address.split(":")
    sockets = [socket.create_connection((host, int(port))) for _ in range(100)]
    before, lines = server.cpu_seconds(), server.log().count("\n")
    time.sleep(2)
    assert server.cpu_seconds() - before < 0.2
    assert server.log().count("\n") - lines < 150
    for sock in sockets:
        sock.close()
    wait_until(lambda: make_client(server.address).run("ls", "--retries", "0").status == 0, "it serves again")


def test_log_level_is_obeyed(make_server, make_client, small_model):
    quiet = make_server(options=["--log-level", "error"], root=None)
    push(make_client(quiet.address), small_model)
    assert quiet.log() == ""


def test_no_log_line_a_file(server, client, src):
    """However many files: a handful of lines."""
    models.many(src, 300)
    before = server.log().count("\n")
    push(client, src)
    assert server.log().count("\n") - before < 50


def test_idle_daemon_needs_no_cpu(server):
    """An idle daemon sleeps."""
    before = server.cpu_seconds()
    time.sleep(1)
    assert server.cpu_seconds() - before <= 0.02


def test_model_of_hand_made_metadata_rubbish(server, client, small_model, dst):
    """Damaged records are as none: the files are served, and hashed anew."""
    push(client, small_model)
    for path in (server.root / ".mstore" / "meta").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff\x00rubbish" * 50)
    pull(client, dst)
    models.assert_same(small_model, dst)
    push(client, small_model)
