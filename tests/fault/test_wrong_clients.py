"""Peers that break the rules of docs/protocol.md, against the daemon (kinds K and L)."""

import os
import random
import socket
import struct
import time

import pytest

import models
import wire
from harness import MIB, SANITIZER, Client, listed, push, wait_until
from wire import RawClient, block, entry, frame, header

pytestmark = pytest.mark.sanitize
EVIL_NUMBERS = [-1, 2**53, 2**63, 2**64 - 1, 2**64, 1e300, 0.5, "1", None, True, [], {}]


@pytest.fixture(scope="module")
def stocked(module_server):
    """The daemon of this file, with the model ns/good in it; its source lies beside the root."""
    source = module_server.work / "src"
    models.rnd(source / "model.safetensors", MIB, seed=1)
    models.rnd(source / "sub" / "part.bin", 70_000, seed=2)
    (source / "config.json").write_text("{}")
    push(Client(module_server.work, module_server.address), source, "ns/good")
    return module_server


@pytest.fixture
def stocked_client(stocked):
    """mstore against the daemon of this file."""
    client = Client(stocked.work, stocked.address)
    yield client
    client.end()


@pytest.fixture
def watched(stocked, stocked_client):
    """The daemon; afterwards it serves on, holds nothing open, is no larger, and the model is whole."""
    before = stocked.rss()
    yield stocked
    assert stocked.is_running
    models.assert_same(stocked.work / "src", stocked.model("ns/good"))
    assert [m["name"] for m in stocked_client.json("ls")["models"] if m["state"] == "complete"] == ["ns/good"]
    if not SANITIZER:
        assert stocked.rss() < before + 24 * MIB
    around = sorted(p.name for p in stocked.work.iterdir())
    assert set(around) <= {"root", "home", "src", "sanitizer", "mstored.log"}, around
    stocked.assert_idle()


# The hello.

@pytest.mark.parametrize("first", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b" " * 30, b"SSH-2.0-OpenSSH_9.2\r\n" + b" " * 40, bytes(48), b"\xff" * 48,
    wire.hello(magic=b"mstore\n\n"), b"mstore\r\n" + b"\xff" * 40,
], ids=["http", "ssh", "zeros", "ones", "magic", "ones behind the magic"])
def test_b65_something_else_is_closed(watched, first):
    peer = RawClient(watched.address)
    peer.send(first)
    assert peer.is_closed(5)


def test_b65_wrong_magic_is_closed_without_a_word(watched):
    peer = RawClient(watched.address)
    peer.send(bytes(48))
    assert peer.sock.recv(100) == b""


def test_b65_random_bytes(watched):
    choose = random.Random(1)
    for size in (1, 47, 48, 49, 1000, 100_000):
        peer = RawClient(watched.address)
        try:
            peer.send(choose.randbytes(size))
            peer.sock.shutdown(socket.SHUT_WR)
        except (wire.Closed, OSError):
            pass
        assert peer.is_closed(5), size


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_b65_other_versions_are_told_ours(watched, version):
    peer = RawClient(watched.address)
    status, session, ours, _ = peer.greet(version=version)
    assert (status, session, ours) == (wire.BAD_VERSION, wire.NO_SESSION, wire.VERSION)
    assert peer.is_closed(5)


def test_hello_with_wrong_fields(watched):
    for how in ({"role": 0}, {"role": 3}, {"session": b"x" * 16}, {"stream": 1}, {"tail": b"x" + bytes(11)}):
        peer = RawClient(watched.address)
        peer.send(wire.hello(**how))
        assert peer.is_closed(5), how


def test_unknown_feature_bits_are_ignored(watched):
    assert RawClient(watched.address).greet(features=0xFFFFFFFF)[0] == wire.OK


@pytest.mark.parametrize("session", [wire.NO_SESSION, b"\x01" * 16, b"\xff" * 16])
def test_data_connection_without_a_session(watched, session):
    peer = RawClient(watched.address)
    assert peer.greet(role=wire.DATA_ROLE, session=session)[0] == wire.UNKNOWN_SESSION
    assert peer.is_closed(5)


