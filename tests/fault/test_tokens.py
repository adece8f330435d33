"""Tokens: who gets in, what a recording is worth, and whom a client trusts (docs/protocol.md, section 3.1)."""

import hashlib
import hmac
import os
import struct
import subprocess
import threading

import pytest

import cproxy
import models
import wire
from harness import BUILD, MIB, SANITIZER, pull, push
from wire import Closed, FakeServer, RawClient, accept_hello, entry, frame

pytestmark = pytest.mark.sanitize
RW, RO = "rw-token-of-the-tests-0123456789", "ro-token-of-the-tests-0123456789"
PATIENCE = "5" if SANITIZER else "2"


def key_of(token):
    """The key of a token."""
    return hashlib.blake2b(token.encode(), digest_size=32).digest()


def mac(key, *parts):
    """HMAC-SHA-512-256."""
    return hmac.new(key, b"".join(parts), hashlib.sha512).digest()[:32]


def prove(raw, token, flip=None, nonce=b"c" * 32):
    """The client's half on a control connection; the session key and what the server said."""
    challenge = raw.message()
    assert challenge["type"] == "challenge"
    parts = bytes.fromhex(challenge["nonce"]), nonce, raw.session
    proof = bytearray(mac(key_of(token), b"mstore 1 client", *parts))
    if flip is not None:
        proof[flip // 8] ^= 1 << flip % 8
    raw.ask({"type": "prove", "nonce": nonce.hex(), "proof": bytes(proof).hex()})
    answer = raw.message()
    if answer["type"] == "welcome":
        assert bytes.fromhex(answer["proof"]) == mac(key_of(token), b"mstore 1 server", *parts)
    return mac(key_of(token), b"mstore 1 session", *parts), answer


def stream_of(raw, session_key, address, stream=0, session=None):
    """Opens a data connection and proves it; the status of the last reply, and the connection."""
    data = RawClient(address)
    status, nonce, _, _ = data.greet(role=wire.DATA_ROLE, session=session or raw.session, stream=stream)
    assert status == 6, status
    data.send(mac(session_key, b"mstore 1 stream", nonce, struct.pack("<I", stream)))
    reply = data.read(48)
    return struct.unpack("<H", reply[10:12])[0], data


@pytest.fixture
def token_file(work):
    """Writes a token file: token_file(text, name)."""
    def write(text, name="tokens", mode=0o600):
        path = work / name
        path.write_text(text)
        path.chmod(mode)
        return path
    return write


@pytest.fixture
def guarded(make_server, token_file):
    """A daemon that knows two tokens."""
    return make_server(options=["--token-file", token_file(f"rw {RW}\nro {RO}\n")], check_idle=False)


@pytest.fixture
def rw(make_client, guarded, token_file):
    """A client with the token for everything."""
    return make_client(guarded.address, env={"MSTORE_TOKEN_FILE": str(token_file(RW, "rw"))})


@pytest.fixture
def ro(make_client, guarded, token_file):
    """A client with the token for reading."""
    return make_client(guarded.address, env={"MSTORE_TOKEN_FILE": str(token_file(RO, "ro"))})


def test_what_each_token_opens(guarded, make_client, rw, ro, token_file, src, dst):
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    push(rw, src)
    pull(ro, dst)
    models.assert_same(src, dst)
    assert ro.json("verify", "ns/m")["ok"] is True
    ro.ok("info", "ns/m")
    assert "findings" in ro.json("doctor")
    waiting = RawClient.control(guarded.address)  # has not proven anything, so there is nothing to tell of it
    assert ro.json("status")["sessions"] == []
    waiting.close()
    for args in (["push", src, "ns/m"], ["push", src, "ns/new"], ["rm", "-y", "ns/m"]):
        result = ro.fails(4, *args)
        assert "reading only" in result.err
    stranger = make_client(guarded.address)
    wrong = ["--token-file", token_file("another-token-0123456789012", "wrong")]
    for args in (["ls"], ["status"], ["push", src, "ns/m"], ["pull", "ns/m", dst], ["rm", "-y", "ns/m"], ["doctor"]):
        assert "--token-file" in stranger.fails(4, *args).err
        assert "does not know the token" in stranger.fails(4, *wrong, *args).err
    models.assert_same(src, guarded.model("ns/m"))


def test_token_files_that_others_can_read(guarded, make_server, make_client, token_file):
    for mode in (0o640, 0o604, 0o620):
        path = token_file(f"rw {RW}", "open", mode)
        assert "chmod 600" in make_client(guarded.address).fails(2, "--token-file", path, "ls").err
        with pytest.raises(AssertionError, match="chmod 600"):
            make_server(options=["--token-file", path])


def test_make_token_makes_what_both_take(make_server, make_client, token_file):
    lines = [subprocess.run([BUILD / "mstored", "--make-token", access], check=True, capture_output=True,
                            text=True).stdout for access in ("rw", "ro")]
    server = make_server(options=["--token-file", token_file("".join(lines))], check_idle=False)
    for number, line in enumerate(lines):
        path = token_file(line, f"client{number}")
        make_client(server.address).ok("--token-file", path, "ls")


# A recording.

def record(address):
    """A listening address that passes on to `address`; (address, [(direction, bytes)…])."""
    seen, lock = [], threading.Lock()

    def script(peer, _):
        other = RawClient(address)
        other.sock.settimeout(None)
        peer.sock.settimeout(None)

        def copy(source, target, way):
            try:
                while data := source.recv(1 << 16):
                    with lock:
                        seen.append((way, data))
                    target.sendall(data)
                target.shutdown(1)
            except OSError:
                pass
        back = threading.Thread(target=copy, args=(other.sock, peer.sock, "s2c"), daemon=True)
        back.start()
        copy(peer.sock, other.sock, "c2s")
        back.join()
        other.close()
    return FakeServer(script), seen


def test_a_recording_holds_no_token_and_opens_nothing(guarded, make_client, token_file, src, dst):
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    middle, seen = record(guarded.address)
    with middle:
        through = make_client(middle.address, env={"MSTORE_TOKEN_FILE": str(token_file(RW, "rw"))})
        push(through, src, "ns/m", "-n", "2")
        pull(through, dst, "ns/m", "-n", "2")
    everything = b"".join(data for _, data in seen)
    assert len(everything) > 18 * MIB
    for token in (RW, RO):
        for secret in (token.encode(), token.encode().hex().encode(), key_of(token), key_of(token).hex().encode()):
            assert secret not in everything
    first = next(data for way, data in seen if way == "c2s")
    sent = b"".join(data for way, data in seen if way == "c2s")[:20_000]
    assert sent.startswith(first)
    replay = RawClient(guarded.address)
    replay.send(sent)
    status = struct.unpack("<H", replay.read(48)[10:12])[0]
    assert status == 0
    assert replay.message()["type"] == "challenge"
    try:
        assert replay.message() == {"type": "error", "code": "refused", "message": "the server does not know the token"}
    except Closed:
        pass  # what it had not read yet resets the connection
    assert replay.is_closed()


@pytest.mark.parametrize("flip", [0, 7, 100, 255])
def test_a_flipped_proof_is_refused(guarded, flip):
    raw = RawClient.control(guarded.address)
    _, answer = prove(raw, RW, flip)
    assert (answer["type"], answer["code"]) == ("error", "refused")
    assert raw.is_closed()


def test_the_proof_of_the_page_opens(guarded):
    for token, write in ((RW, True), (RO, False)):
        raw = RawClient.control(guarded.address)
        _, answer = prove(raw, token)
        assert answer["write"] is write
        raw.ask({"type": "list"})
        assert raw.message()["type"] == "end"


REQUESTS = {"list": {"type": "list"}, "pull": {"type": "pull", "model": "ns/m"},
            "push": {"type": "push", "model": "ns/m"}, "remove": {"type": "remove", "model": "ns/m"}}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_nothing_is_answered_before_the_proof(guarded, request_):
    raw = RawClient.control(guarded.address)
    assert raw.message()["type"] == "challenge"
    raw.ask(request_)
    answer = raw.message()
    assert (answer["type"], answer["code"]) == ("error", "refused")
    assert raw.is_closed()


def test_there_is_one_try(guarded):
    raw = RawClient.control(guarded.address)
    assert raw.message()["type"] == "challenge"
    raw.send(frame({"type": "prove", "nonce": "00" * 32, "proof": "00" * 32}) * 2)
    assert raw.message()["code"] == "refused"
    assert raw.is_closed()


@pytest.mark.slow
def test_who_says_nothing_is_sent_away_after_10_seconds(guarded):
    raw = RawClient.control(guarded.address)
    assert raw.message()["type"] == "challenge"
    for _ in range(3):
        raw.ask({"type": "alive"})
    assert raw.message()["code"] == "refused"
    assert raw.is_closed()


# Data connections belong to who opened the session.

def pushing(guarded):
    """A raw session in the middle of a push, and its key."""
    raw = RawClient.control(guarded.address)
    key, _ = prove(raw, RW)
    raw.begin_push([("f", 5)])
    assert raw.messages_until("ready")
    return raw, key


def test_a_data_connection_proves_itself(guarded):
    raw, key = pushing(guarded)
    status, data = stream_of(raw, key, guarded.address)
    assert status == wire.OK
    data.send(wire.block(0, 0, b"12345"))
    assert data.header() == (wire.ACK, 0, 0, 1, 0)
    raw.ask({"type": "commit"})
    assert raw.messages_until("published")


def test_a_data_connection_of_another_is_refused(guarded):
    raw, key = pushing(guarded)
    other, other_key = pushing_other(guarded)
    for wrong in (other_key, key_of(RW), bytes(32)):
        status, data = stream_of(raw, wrong, guarded.address)
        assert status == wire.REFUSED and data.is_closed()
    data = RawClient(guarded.address)
    assert data.greet(role=wire.DATA_ROLE, session=raw.session)[0] == 6
    data.send(bytes(31))
    data.close()
    del other
    assert stream_of(raw, key, guarded.address)[0] == wire.OK


def pushing_other(guarded):
    """A second session with the same token, of another model."""
    raw = RawClient.control(guarded.address)
    key, _ = prove(raw, RW, nonce=os.urandom(32))
    raw.begin_push([("f", 5)], model="ns/other")
    raw.messages_until("ready")
    return raw, key


def test_a_recorded_data_hello_opens_nothing(guarded):
    """Its nonce is another one the next time; and the number of the stream is part of the proof."""
    raw, key = pushing(guarded)
    data = RawClient(guarded.address)
    _, nonce, _, _ = data.greet(role=wire.DATA_ROLE, session=raw.session)
    recorded = mac(key, b"mstore 1 stream", nonce, struct.pack("<I", 0))
    for stream in (0, 1):
        again = RawClient(guarded.address)
        _, other, _, _ = again.greet(role=wire.DATA_ROLE, session=raw.session, stream=stream)
        assert other != nonce
        again.send(recorded)
        assert struct.unpack("<H", again.read(48)[10:12])[0] == wire.REFUSED
    data.send(mac(key, b"mstore 1 stream", nonce, struct.pack("<I", 1)))
    assert struct.unpack("<H", data.read(48)[10:12])[0] == wire.REFUSED


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("way, after", [("c2s", 0), ("c2s", 47), ("c2s", 48), ("c2s", 79), ("s2c", 0), ("s2c", 48),
                                        ("s2c", 95)])
def test_a_handshake_cut_short_is_tried_again(guarded, make_proxy, make_client, token_file, src, dst, command, way, after):
    """A data connection that ends at any place of its hello, its proof or their answers is opened anew."""
    models.rnd(src / "w.bin", 9 * MIB, seed=1)
    token = {"MSTORE_TOKEN_FILE": str(token_file(RW, "rw"))}
    push(make_client(guarded.address, env=token), src)
    proxy = make_proxy(guarded.address, cproxy.cut(after, conn=1, dir=way))
    client = make_client(proxy.address, env=token)
    summary = push(client, src, "ns/other") if command == "push" else pull(client, dst)
    assert summary["bytes"]["sent"] == 9 * MIB and len(proxy.links) > 3
    models.assert_same(src, guarded.model("ns/other") if command == "push" else dst)


@pytest.mark.parametrize("way, after", [("c2s", 48), ("c2s", 100), ("s2c", 48), ("s2c", 100), ("s2c", 150)])
def test_a_session_cut_in_its_handshake_ends_with_a_word(guarded, make_proxy, make_client, token_file, way, after):
    proxy = make_proxy(guarded.address, cproxy.cut(after, conn=0, dir=way))
    client = make_client(proxy.address, env={"MSTORE_TOKEN_FILE": str(token_file(RW, "rw"))})
    result = client.run("ls", "--timeout", PATIENCE)
    assert result.status == 6 and result.err.strip(), result


@pytest.mark.parametrize("fault", ["openat:EIO", "read:EIO"])
def test_a_token_file_that_cannot_be_read_is_no_token(make_server, shims, token_file, fault):
    """The daemon does not start without the tokens that it was told of; interrupted calls are made again."""
    path = token_file(f"rw {RW}")
    options = ["--token-file", path]
    with pytest.raises(AssertionError, match="token file"):
        make_server(options=options, preload=shims["shim_fail"], shim={"SHIM_FAIL": f"{fault}:1:/tokens"})
    call = fault.partition(":")[0]
    make_server(options=options, preload=shims["shim_fail"], shim={"SHIM_FAIL": f"{call}:EINTR:1:/tokens"},
                check_idle=False)


# The client trusts a server that knows the token, and no other.

@pytest.fixture
def tokened(make_client, token_file):
    """A client with a token for a given address."""
    def make(address):
        return make_client(address, env={"MSTORE_TOKEN_FILE": str(token_file(RW, "rw"))})
    return make


def test_a_server_that_asks_for_no_token_is_not_trusted(server, tokened, src):
    client = tokened(server.address)
    models.rnd(src / "w.bin", 1000, seed=1)
    assert "--token-file ''" in client.fails(4, "push", src, "ns/m").err
    assert not server.model("ns/m").exists()
    client.ok("--token-file", "", "ls")


@pytest.mark.parametrize("proof", [bytes(32), "the client's own", "the right one for another session"],
                         ids=["zeros", "reflected", "other session"])
def test_a_server_that_does_not_know_the_token_gets_nothing(tokened, src, proof):
    models.rnd(src / "w.bin", 1000, seed=1)
    requests = []

    def script(conn, _):
        accept_hello(conn, features=1)
        conn.send(frame({"type": "challenge", "nonce": "11" * 32}))
        message = conn.message()
        answer = proof
        if proof == "the client's own":
            answer = bytes.fromhex(message["proof"])
        elif not isinstance(proof, bytes):
            answer = mac(key_of(RW), b"mstore 1 server", b"\x11" * 32, bytes.fromhex(message["nonce"]), b"T" * 16)
        conn.send(frame({"type": "welcome", "proof": answer.hex(), "write": True}))
        requests.append(conn.message())
    with FakeServer(script) as fake:
        result = tokened(fake.address).fails(4, "push", src, "ns/m", "--timeout", PATIENCE, "--retries", "0")
    assert "not the right server" in result.err
    assert requests == []


@pytest.mark.parametrize("message", [{"type": "welcome", "proof": "00" * 32, "write": True}, {"type": "end"},
                                     {"type": "challenge", "nonce": "00" * 31}, {"type": "challenge"},
                                     {"type": "files", "files": [entry("a", 1, from_=None)]}],
                         ids=lambda m: m["type"])
def test_a_server_that_breaks_the_handshake(tokened, message):
    def script(conn, _):
        accept_hello(conn, features=1)
        conn.send(frame(message))
        conn.is_closed()
    with FakeServer(script) as fake:
        result = tokened(fake.address).run("ls", "--timeout", PATIENCE, "--retries", "0")
    assert result.status in (1, 4) and result.err, result
