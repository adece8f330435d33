"""Servers that break the rules of docs/protocol.md, against the client (kinds K and L)."""

import http.server
import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

import models
import wire
from harness import MIB, SANITIZER, wait_until
from wire import BLOCK, CONTROL, FakeServer, ServedModel, accept_hello, block, entry, frame, header

pytestmark = pytest.mark.sanitize
PATIENCE = "5" if SANITIZER else "2"  # seconds after which a client gives up
FILES = {"config.json": b"{}", "sub/w.bin": models.random.Random(1).randbytes(BLOCK + 100), "empty": b""}


@pytest.fixture
def fake(programs):
    """fake(script) starts a server with that script."""
    servers = []

    def make(script):
        servers.append(FakeServer(script))
        return servers[-1]
    yield make
    for server in servers:
        server.close()
        assert server.problems == []


def tree(folder):
    """All names below a folder, but the client's staging."""
    return sorted(models.files(folder, skip=(".mstore",))) if folder.exists() else []


@pytest.fixture
def pull(fake, make_client, work, dst):
    """pull(script) runs a pull from a fake server that must fail, and checks what is around DST."""

    def run(script, *options):
        server = fake(script)
        result = make_client(server.address).run("--json", "pull", "ns/m", dst, "--timeout", PATIENCE, "--retries", "0",
                                                 *options, timeout=30)
        assert result.status not in (0, 3) and result.status < 128, result
        assert result.data["ok"] is False and result.data["error"]["message"]
        assert tree(dst) == []
        assert set(p.name for p in work.iterdir()) <= {"home", "sanitizer", "dst"}
        return result
    return run


def test_right_server(fake, make_client, dst):
    """The baseline of all tests here: this fake serves a model as it should."""
    model = ServedModel(FILES)
    server = fake(model)
    make_client(server.address).ok("pull", "ns/m", dst)
    assert {p: (dst / p).read_bytes() for p in FILES} == FILES and len(set(model.wants)) == 4


def test_right_server_without_hashes(fake, make_client, dst):
    """As for files of other means: the trailer is all there is."""
    make_client(fake(ServedModel(FILES, hashes=False)).address).ok("pull", "ns/m", dst)
    assert {p: (dst / p).read_bytes() for p in FILES} == FILES


# Something else on the port (B65).

def check_not_mstore(client):
    """Status 1 within 2 s and in words."""
    result = client.fails(1, "--json", "ls", "--retries", "0")
    assert result.seconds < 2 * (4 if SANITIZER else 1)
    assert result.data["error"]["code"] == "not-mstore"
    assert "mstore" in result.data["error"]["message"]


def test_b65_http_server(make_client, programs):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        check_not_mstore(make_client("127.0.0.1:%d" % server.server_port))
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("banner", [b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"220 smtp.example ESMTP\r\n", b"\0" * 48,
                                    b"mstore\n\n" + bytes(40), b"\xff" * 1000])
def test_b65_banner_of_something_else(fake, make_client, banner):
    def script(conn, number):
        conn.send(banner)
        conn.read(48)
        conn.read(1)
    check_not_mstore(make_client(fake(script).address))


def test_b65_server_that_closes_at_once(fake, make_client):
    result = make_client(fake(lambda conn, number: conn.close()).address).run("ls", "--retries", "0")
    assert result.status in (1, 6) and result.err.strip()


def test_b65_server_that_says_nothing(fake, make_client):
    """Given up after the time-out, not before."""
    result = make_client(fake(lambda conn, number: conn.read(1000)).address).fails(
        6, "ls", "--retries", "0", "--timeout", "2")
    assert 1.5 < result.seconds < 4 or SANITIZER