def test_data_connection_before_the_transfer(watched):
    """The session exists, but nothing may travel yet; nor with a number beyond 63."""
    control = RawClient.control(watched.address)
    peer = RawClient(watched.address)
    assert peer.greet(role=wire.DATA_ROLE, session=control.session)[0] == wire.UNKNOWN_SESSION
    peer = RawClient(watched.address)
    peer.send(wire.hello(role=wire.DATA_ROLE, session=control.session, stream=64))
    assert peer.is_closed(5)


def test_session_ids_differ(watched):
    assert len({RawClient.control(watched.address).session for _ in range(20)}) == 20


@pytest.fixture
def silent(watched):
    """200 connections that say nothing and one that says half a hello."""
    peers = [RawClient(watched.address) for _ in range(201)]
    peers[0].send(wire.hello()[:20])
    yield peers
    for peer in peers:
        peer.close()


def test_b55_silent_connections_hold_nobody_up(silent, stocked_client):
    assert stocked_client.ok("ls").seconds < 2


def test_one_host_cannot_take_all_places(watched, stocked_client):
    """Beyond 512 silent connections or 128 sessions of one address the next ones are told so; others get in."""
    silent = [RawClient(watched.address, source="127.0.0.2") for _ in range(520)]
    told = [struct.unpack("<H", peer.read(48)[10:12])[0] for peer in silent[512:]]
    assert told == [wire.BUSY] * 8
    assert stocked_client.ok("ls").seconds < 2
    for peer in silent:
        peer.close()
    sessions = [RawClient(watched.address, source="127.0.0.3") for _ in range(130)]
    statuses = [peer.greet()[0] for peer in sessions]
    assert statuses == [wire.OK] * 128 + [wire.BUSY] * 2
    stocked_client.ok("ls")
    for peer in sessions:
        peer.close()


@pytest.mark.slow
def test_b55_silent_connections_are_closed_after_10_s(silent):
    start = time.monotonic()
    assert all(peer.is_closed(14) for peer in silent)
    assert time.monotonic() - start > 5


# Control frames.

