"""docs/protocol.md in Python, so that tests can be a peer that keeps or breaks its rules.

RawClient speaks to a daemon, FakeServer to a client. Both do what they are told, nothing more. This is
written from the document alone; where it and a program differ, one of the three is wrong.
"""

import json
import socket
import struct
import threading

import models

MAGIC = b"mstore\r\n"
VERSION = 1
CONTROL, DATA_ROLE = 1, 2
BLOCK = 8 << 20
NO_SESSION = bytes(16)
OK, WAIT, BAD_VERSION, REFUSED, BUSY, UNKNOWN_SESSION = range(6)
DATA, WANT, ACK, BAD, FAIL, END = range(1, 7)
TEXT_MAX = 1 << 20


def fnv32(data):
    """FNV-1a, 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def fnv64(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def hello(role=CONTROL, session=NO_SESSION, stream=0, version=VERSION, magic=MAGIC, features=0, tail=bytes(12)):
    """The first 48 bytes from a client."""
    return magic + struct.pack("<HHI", version, role, features) + session + struct.pack("<I", stream) + tail


def hello_reply(status=OK, session=NO_SESSION, version=VERSION, magic=MAGIC, block=BLOCK, streams=64, tail=bytes(8),
                features=0):
    """The 48 bytes that answer."""
    return magic + struct.pack("<HHI", version, status, features) + session + struct.pack("<II", block, streams) + tail


def frame(text, length=None, check=None):
    """A control frame; a dict becomes JSON."""
    if isinstance(text, dict):
        text = json.dumps(text, separators=(",", ":")).encode()
    length = len(text) if length is None else length
    check = fnv32(text) if check is None else check
    return struct.pack("<II", length, check) + text


def header(kind, file=0, offset=0, length=0, flags=0, zero=0, check=None):
    """A header of a data connection."""
    start = struct.pack("<BBHIQQ", kind, flags, zero, file, offset, length)
    return start + struct.pack("<Q", fnv64(start) if check is None else check)


def block(file, offset, data, digest=None, status=0, length=None, **how):
    """DATA with its bytes and trailer."""
    digest = models.xxh128(data) if digest is None else digest
    length = len(data) if length is None else length
    return header(DATA, file, offset, length, **how) + data + digest + struct.pack("<II", status, 0)


class Closed(Exception):
    """The peer closed or reset the connection."""


class Wire:
    """A socket with the reading half of the protocol."""

    def __init__(self, sock):
        self.sock = sock

    def send(self, data):
        """All of it; Closed if the peer is gone."""
        try:
            self.sock.sendall(data)
        except OSError as e:
            raise Closed(str(e)) from None

    def read(self, count):
        """Exactly `count` bytes."""
        data = b""
        while len(data) < count:
            try:
                piece = self.sock.recv(min(1 << 20, count - len(data)))
            except TimeoutError:
                raise AssertionError(f"silence behind {data[:200]!r}") from None
            except OSError as e:
                raise Closed(str(e)) from None
            if not piece:
                raise Closed("end")
            data += piece
        return data

    def message(self, skip_alive=True):
        """The next control message as a dict."""
        while True:
            length, check = struct.unpack("<II", self.read(8))
            text = self.read(length)
            assert fnv32(text) == check
            message = json.loads(text)
            if message["type"] != "alive" or not skip_alive:
                return message

    def header(self):
        """The next data header: (type, flags, file, offset, length)."""
        raw = self.read(32)
        kind, flags, zero, file, offset, length, check = struct.unpack("<BBHIQQQ", raw)
        assert zero == 0 and check == fnv64(raw[:24])
        return kind, flags, file, offset, length

    def messages_until(self, *types):
        """Messages up to and with the first of these types."""
        found = []
        while not found or found[-1]["type"] not in types:
            found.append(self.message())
        return found

    def is_closed(self, timeout=15):
        """Reads until the peer closes: True, or False if it is still there after `timeout` seconds."""
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(1 << 16):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True

    def close(self):
        """Ends the connection."""
        self.sock.close()


class RawClient(Wire):
    """One connection to a daemon."""

    def __init__(self, address, timeout=15, source=""):
        host, _, port = address.rpartition(":")
        super().__init__(socket.create_connection((host.strip("[]"), int(port)), timeout, (source, 0)))

    def greet(self, **how):
        """Sends a hello and returns (status, session, version, streams) of the reply."""
        self.send(hello(**how))
        raw = self.read(48)
        assert raw[:8] == MAGIC and raw[40:] == bytes(8)
        version, status, _ = struct.unpack("<HHI", raw[8:16])
        size, streams = struct.unpack("<II", raw[32:40])
        assert size == BLOCK
        return status, raw[16:32], version, streams

    @classmethod
    def control(cls, address):
        """A control connection that is open; its session stands in .session."""
        client = cls(address)
        status, client.session, _, _ = client.greet()
        assert status == OK
        return client

    def ask(self, message):
        """Sends a control message."""
        self.send(frame(message))

    def begin_push(self, files, model="ns/raw", announced=None, add=False):
        """A push up to `ready`: files are [(path, size)] or whole entries."""
        self.ask({"type": "push", "model": model})
        self.messages_until("end")
        entries = [f if isinstance(f, dict) else entry(*f) for f in files]
        total = sum(e["size"] for e in entries if isinstance(e["size"], int))
        count = len(entries) if announced is None else announced
        self.plan(count, total, add)
        for start in range(0, len(entries), 500):
            self.ask({"type": "files", "files": entries[start:start + 500]})
        self.ask({"type": "go"})

    def plan(self, files, size, add=False):
        """Announces the listing of a push."""
        self.ask({"type": "plan", "files": files, "bytes": size, "missing_files": 0, "missing_bytes": 0, "add": add})

    def data_connection(self, stream=0):
        """A data connection of this session."""
        host, port = self.sock.getpeername()[:2]
        data = RawClient(f"{host}:{port}")
        status, _, _, _ = data.greet(role=DATA_ROLE, session=self.session, stream=stream)
        assert status == OK
        return data


def entry(path, size, mtime=1_700_000_000, nsec=0, from_="send", **more):
    """A file in a listing. A path of bytes travels in hexadecimal."""
    place = {"path_hex": path.hex()} if isinstance(path, bytes) else {"path": path}
    return {**place, "size": size, "mtime": mtime, "nsec": nsec, **({"from": from_} if from_ else {}), **more}


class FakeServer:
    """A server whose behaviour is a function: script(wire, role, number) for each connection."""

    def __init__(self, script):
        self.script = script
        self.problems = []
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.sockets = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends everything."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.settimeout(20)
            self.sockets.append(sock)
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock, self.connections - 1), daemon=True).start()

    def _serve(self, sock, number):
        try:
            self.script(Wire(sock), number)
        except (Closed, OSError):
            pass
        except AssertionError as e:
            self.problems.append(e)


def accept_hello(wire, status=OK, session=b"S" * 16, **how):
    """The server's half of the hello; returns (role, session) that the client sent."""
    raw = wire.read(48)
    assert raw[:8] == MAGIC
    version, role, _ = struct.unpack("<HHI", raw[8:16])
    assert version == VERSION
    wire.send(hello_reply(status, session if role == CONTROL else raw[16:32], **how))
    return role, raw[16:32]


