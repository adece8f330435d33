"""mstore status: what the daemon tells of itself and of the sessions of others, as JSON, as text and on a terminal."""

import os
import re
import signal

import pytest

import models
import small_disk
from harness import MIB, SLOWNESS, pull, push, wait_until
from terminal import Terminal, visible
from wire import RawClient, frame

RATE = 8_000_000
IDLE = {"used": 0, "max": 64, "waiting": 0}


def session_of(client, request):
    """The one session with this request, or None; the whole status with it."""
    data = client.json("status")
    found = [s for s in data["sessions"] if s["request"] == request]
    assert len(found) <= 1, data
    return data, found[0] if found else None


@pytest.fixture
def slowed(client, src, dst):
    """slowed(command, options…) is that transfer of ns/m at RATE, under way until the test ends."""
    models.rnd(src / "w.bin", 128 * MIB, seed=1)
    running = []

    def start(command, *options):
        if command == "pull":
            push(client, src)
        args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/m", dst]}[command]
        running.append(client.start(*args, "--bwlimit", str(RATE), *options))
        return running[-1]
    yield start
    for transfer in running:
        transfer.signal(signal.SIGTERM)
        assert transfer.wait().status == 143


@pytest.mark.sanitize
def test_idle_server(server, client):
    data = client.json("status")
    assert data.keys() == {"sessions", "bytes_per_second", "root", "version", "streams", "source_cached", "uptime_seconds"}
    assert (data["sessions"], data["bytes_per_second"], data["streams"]) == ([], 0, IDLE)
    assert f"mstore {data['version']}\n" == client.ok("--version").out
    assert data["source_cached"] is None and 0 <= data["uptime_seconds"] < 60 * SLOWNESS


def test_share_of_the_page_cache(server, client, src, dst, work):
    """What pulls were told comes together here, once they have ended."""
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    push(client, src)
    shares = [pull(client, dst)["source_cached"], pull(client, work / "dst2")["source_cached"]]
    if None in shares:
        pytest.skip("the kernel does not tell it here")
    wait_until(lambda: client.json("status")["source_cached"] == pytest.approx(sum(shares) / 2), "both are counted")
    assert re.search(r"(?m)^cache +held \d+ % of 41\.9 MB that were pulled$", client.ok("status").out)


def test_uptime_counts(server, client):
    before = client.json("status")["uptime_seconds"]
    wait_until(lambda: client.json("status")["uptime_seconds"] > before, "a second more")


@pytest.mark.sanitize
@pytest.mark.skipif(not small_disk.can_mount(), reason="no mount namespaces here")
def test_free_space_is_that_of_the_root(make_server, make_client, src, work):
    """On a file system where only the daemon writes, before and after it has stored a model."""
    root = work / "root"
    root.mkdir()
    server = make_server(root=root, prefix=small_disk.wrapper("64m", root))
    client = make_client(server.address)
    models.rnd(src / "w.bin", 10 * MIB, seed=1)

    def told():
        there = os.statvfs(small_disk.seen_by(server, root))
        space = client.json("status")["root"]
        assert space == {"bytes_total": 64 * MIB, "bytes_free": there.f_bavail * there.f_frsize}
        return space["bytes_free"]
    before = told()
    push(client, src)
    assert before - 11 * MIB < told() <= before - 10 * MIB


@pytest.mark.sanitize
@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_transfer_of_another(server, client, slowed, command):
    """Model, request, streams, and a rate near the limit that it was given."""
    slowed(command, "-n", "3")

    def seen():
        data, session = session_of(client, command)
        steady = session and 0.6 * RATE < session["bytes_per_second"] < 1.4 * RATE
        return (data, session) if steady and session["streams"] == 3 else None
    data, session = wait_until(seen, "a session at the rate of its limit", 12)
    assert session.keys() == {"peer", "request", "model", "bytes", "bytes_per_second", "streams", "seconds"}
    assert session["model"] == "ns/m" and re.fullmatch(r"127\.0\.0\.1:\d+", session["peer"])
    assert 0 < session["bytes"] < 128 * MIB and session["seconds"] <= 60 * SLOWNESS
    assert len(data["sessions"]) == 1, "the one that asks is not listed"
    assert data["bytes_per_second"] == session["bytes_per_second"]
    assert data["streams"] == {"used": 3, "max": 64, "waiting": 0}


def test_rates_add_up(server, client, slowed, work):
    slowed("pull", "-n", "1")
    other = models.rnd(work / "other" / "v.bin", 128 * MIB, seed=2).parent
    pushing = client.start("push", other, "ns/other", "-n", "2", "--bwlimit", str(RATE))

    def both():
        data = client.json("status")
        rates = [s["bytes_per_second"] for s in data["sessions"]]
        return data if len(rates) == 2 and min(rates) > RATE / 2 else None
    data = wait_until(both, "both at work", 12)
    assert {(s["request"], s["model"], s["streams"]) for s in data["sessions"]} == {
        ("pull", "ns/m", 1), ("push", "ns/other", 2)}
    assert data["bytes_per_second"] == sum(s["bytes_per_second"] for s in data["sessions"])
    assert data["streams"]["used"] == 3
    pushing.signal(signal.SIGTERM)
    pushing.wait()