def test_b63_b64_frame_lengths(watched):
    """50 connections that announce gigabytes pin no memory."""
    for length in (0, 1, wire.TEXT_MAX + 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        peers = [RawClient.control(watched.address) for _ in range(50)]
        for peer in peers:
            peer.send(struct.pack("<II", length, 0))
        assert all(peer.is_closed(5) for peer in peers), length


def test_b63_longest_frames_without_bodies(watched):
    """The largest length allowed, and then nothing: not a megabyte each is taken for it."""
    peers = [RawClient.control(watched.address) for _ in range(50)]
    for peer in peers:
        peer.send(struct.pack("<II", wire.TEXT_MAX, 0) + b"{")
    before = watched.rss()
    assert RawClient.control(watched.address)
    assert watched.rss() < before + 16 * MIB or SANITIZER


BAD_FRAMES = {
    "wrong check value": frame({"type": "list"}, check=1),
    "not JSON": frame(b"hello"), "an array": frame(b"[]"), "a number": frame(b"17"), "empty object": frame({}),
    "two objects": frame(b'{"type":"list"}{"type":"list"}'), "cut object": frame(b'{"type":"list"'),
    "NUL inside": frame(b'{"type":"li\0st"}'), "NUL escaped": frame(b'{"type":"list\\u0000"}'),
    "not UTF-8": frame(b'{"type":"info","model":"\xff/\xff"}'),
    "nine levels": frame(b'{"type":"list","x":' + b"[" * 9 + b"]" * 9 + b"}"),
    "100 000 levels": frame(b'{"type":"list","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "unknown type": frame({"type": "format-disk"}), "type a number": frame({"type": 5}),
    "type missing": frame({"model": "ns/good"}), "info without model": frame({"type": "info"}),
    "model a number": frame({"type": "info", "model": 5}), "model an object": frame({"type": "pull", "model": {}}),
    "server's message": frame({"type": "published", "files": 1, "bytes": 1, "durable": True}),
    "plan out of turn": frame({"type": "plan", "files": 1, "bytes": 1, "add": False}),
    "commit out of turn": frame({"type": "commit"}), "done out of turn": frame({"type": "done"}),
}


def test_b64_bad_frames_end_the_connection(watched):
    """With an `error` before or without one."""
    for name, bad in BAD_FRAMES.items():
        peer = RawClient.control(watched.address)
        peer.send(bad)
        try:
            message = peer.message()
            assert message["type"] == "error" and message["code"] and message["message"], (name, message)
        except wire.Closed:
            pass
        assert peer.is_closed(5), name


def test_unknown_fields_are_ignored(watched):
    peer = RawClient.control(watched.address)
    peer.ask({"type": "list", "colour": {"deep": [1, 2]}, "x": None})
    assert peer.messages_until("end")[0]["name"] == "ns/good"


def test_second_request_after_the_end_of_the_first(watched):
    peer = RawClient.control(watched.address)
    for _ in range(3):
        peer.ask({"type": "list"})
        assert len(peer.messages_until("end")) == 2
    peer.ask({"type": "alive"})
    peer.ask({"type": "info", "model": "ns/none"})
    assert peer.message()["code"] == "no-such-model"


def test_request_in_several_pieces_and_two_in_one(watched):
    peer = RawClient.control(watched.address)
    request = frame({"type": "list"})
    for byte in request:
        peer.send(bytes([byte]))
    peer.messages_until("end")
    peer.send(frame({"type": "alive"}) + request)
    assert len(peer.messages_until("end")) == 2


BAD_MODELS = ["../../x", "ns/..", "ns/.", "/abs/x", "ns", "a/b/c", "ns/", "/m", "-rf/x", "", "..", "ns/a\0b",
              ".mstore/meta", "ns/" + "m" * 97, "a--b/c", "ns/m\n", "ns/é", "n" * 300]


@pytest.mark.parametrize("request_", ["info", "remove", "verify", "push", "pull"])
def test_b67_model_names(watched, request_):
    before = files_of(watched)
    for model in BAD_MODELS:
        peer = RawClient.control(watched.address)
        peer.ask({"type": request_, "model": model})
        try:
            assert peer.message()["type"] == "error", model
        except wire.Closed:
            pass
        assert peer.is_closed(5), model
        assert files_of(watched) == before, model


# Plans and listings of a push.

def refuses_plan(server, files, **how):
    """A push with this listing ends in an error or a closed connection, never in `ready`."""
    peer = RawClient.control(server.address)
    try:
        peer.begin_push(files, **how)
        message = peer.message()
        assert message["type"] == "error", message
        assert peer.is_closed(2), f"said {message} and went on"
    except wire.Closed:
        pass
    finally:
        peer.close()


BAD_PATHS = ["../x", "a/../../x", "/etc/x", "a//b", "./a", "a/.", "a/./b", "", "..", ".", "a/", "/", "a/..",
             ".mstore/x", ".mstore", "a" * 256, "a/" + "b" * 256, "/".join(["d" * 200] * 21)]


def files_of(server):
    """All files in the root but locks, and the trash, which is emptied meanwhile."""
    return sorted(name for name in models.files(server.root)
                  if not name.startswith((b".mstore/lock/", b".mstore/trash/")))


def test_b67_paths_are_refused_before_anything_is_made(watched):
    before = files_of(watched)
    for path in BAD_PATHS:
        refuses_plan(watched, [("good", 1), (path, 1)])
        refuses_plan(watched, [("good", 1), (path.encode(), 1)])
        assert files_of(watched) == before, path
    assert not (watched.work / "x").exists() and not os.path.exists("/etc/x")


def test_path_hex_that_is_none(watched):
    for hex_ in ("6", "zz", "", "61" * 5000, b"a\0b".hex(), b"../\xff".hex(), 61):
        refuses_plan(watched, [{"path_hex": hex_, "size": 1, "mtime": 0, "nsec": 0, "from": "send"}])


def test_path_twice_and_file_that_is_a_folder(watched):
    refuses_plan(watched, [("a", 1), ("a", 1)])
    refuses_plan(watched, [("a", 1), ("b", 1), (b"a", 1)])
    refuses_plan(watched, [("a", 1), ("a/b", 1)])
    refuses_plan(watched, [("a/b", 1), ("a", 1)])
    refuses_plan(watched, [("a/b/c", 1), ("a-", 1), ("a", 1)])


@pytest.mark.parametrize("field", ["size", "mtime", "nsec"])
def test_b64_numbers_of_a_file(watched, field):
    for value in EVIL_NUMBERS:
        if field != "mtime" or value != -1:  # a second before 1970 is a time like any other
            refuses_plan(watched, [{**entry("a", 1), field: value}])


@pytest.mark.parametrize("from_", ["live", "staged", "nowhere", "", 5])
def test_from_that_was_not_offered(watched, from_):
    refuses_plan(watched, [entry("a", 1, from_=from_)])


def test_live_with_another_size_than_stored(watched):
    refuses_plan(watched, [entry("config.json", 5, from_="live")], model="ns/good")


def test_counts_that_do_not_fit_the_plan(watched):
    refuses_plan(watched, [("a", 1), ("b", 1)], announced=1)
    refuses_plan(watched, [("a", 1)], announced=2)
    refuses_plan(watched, [("a", 1)], announced=5_000_000)
    peer = RawClient.control(watched.address)
    peer.ask({"type": "push", "model": "ns/raw"})
    peer.messages_until("end")
    peer.plan(1, 2**53)
    with pytest.raises((wire.Closed, AssertionError)):
        assert peer.message()["type"] != "error"


def test_too_many_files_in_one_message(watched):
    peer = RawClient.control(watched.address)
    peer.ask({"type": "push", "model": "ns/raw"})
    peer.messages_until("end")
    peer.plan(5000, 0)
    peer.ask({"type": "files", "files": [entry(f"{i}", 0) for i in range(4097)]})
    try:
        assert peer.message()["type"] == "error"
    except wire.Closed:
        pass


def test_large_file_is_only_announced(watched):
    """A petabyte in the plan takes neither memory nor a crash."""
    peer = RawClient.control(watched.address)
    peer.begin_push([("huge", 2**40 if SANITIZER else 2**50)])
    try:
        assert peer.message()["type"] in ("ready", "error", "failed")
    except wire.Closed:
        pass
    peer.close()


# Data connections of a push.

SIZE = 3 * wire.BLOCK + 5


@pytest.fixture
def pushing(watched):
    """A push of two files that waits for its blocks: (control, data connection)."""
    control = RawClient.control(watched.address)
    control.begin_push([("a", SIZE), ("b", 0)])
    assert control.message()["type"] == "ready"
    data = control.data_connection()
    yield control, data
    control.close()
    data.close()
    wait_until(lambda: not watched.model("ns/raw").exists(), "nothing was published")


BODY = b"x" * wire.BLOCK
BAD_HEADERS = {
    "unknown type": header(7),
    "type 0": header(0),
    "type 255": header(255),
    "check value": header(wire.DATA, check=1),
    "zero not zero": header(wire.DATA, 0, 0, wire.BLOCK, zero=1),
    "WANT in a push": header(wire.WANT, 0, 0, wire.BLOCK),
    "ACK from the client": header(wire.ACK, offset=1),
    "BAD from the client": header(wire.BAD, 0, 0, wire.BLOCK),
    "file outside": header(wire.DATA, 2, 0, wire.BLOCK),
    "file 2^32-1": header(wire.DATA, 2**32 - 1, 0, wire.BLOCK),
    "offset not of a block": header(wire.DATA, 0, 100, wire.BLOCK),
    "offset behind the end": header(wire.DATA, 0, 4 * wire.BLOCK, 5),
    "offset 2^63": header(wire.DATA, 0, 2**63, wire.BLOCK),
    "offset 2^64-2^23": header(wire.DATA, 0, 2**64 - wire.BLOCK, wire.BLOCK),
    "length 0": header(wire.DATA, 0, 0, 0),
    "length short": header(wire.DATA, 0, 0, wire.BLOCK - 1),
    "length long": header(wire.DATA, 0, 0, wire.BLOCK + 1),
    "length 2^63": header(wire.DATA, 0, 0, 2**63),
    "length 2^64-1": header(wire.DATA, 0, 0, 2**64 - 1),
    "last block long": header(wire.DATA, 0, 3 * wire.BLOCK, wire.BLOCK),
    "empty file with a byte": header(wire.DATA, 1, 0, 1),
    "empty file at an offset": header(wire.DATA, 1, wire.BLOCK, 0),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_b64_headers_on_a_data_connection(pushing, name):
    """The connection is closed; nothing is acknowledged."""
    _, data = pushing
    data.send(BAD_HEADERS[name] + b"y" * 1000)
    data.sock.settimeout(10)
    got = b""
    try:
        while piece := data.sock.recv(1000):
            got += piece
    except ConnectionError:
        pass
    assert all(got[i] not in (wire.ACK,) for i in range(0, len(got), 32)), got


@pytest.mark.parametrize("how", [{"digest": bytes(16)}, {"digest": b"\xff" * 16}])
def test_block_with_a_wrong_hash_is_bad_and_then_good(pushing, how):
    """BAD comes before the ACK that counts it; the right bytes are taken afterwards."""
    _, data = pushing
    data.send(block(0, 0, BODY, **how))
    assert data.header()[0] == wire.BAD
    assert data.header() == (wire.ACK, 0, 0, 1, 0)
    data.send(block(0, 0, BODY))
    assert data.header() == (wire.ACK, 0, 0, 2, 0)


def test_commit_before_every_block_is_there(pushing, watched):
    control, data = pushing
    data.send(block(0, 0, BODY))
    data.header()
    control.ask({"type": "commit"})
    try:
        assert control.message()["type"] == "error"
    except wire.Closed:
        pass
    assert not watched.model("ns/raw").exists()


def test_commit_after_a_block_that_was_bad_only(pushing, watched):
    """An acknowledgement counts blocks dealt with, not blocks received."""
    control, data = pushing
    for offset in range(0, SIZE, wire.BLOCK):
        body = BODY[:min(wire.BLOCK, SIZE - offset)]
        data.send(block(0, offset, body, digest=bytes(16) if offset == 0 else None))
        while data.header()[0] != wire.ACK:
            pass
    data.send(block(1, 0, b""))
    while data.header()[0] != wire.ACK:
        pass
    control.ask({"type": "commit"})
    try:
        assert control.message()["type"] == "error"
    except wire.Closed:
        pass
    assert not watched.model("ns/raw").exists()


def send_all(data, files):
    """Every block of [(number, bytes)], and the acknowledgements read."""
    for number, content in files:
        for offset in range(0, len(content) or 1, wire.BLOCK):
            data.send(block(number, offset, content[offset:offset + wire.BLOCK]))
            while data.header()[0] != wire.ACK:
                pass


def test_whole_push_by_hand(server):
    """What a right peer does: the baseline of the tests above."""
    content = models.random.Random(1).randbytes(wire.BLOCK + 77)
    control = RawClient.control(server.address)
    control.begin_push([("sub/w.bin", len(content)), (b"\xff", 0)])
    assert control.message()["type"] == "ready"
    data = control.data_connection()
    send_all(data, [(0, content), (1, b"")])
    control.ask({"type": "commit"})
    published = control.messages_until("published", "error")[-1]
    assert published == {"type": "published", "files": 2, "bytes": len(content), "durable": True}
    assert (server.model("ns/raw") / "sub" / "w.bin").read_bytes() == content
    assert listed(Client(server.work, server.address), "ns/raw")["files"] == 2


def test_blocks_twice_and_in_any_order(server):
    """The first good copy counts, wherever it comes from."""
    content = models.random.Random(2).randbytes(2 * wire.BLOCK + 5)
    control = RawClient.control(server.address)
    control.begin_push([("w", len(content))])
    assert control.message()["type"] == "ready"
    one, two = control.data_connection(0), control.data_connection(1)
    for offset in (2 * wire.BLOCK, 0, wire.BLOCK, 0, 2 * wire.BLOCK):
        for data in (one, two):
            data.send(block(0, offset, content[offset:offset + wire.BLOCK]))
            assert data.header()[0] == wire.ACK
    control.ask({"type": "commit"})
    assert control.messages_until("published", "error")[-1]["type"] == "published"
    assert (server.model("ns/raw") / "w").read_bytes() == content


def test_b35_block_beyond_4_gib_lands_at_its_offset(server):
    """A file of 4 GiB and 5 bytes of which only the end travels: an offset of 33 bits."""
    client = Client(server.work, server.address)
    control = RawClient.control(server.address)
    control.begin_push([("w", 2**32 + 5)])
    assert control.message()["type"] == "ready"
    data = control.data_connection()
    data.send(block(0, 2**32, b"end!!"))
    assert data.header() == (wire.ACK, 0, 0, 1, 0)

    def landed():
        for path in server.staged("ns/raw"):
            if path.stat().st_size >= 2**32 + 5:
                with open(path, "rb") as file:
                    file.seek(2**32)
                    return file.read(5) == b"end!!"
        return False
    wait_until(landed, "the five bytes lie behind 4 GiB")
    control.close()
    data.close()
    wait_until(lambda: listed(client, "ns/raw"), "the push is recorded as unfinished")
    assert listed(client, "ns/raw")["bytes"] == 2**32 + 5
    client.ok("rm", "-y", "ns/raw")


def test_sender_that_could_not_read_a_block(pushing):
    """Filling bytes with a status: counted, not stored, and no violation."""
    _, data = pushing
    data.send(block(0, 0, BODY, digest=bytes(16), status=12))
    kinds = [data.header()[0]]
    while kinds[-1] != wire.ACK:
        kinds.append(data.header()[0])
    data.send(block(0, 0, BODY))
    while data.header()[0] != wire.ACK:
        pass


def test_peer_that_goes_in_the_middle_of_a_block(pushing):
    _, data = pushing
    data.send(block(0, 0, BODY)[:1_000_000])
    data.close()


# Data connections of a pull.

@pytest.fixture
def pulling(watched):
    """A pull of ns/good that waits for wishes: (control, data connection, listing)."""
    control = RawClient.control(watched.address)
    control.ask({"type": "pull", "model": "ns/good"})
    messages = control.messages_until("ready")
    files = [f for m in messages if m["type"] == "files" for f in m["files"]]
    data = control.data_connection()
    yield control, data, files
    control.close()
    data.close()


def test_whole_pull_by_hand(pulling, stocked):
    """The baseline: bytes, trailer and counts."""
    control, data, files = pulling
    total = 0
    for number, file in enumerate(files):
        data.send(header(wire.WANT, number, 0, file["size"]))
        assert data.header() == (wire.DATA, 0, number, 0, file["size"])
        content = data.read(file["size"])
        assert data.read(24) == models.xxh128(content) + bytes(8)
        assert content == (stocked.work / "src" / file["path"]).read_bytes()
        total += len(content)
    data.send(header(wire.END))
    kind, flags, _, offset, _ = data.header()
    assert (kind, flags & 1, offset) == (wire.END, 1, total)
    control.ask({"type": "done"})
    told, end = control.messages_until("end")
    assert (told["type"], told["stream"], told["bytes"]) == ("activity", 0, total)
    assert end["type"] == "end" and told["wall"] >= told["socket"] > 0


# Measuring the link.

@pytest.fixture
def linking(watched):
    """A `link` request that is ready: (control, data connection)."""
    control = RawClient.control(watched.address)
    control.ask({"type": "link"})
    assert control.message()["type"] == "ready"
    data = control.data_connection()
    yield control, data
    control.close()
    data.close()


def test_whole_link_by_hand(linking):
    """What is sent is counted, what is asked for is one whole block, and the end tells how much it was."""
    control, data = linking
    data.send(header(wire.DATA, 0, 0, 1000) + bytes(1000 + 24) + header(wire.WANT, 0, 0, wire.BLOCK))
    assert data.header() == (wire.DATA, 0, 0, 0, wire.BLOCK)
    data.read(wire.BLOCK + 24)
    data.send(header(wire.END))
    kind, _, _, offset, _ = data.header()
    assert (kind, offset) == (wire.END, wire.BLOCK + 1000)
    control.ask({"type": "done"})
    assert [m["type"] for m in control.messages_until("end")] == ["activity", "end"]


@pytest.mark.parametrize("wrong", [
    header(wire.DATA, 1, 0, 10) + bytes(34), header(wire.DATA, 0, wire.BLOCK, 10) + bytes(34),
    header(wire.DATA, 0, 0, wire.BLOCK + 1), header(wire.DATA, 0, 0, 2**63), header(wire.WANT, 1, 0, 1),
    header(wire.WANT, 0, 1, 1), header(wire.ACK, offset=1), header(0), header(wire.DATA, 0, 0, 10, check=0),
], ids=range(9))
def test_what_does_not_belong_to_a_link(linking, wrong):
    _, data = linking
    data.send(wrong)
    data.sock.settimeout(10)
    with pytest.raises((wire.Closed, ConnectionError)):
        data.header()


@pytest.mark.parametrize("ask", [
    {"type": "disk_write", "bytes": 0}, {"type": "disk_write", "bytes": 2**40 + 1}, {"type": "disk_write", "bytes": 2**53 - 1},
    {"type": "disk_read", "model": "ns/good", "bytes": 0}, {"type": "disk_read", "model": "ns/none", "bytes": 10},
    {"type": "disk_write", "bytes": 2**40},
], ids=range(6))
def test_disks_are_not_measured_with_that(watched, ask):
    """Refused with a word before anything is written; the session goes on."""
    control = RawClient.control(watched.address)
    control.ask(ask)
    assert control.messages_until("error")[-1]["code"] in ("usage", "no-such-model", "no-space")
    control.ask({"type": "list"})
    assert control.messages_until("end")
    control.close()


@pytest.mark.parametrize("want", [
    header(wire.WANT, 99, 0, 1), header(wire.WANT, 2**32 - 1, 0, 1), header(wire.WANT, 0, 1, 1),
    header(wire.WANT, 0, wire.BLOCK, 1), header(wire.WANT, 0, 2**63, 1), header(wire.WANT, 0, 0, 2**63),
    header(wire.WANT, 0, 0, 0), header(wire.WANT, 0, 0, 10**6), header(wire.WANT, 0, 0, 1, zero=1),
    header(wire.DATA, 0, 0, 22) + b"x" * 46, header(wire.ACK, offset=1), header(0), header(wire.WANT, check=0),
], ids=range(13))
def test_wishes_outside_the_listing(pulling, want):
    _, data, _ = pulling
    data.send(want)
    data.sock.settimeout(10)
    with pytest.raises((wire.Closed, ConnectionError)):
        assert data.header()[0] not in (wire.DATA, wire.ACK)


@pytest.mark.parametrize("number", [99, -1, 2**40, "0"])
def test_hashes_of_a_file_outside_the_listing(pulling, number):
    control, _, _ = pulling
    control.ask({"type": "hashes", "file": number})
    try:
        assert control.message()["type"] == "error"
    except wire.Closed:
        pass
    assert control.is_closed(5)


def test_hashes_by_hand(pulling, stocked):
    control, _, files = pulling
    for number, file in enumerate(files):
        control.ask({"type": "hashes", "file": number})
        messages = control.messages_until("end")
        assert "".join(m["hashes"] for m in messages[:-1]) == b"".join(
            models.block_hashes(stocked.work / "src" / file["path"])).hex()


def test_data_connections_end_with_their_session(pulling):
    control, data, _ = pulling
    control.close()
    assert data.is_closed(5)


def test_client_that_wants_and_never_reads(pulling, stocked_client):
    """It blocks only itself."""
    _, data, files = pulling
    number = max(range(len(files)), key=lambda i: files[i]["size"])
    try:
        data.sock.settimeout(1)
        for _ in range(200):
            data.send(header(wire.WANT, number, 0, files[number]["size"]))
    except (wire.Closed, TimeoutError):
        pass
    assert stocked_client.ok("ls").seconds < 2