@pytest.mark.parametrize("version, status", [(2, wire.BAD_VERSION), (0, wire.BAD_VERSION), (2, wire.OK)])
def test_b65_other_version(fake, make_client, version, status):
    """Both numbers are in the message."""
    def script(conn, number):
        conn.read(48)
        conn.send(wire.hello_reply(status, b"S" * 16 if status == wire.OK else bytes(16), version=version))
        conn.read(1)
    result = make_client(fake(script).address).fails(1, "--json", "ls", "--retries", "0")
    assert result.data["error"]["code"] == "version-mismatch"
    assert str(version) in result.err + result.out and "1" in result.data["error"]["message"]


@pytest.mark.parametrize("how, status", [({"status": wire.REFUSED}, 4), ({"status": 77}, 1), ({"block": 4096}, 1),
                                         ({"streams": 0}, 1), ({"streams": 65}, 1), ({"tail": b"x" + bytes(7)}, 1),
                                         ({"status": wire.WAIT}, 1)])
def test_hello_replies(fake, make_client, how, status):
    def script(conn, number):
        accept_hello(conn, **how)
        conn.read(1000)
    make_client(fake(script).address).fails(status, "ls", "--retries", "0", "--timeout", PATIENCE)


def test_busy_server(fake, make_client):
    """Too many connections: tried again, then given up with 6 or 9, in words."""
    def script(conn, number):
        conn.read(48)
        conn.send(wire.hello_reply(wire.BUSY))
    result = make_client(fake(script).address).run("ls", "--retries", "1")
    assert result.status in (6, 9) and result.err.strip(), result


# Control frames.

@pytest.mark.parametrize("bad", [
    b"\xff" * 8, b"\0" * 8, (wire.TEXT_MAX + 1).to_bytes(4, "little") + bytes(4), b"\xff\xff\xff\x7f" + bytes(4),
    frame({"type": "end"}, check=1), frame(b"[]"), frame(b"nonsense"), frame({"type": "surprise"}), frame({}),
    frame(b"[" * 500_000), frame({"type": "files"}), frame({"type": "files", "files": []}),
    frame({"type": "files", "files": [5]}), frame({"type": "error"}),
    frame({"type": "ready", "streams": -1}), frame({"type": "end"}),
], ids=range(16))
def test_b63_b64_bad_frames_instead_of_a_listing(pull, bad):
    def script(conn, number):
        accept_hello(conn)
        conn.message()
        conn.send(bad)
        conn.read(1)
    pull(script)


def test_b63_huge_length_takes_no_memory(fake, make_client, dst):
    """Under a limit that a gigabyte would break."""
    if SANITIZER:
        pytest.skip("sanitizers need address space")

    def script(conn, number):
        accept_hello(conn)
        conn.message()
        conn.send(b"\x00\x00\x00\x40" + bytes(4) + b"{" * 1000)
        conn.read(1)
    result = make_client(fake(script).address).run("pull", "ns/m", dst, "--retries", "0", "--timeout", PATIENCE,
                                                   limits={"as": 400 * MIB})
    assert result.status == 1, result


def test_error_codes_of_the_server_become_exit_statuses(fake, make_client, dst):
    """Those of the table; an unknown name is 1."""
    table = {"failed": 1, "usage": 2, "no-such-model": 3, "refused": 4, "hash-mismatch": 5, "protocol-error": 1,
             "some-files-failed": 7, "file-error": 7, "no-space": 8, "busy": 9, "store-unavailable": 1, "brand-new": 1}
    for code, status in table.items():
        def script(conn, number, code=code):
            accept_hello(conn)
            conn.message()
            conn.send(frame({"type": "error", "code": code, "message": "words of the server"}))
            conn.read(1)
        result = make_client(fake(script).address).fails(status, "pull", "ns/m", dst, "--retries", "0")
        assert "words of the server" in result.err


def test_control_characters_of_the_server_do_not_reach_the_terminal(fake, make_client, dst):
    def script(conn, number):
        accept_hello(conn)
        conn.message()
        conn.send(frame({"type": "error", "code": "failed", "message": "evil \x1b]0;x\x07 \r\n more"}))
        conn.read(1)
    result = make_client(fake(script).address).fails(1, "pull", "ns/m", dst, "--retries", "0")
    assert not any(byte < 32 and byte != 10 for byte in result.err_bytes), result