def test_data_connections_that_wait(make_server, make_client, src):
    server = make_server(options=["--max-streams", "2"])
    client = make_client(server.address)
    models.rnd(src / "w.bin", 128 * MIB, seed=1)
    pushing = client.start("push", src, "ns/m", "-n", "5", "--bwlimit", str(RATE))
    wait_until(lambda: client.json("status")["streams"] == {"used": 2, "max": 2, "waiting": 3}, "three wait")
    pushing.signal(signal.SIGTERM)
    pushing.wait()
    wait_until(lambda: client.json("status")["streams"] == {"used": 0, "max": 2, "waiting": 0}, "none is left")


def test_looking_at_what_is_stored_is_no_payload(server, client, src):
    """A push that reads 128 MiB on the server to compare moves nothing."""
    models.rnd(src / "w.bin", 128 * MIB, seed=1)
    push(client, src)
    checking = client.start("push", src, "ns/m", "--checksum")
    while checking.is_running:
        assert all(s["bytes"] == s["bytes_per_second"] == 0 for s in client.json("status")["sessions"])
    assert checking.wait().status == 0


@pytest.mark.sanitize
def test_session_between_requests(server, client):
    idle = RawClient.control(server.address)
    data, session = session_of(client, "")
    assert session["model"] is None and session["bytes"] == session["streams"] == 0
    assert session["peer"] == "%s:%d" % idle.sock.getsockname()
    assert "127.0.0.1" in client.ok("status").out
    idle.close()
    wait_until(lambda: client.json("status")["sessions"] == [], "it is gone")


def test_several_requests_on_one_connection(server):
    raw = RawClient.control(server.address)
    for _ in range(3):
        raw.ask({"type": "status"})
        assert [m["type"] for m in raw.messages_until("end")] == ["server", "end"]
    raw.send(frame({"type": "status"}) + frame({"type": "list"}))
    assert raw.message()["code"] == "protocol-error" and raw.is_closed()


def test_text(server, client, slowed):
    text = client.ok("status").out
    assert re.match(r"mstored \S+ at 127\.0\.0\.1:\d+, up ", text) and "no other session" in text
    assert re.search(r"(?m)^disk +\S+ \wB free of \S+ \wB \(\d+ %\)$", text)
    assert re.search(r"(?m)^moving +0 B/s on 0 of 64 streams, 0 waiting$", text)
    slowed("push")
    line = r"(?m)^127\.0\.0\.1:\d+ +push +ns/m +\d+(\.\d+)? MB +\d+(\.\d+)? MB/s +4 +\S+ s$"
    wait_until(lambda: re.search(line, client.ok("status").out), "a line for the session")


def redrawn(times):
    """Whether the head was written so often."""
    return lambda text: visible(text).count("mstored ") >= times


def test_on_a_terminal_it_is_drawn_again_until_a_signal(server, client):
    terminal = Terminal(client, ["status"], enough=redrawn(3))
    assert terminal.status == 130
    times = [at for at, text in terminal.pieces if "mstored " in visible(text)]
    assert all(0.8 < after - before < 3 * SLOWNESS for before, after in zip(times, times[1:])), times
    shown = [line for line in terminal.screen().lines if line.strip() and not line.startswith("^C")]
    assert [line.split()[0] for line in shown] == ["mstored", "disk", "moving", "no", "mstore:"], shown
    assert terminal.text.count("\x1b[2J") == 1, "wiped once, then drawn over"


def test_a_smaller_picture_leaves_nothing_of_a_larger_one(server, client):
    idle = [RawClient.control(server.address) for _ in range(3)]

    def enough(text):
        if idle and redrawn(1)(text):
            idle.pop().close()
        return not idle and "no other session" in text.rpartition("mstored ")[2]
    lines = Terminal(client, ["status"], enough=enough).screen().lines
    assert not any("PEER" in line or "127.0.0.1:" in line.replace(server.address, "") for line in lines), lines


@pytest.mark.parametrize("width, height", [(30, 24), (80, 6), (20, 3)])
def test_a_small_terminal_never_wraps_or_scrolls(server, client, width, height):
    idle = [RawClient.control(server.address) for _ in range(8)]
    terminal = Terminal(client, ["status"], width, height=height, enough=redrawn(2))
    frame = terminal.text.split("\x1b[H")[1]
    rows = visible(frame).replace("\r", "").split("\n")
    assert len(rows) <= height and max(map(len, rows)) < width, rows
    if height < 10:
        assert re.fullmatch(r"\(\d+ more\)", rows[-1])
    for raw in idle:
        raw.close()


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"TERM": None}])
def test_a_terminal_that_cannot_draw_gets_it_once(server, client, env):
    terminal = Terminal(client, ["status"], env=env)
    assert terminal.status == 0 and "\x1b" not in terminal.text
    assert terminal.text.count("mstored ") == 1


def test_json_on_a_terminal_is_once(server, client):
    terminal = Terminal(client, ["status", "--json"])
    assert terminal.status == 0 and terminal.text.count('{"sessions"') == 1 and "\x1b" not in terminal.text


def test_a_pipe_gets_no_escapes(server, client):
    assert "\x1b" not in client.ok("status", env={"TERM": "xterm"}).out


def test_the_server_goes_while_one_looks(make_server, make_client):
    server = make_server(check_idle=False)
    client = make_client(server.address)

    def enough(text):
        if redrawn(2)(text) and server.is_running:
            server.stop()
        return False
    assert Terminal(client, ["status"], enough=enough).status == 6