class ServedModel:
    """A fake server that serves one pull of {path: bytes}; hooks change what goes out."""

    def __init__(self, files, listing=None, on_want=None, hashes=True):
        self.files = list(files.items())
        self.listing = listing
        self.on_want = on_want or (lambda wire, file, offset, data: wire.send(block(file, offset, data)))
        self.hashes = hashes
        self.wants = []

    def entries(self):
        """The listing as it should be."""
        return [entry(path, len(data), from_=None, **({"hash": self._file_hash(data)} if self.hashes else {}))
                for path, data in self.files]

    @staticmethod
    def _blocks(data):
        return [models.xxh128(data[i:i + BLOCK]) for i in range(0, len(data), BLOCK)] or [models.xxh128(b"")]

    def _file_hash(self, data):
        return models.xxh128(b"".join(self._blocks(data)) + len(data).to_bytes(8, "little")).hex()

    def __call__(self, wire, number):
        role, _ = accept_hello(wire)
        (self._control if role == CONTROL else self._data)(wire)

    def _control(self, wire):
        while True:
            message = wire.message()
            if message["type"] == "pull":
                entries = self.entries() if self.listing is None else self.listing
                wire.send(frame({"type": "files", "files": entries}))
                wire.send(frame({"type": "ready", "streams": 64}))
            elif message["type"] == "hashes":
                self._send_hashes(wire, message["file"])
            else:
                wire.send(frame({"type": "end"}))

    def _send_hashes(self, wire, file):
        if self.hashes:
            text = b"".join(self._blocks(self.files[file][1])).hex()
            wire.send(frame({"type": "blocks", "file": file, "first": 0, "hashes": text}))
        wire.send(frame({"type": "end"}))

    def _data(self, wire):
        sent = 0
        while True:
            kind, _, file, offset, length = wire.header()
            if kind == END:
                wire.send(header(END, offset=sent))
                return
            assert kind == WANT
            self.wants.append((file, offset))
            sent += length
            self.on_want(wire, file, offset, self.files[file][1][offset:offset + length])