# Listings of a pull (B67).

@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", "./a", "a/.", "", "..", ".", "a/", ".mstore/x",
                                  b"a\0b", b"../\xff", "a" * 256, "/".join(["d" * 200] * 21)], ids=range(15))
def test_b67_paths_are_refused_before_anything_is_made(pull, path):
    listing = [entry("good", 2, from_=None), entry(path, 2, from_=None)]
    result = pull(ServedModel({"good": b"ok", "x": b"ok"}, listing))
    assert result.data["error"]["code"] == "protocol-error"


@pytest.mark.parametrize("listing", [
    [entry("a", 2, from_=None)] * 2, [entry("a", 2, from_=None), entry("a/b", 2, from_=None)],
    [entry("a", -1, from_=None)], [entry("a", 2**53, from_=None)], [entry("a", 0.5, from_=None)],
    [{**entry("a", 2, from_=None), "nsec": 10**9}], [{**entry("a", 2, from_=None), "hash": "xyz"}],
    [{**entry("a", 2, from_=None), "hash": "0" * 31}], [{"path": "a"}],
], ids=range(9))
def test_b64_listings(pull, listing):
    result = pull(ServedModel({"a": b"ok", "b": b"ok"}, listing))
    assert result.data["error"]["code"] == "protocol-error"


def test_listing_larger_than_the_disk(pull):
    """A petabyte is refused or fails for want of space; it never hangs."""
    result = pull(ServedModel({"a": b""}, [entry("a", 2**40 if SANITIZER else 2**50, from_=None)]))
    assert result.status in (1, 5, 6, 7, 8)


def test_listing_without_an_end(pull):
    def script(conn, number):
        accept_hello(conn)
        conn.message()
        conn.send(frame({"type": "files", "files": [entry("a", 2, from_=None)]}))
        conn.read(1)
    assert pull(script).status == 6


# Data.

def wrong_answer(make):
    """A model whose first wish on sub/w.bin is answered with make(file, offset, data)."""
    def on_want(conn, file, offset, data):
        if file == 1 and offset == 0:
            conn.send(make(file, offset, data))
        else:
            conn.send(block(file, offset, data))
    return ServedModel(FILES, on_want=on_want)


WRONG_DATA = {
    "another file": lambda f, o, d: block(0, o, FILES["config.json"]),
    "another offset": lambda f, o, d: block(f, BLOCK, FILES["sub/w.bin"][BLOCK:]),
    "offset minus 100 (B08)": lambda f, o, d: block(f, 2**64 - 100, d),
    "offset plus 100 (B08)": lambda f, o, d: block(f, o + 100, d),
    "short": lambda f, o, d: block(f, o, d[:-1]),
    "one byte more": lambda f, o, d: block(f, o, d + b"x"),
    "length 2^63": lambda f, o, d: header(wire.DATA, f, o, 2**63) + d,
    "unknown type": lambda f, o, d: header(9, f, o, len(d)) + d,
    "wrong check value": lambda f, o, d: header(wire.DATA, f, o, len(d), check=5) + d,
    "ACK": lambda f, o, d: header(wire.ACK, offset=1),
    "FAIL": lambda f, o, d: header(wire.FAIL, f, o, 5, flags=12) + b"sorry",
    "FAIL with a long text": lambda f, o, d: header(wire.FAIL, f, o, 2**40, flags=12) + b"sorry",
    "END": lambda f, o, d: header(wire.END),
    "status in the trailer": lambda f, o, d: block(f, o, d, status=12),
    "file outside": lambda f, o, d: block(77, o, d),
}


@pytest.mark.parametrize("name", WRONG_DATA)
def test_wrong_answers_to_a_wish(pull, name):
    pull(wrong_answer(WRONG_DATA[name]))


def test_data_that_does_not_match_twice_is_5(pull):
    """As a block that has rotted on the server's disk: its kept hash comes with it."""
    model = wrong_answer(lambda f, o, d: block(f, o, bytes(len(d)), digest=models.xxh128(d)))
    result = pull(model)
    assert result.status == 5 and "sub/w.bin" in result.err + result.out
    assert model.wants.count((1, 0)) == 2


def test_data_with_a_fitting_trailer_that_is_not_the_listed_file(pull):
    """The trailer is of those bytes, but the file's hash in the listing is not."""
    result = pull(wrong_answer(lambda f, o, d: block(f, o, bytes(len(d)))))
    assert result.status == 5 and "sub/w.bin" in result.err + result.out


def test_data_that_does_not_match_once_is_asked_for_again(fake, make_client, dst):
    seen = []

    def make(file, offset, data):
        seen.append(offset)
        return block(file, offset, data if len(seen) > 1 else bytes(len(data)), digest=models.xxh128(data))
    make_client(fake(wrong_answer(make)).address).ok("pull", "ns/m", dst)
    assert (dst / "sub/w.bin").read_bytes() == FILES["sub/w.bin"] and len(seen) == 2


def test_fail_names_the_file(pull):
    result = pull(wrong_answer(WRONG_DATA["FAIL"]))
    assert result.status == 7 and [f["path"] for f in result.data["failed"]] == ["sub/w.bin"]


def test_unasked_data(pull):
    """Before any wish."""
    model = ServedModel(FILES)

    def script(conn, number):
        role, _ = accept_hello(conn)
        if role == CONTROL:
            model._control(conn)
        conn.send(block(0, 0, b"{}"))
        conn.read(1)
    pull(script)


def test_hashes_that_are_too_many(pull):
    """More block hashes than the file has blocks."""
    class Talker(ServedModel):
        """Sends a megabyte of hashes for each file."""

        def _send_hashes(self, wire_, file):
            for first in range(0, 10**6, 8192):
                wire_.send(frame({"type": "blocks", "file": file, "first": first, "hashes": "00" * 16 * 8192}))
            wire_.send(frame({"type": "end"}))
    server = Talker(FILES, on_want=lambda c, f, o, d: c.send(block(f, o, d[:-1] + b"?")))
    pull(server)


# Push.

def push_script(replies):
    """A server for a push that sends these frames behind the request and then reads on."""
    def script(conn, number):
        role, _ = accept_hello(conn)
        if role != CONTROL:
            conn.read(1 << 30)
        conn.message()
        for reply in replies:
            conn.send(reply)
        conn.read(1 << 30)
    return script


LISTED = frame({"type": "listed"})
ENDED = frame({"type": "end"})


PUBLISHED = frame({"type": "published", "files": 3, "bytes": 10, "durable": True})
STAGED = {"type": "staged", "path": "../w", "size": 10, "mtime": 0, "nsec": 0, "first": 0, "hashes": "0" * 32}
LIES = {
    "published at once": [PUBLISHED],
    "published before ready": [LISTED, ENDED, PUBLISHED],
    "no streams": [LISTED, ENDED, frame({"type": "ready", "streams": 0})],
    "published before the blocks": [LISTED, ENDED, frame({"type": "ready", "streams": 4}), PUBLISHED],
    "staged path": [LISTED, frame(STAGED), ENDED],
    "listed path": [frame({"type": "files", "files": [entry("/etc/passwd", 1, from_=None)]}), LISTED, ENDED],
}


@pytest.mark.parametrize("replies", LIES.values(), ids=LIES)
def test_push_to_a_server_that_lies(fake, make_client, small_model, replies):
    """B49: success is what the server says after all blocks, never before."""
    result = make_client(fake(push_script(replies)).address).run(
        "--json", "push", small_model, "ns/m", "--timeout", PATIENCE, "--retries", "0", timeout=30)
    assert result.status in (1, 6), result
    assert result.data["ok"] is False


def test_push_to_a_server_that_never_publishes(fake, make_client, small_model):
    """Every block is acknowledged, the commit is not."""
    def script(conn, number):
        role, _ = accept_hello(conn)
        if role == CONTROL:
            conn.message()
            conn.send(LISTED + ENDED)
            while conn.message()["type"] != "go":
                pass
            conn.send(frame({"type": "ready", "streams": 4}))
            while True:
                conn.message(skip_alive=False)
        count = 0
        while True:
            kind, _, _, _, length = conn.header()
            if kind == wire.DATA:
                conn.read(length + 24)
                count += 1
                conn.send(header(wire.ACK, offset=count))
            else:
                conn.send(header(wire.END))
    start = time.monotonic()
    result = make_client(fake(script).address).fails(6, "push", small_model, "ns/m", "--timeout", PATIENCE, "--retries", "0")
    assert result.status == 6 and time.monotonic() - start < 15


def test_acknowledgements_that_count_too_much(fake, make_client, small_model):
    def script(conn, number):
        role, _ = accept_hello(conn)
        if role == CONTROL:
            conn.message()
            conn.send(LISTED + ENDED)
            while conn.message()["type"] != "go":
                pass
            conn.send(frame({"type": "ready", "streams": 4}))
            while conn.message()["type"] != "commit":
                pass
            conn.send(frame({"type": "published", "files": 3, "bytes": 1, "durable": True}))
        conn.header()
        conn.send(header(wire.ACK, offset=1000))
        conn.read(1 << 30)
    result = make_client(fake(script).address).run("push", small_model, "ns/m", "--timeout", PATIENCE, "--retries", "0")
    assert result.status in (1, 6), result


# Status.

SERVER = {"type": "server", "version": "9", "uptime": 1, "bytes_free": 2, "bytes_total": 3, "rate": 4, "streams": 5,
          "max_streams": 64, "waiting": 6, "source": 8, "cached": 2}
SESSION = {"type": "session", "peer": "10.0.0.2:1", "request": "push", "model": "ns/m", "bytes": 1, "rate": 2,
           "streams": 3, "age": 4}
END = {"type": "end"}


def answers(*messages):
    """A script that answers the first request with these."""
    def script(conn, number):
        accept_hello(conn)
        assert conn.message() == {"type": "status"}
        conn.send(b"".join(map(frame, messages)))
        conn.read(1)
    return script


def test_status_of_a_right_server(fake, make_client):
    address = fake(answers(SERVER, *[SESSION] * 1024, END)).address
    data = make_client(address).json("status")
    assert len(data["sessions"]) == 1024 and data["source_cached"] == 0.25
    assert "25 % of 8 B" in make_client(fake(answers(SERVER, END)).address).ok("status").out
    unknown = dict(SERVER, bytes_free=0, bytes_total=0, source=0, cached=0)
    data = make_client(fake(answers(unknown, END)).address).json("status")
    assert data["root"] == {"bytes_free": None, "bytes_total": None} and data["source_cached"] is None
    assert "disk" not in make_client(fake(answers(unknown, END)).address).ok("status").out


@pytest.mark.parametrize("messages", [[END], [SESSION, SERVER, END], [SERVER, SERVER, END], [SERVER, {"type": "listed"}],
                                      [SERVER, *[SESSION] * 1025, END], [dict(SERVER, rate=-1), END],
                                      [SERVER, dict(SESSION, model="../m"), END]], ids=range(7))
def test_wrong_answers_to_status(fake, make_client, messages):
    result = make_client(fake(answers(*messages)).address).fails(1, "--json", "status")
    assert result.data["error"]["code"] == "protocol-error"


def test_control_characters_in_a_status_do_not_reach_the_terminal(fake, make_client):
    evil = "\x1b[2J\x07\n\u009b31m"
    server, session = dict(SERVER, version=evil), dict(SESSION, peer=evil, request=evil)
    result = make_client(fake(answers(server, session, END)).address).ok("status")
    assert not any(byte < 32 and byte != 10 for byte in result.out_bytes) and "\u009b" not in result.out
    assert result.out.count("\n") == 7 and "\\x1b[2J" in result.out
    data = make_client(fake(answers(server, session, END)).address).json("status")
    assert data["version"] == data["sessions"][0]["peer"] == evil


def watch_peak(running, peaks):
    """Notes the most memory that a client has had; false when it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{running.process.pid}/status").read_text(encoding="ascii"))
    except FileNotFoundError:
        return False
    if found:
        peaks.append(int(found[1]) * 1024)
    return found is not None and running.is_running


def flood(message):
    """A script that answers any request with the same message for ever."""
    def script(conn, _):
        accept_hello(conn)
        conn.message()
        text = frame(message)
        while True:
            conn.send(text)
    return script


FLOODS = {
    "files": {"type": "files", "files": [entry(f"{n:04}" + "/x" * 60 + "y" * 130, 1, from_=None) for n in range(800)]},
    "huge files": {"type": "files", "files": [entry("a", (1 << 53) - 1, from_=None)]},
    "models": {"type": "model", "name": "ns/m", "bytes": 1, "files": 1, "mtime": 1, "nsec": 0, "state": "complete",
               "present": 1, "warnings": 0},
    "progress": {"type": "progress", "bytes": 1, "total": 2},
    "alive": {"type": "alive"},
}


@pytest.mark.skipif(bool(SANITIZER), reason="a sanitizer takes memory of its own")
@pytest.mark.parametrize("what", FLOODS)
@pytest.mark.parametrize("args", [["pull", "ns/m", "dst"], ["push", "src", "ns/m"], ["info", "ns/m"]], ids=lambda a: a[0])
def test_b63_a_flood_takes_no_memory(fake, make_client, small_model, work, what, args):
    """Whatever a server sends without end, the client stays under 100 MB."""
    args = [str(small_model) if a == "src" else str(work / "dst") if a == "dst" else a for a in args]
    address = fake(flood(FLOODS[what])).address
    running = make_client(address).start(*args, "--timeout", PATIENCE, "--retries", "0")
    peaks, end = [0], time.monotonic() + 3
    wait_until(lambda: time.monotonic() > end or not watch_peak(running, peaks), "3 s of the flood")
    running.signal(signal.SIGTERM)
    assert running.wait(20).status != 0
    assert 0 < max(peaks) < 100 * 10**6


@pytest.mark.skipif(bool(SANITIZER), reason="a sanitizer takes memory of its own")
@pytest.mark.parametrize("args", [["pull", "ns/m"], ["pull", "--dry-run", "ns/m"]], ids=lambda a: a[1])
def test_a_listing_of_huge_files_takes_no_memory(fake, make_client, work, dst, args):
    """2^53 bytes are 2^30 blocks: what no disk can hold is said before memory is taken for it."""
    served = ServedModel({}, listing=[entry(f"f{n}", (1 << 53) - 1, from_=None) for n in range(3)])
    result = make_client(fake(served).address).run(*args, dst, "--timeout", PATIENCE, "--retries", "0",
                                                   limits={"as": 400 * MIB})
    assert result.status == (0 if "--dry-run" in args else 8), result


def test_client_leaves_no_connection_open(fake, make_client, dst):
    """After a failure every socket of it is closed, and the server is not called again."""
    server = fake(wrong_answer(WRONG_DATA["short"]))
    make_client(server.address).run("pull", "ns/m", dst, "--timeout", PATIENCE, "--retries", "0")
    time.sleep(0.3)  # for what the client began before it ended
    count = server.connections
    time.sleep(0.3)
    assert server.connections == count
    for sock in server.sockets:
        sock.settimeout(1)
        try:
            assert sock.recv(1) == b""
        except (socket.timeout, OSError) as e:
            assert not isinstance(e, socket.timeout)
