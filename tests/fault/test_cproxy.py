"""The fault proxy itself, against an echo server: a tool that does nothing would make every test pass."""

import socket
import threading
import time

import pytest

import cproxy

DATA = bytes(range(256)) * 4096  # 1 MiB


class Echo:
    """Sends back what it gets, on each connection; remembers the sizes of its reads."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.reads = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn:
            try:
                while data := conn.recv(1 << 16):
                    self.reads.append(len(data))
                    conn.sendall(data)
            except OSError:
                pass


@pytest.fixture
def echo():
    """An echo server for one test."""
    server = Echo()
    yield server
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()


def connect(proxy):
    """A connection through the proxy."""
    host, port = proxy.address.split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(proxy, data=DATA):
    """Sends all and ends the sending side; returns what came back and whether a reset ended it."""
    resets = []
    try:
        sock = connect(proxy)
    except ConnectionResetError:
        return b"", True
    with sock:
        sender = threading.Thread(target=_send_and_end, args=(sock, data, resets), daemon=True)
        sender.start()
        got = bytearray()
        try:
            while piece := sock.recv(1 << 16):
                got += piece
        except OSError as e:
            resets.append(e)
        sender.join(10)
    return bytes(got), bool(resets)


def _send_and_end(sock, data, resets):
    try:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
    except OSError as e:
        resets.append(e)  # whichever side reads the socket's error first takes it


def test_without_rules_everything_passes_and_is_counted(echo):
    with cproxy.Proxy(echo.address) as proxy:
        assert exchange(proxy) == (DATA, False)
        assert exchange(proxy, b"short") == (b"short", False)
        assert [link.counts for link in proxy.links] == [
            {"c2s": len(DATA), "s2c": len(DATA)}, {"c2s": 5, "s2c": 5}]


def test_cut_resets_behind_the_byte(echo):
    with cproxy.Proxy(echo.address, [cproxy.cut(300_000, dir="s2c")]) as proxy:
        got, reset = exchange(proxy)
        assert reset
        assert DATA.startswith(got) and len(got) <= 300_000
        assert proxy.bytes("s2c") == 300_000


def test_fin_closes_cleanly_behind_the_byte(echo):
    with cproxy.Proxy(echo.address, [cproxy.fin(300_000, dir="s2c")]) as proxy:
        assert exchange(proxy) == (DATA[:300_000], False)


def test_flip_inverts_one_bit_of_one_byte(echo):
    with cproxy.Proxy(echo.address, [cproxy.flip(70_001, dir="c2s")]) as proxy:
        got, _ = exchange(proxy)
    wrong = [i for i, (a, b) in enumerate(zip(DATA, got)) if a != b]
    assert wrong == [70_001] and len(got) == len(DATA)
    assert got[70_001] ^ DATA[70_001] == 1


def test_hole_holds_and_goes_on_after_release(echo):
    hole = cproxy.hole(1000, dir="c2s")
    with cproxy.Proxy(echo.address, [hole]) as proxy, connect(proxy) as sock:
        sock.sendall(DATA[:5000])
        assert hole.hit.wait(5)
        sock.settimeout(0.3)
        got = b""
        with pytest.raises(TimeoutError):
            while True:
                got += sock.recv(5000)
        assert got == DATA[:1000]
        hole.release()
        sock.settimeout(5)
        while len(got) < 5000:
            got += sock.recv(5000)
        assert got == DATA[:5000]


def test_hold_stops_before_the_piece_with_the_words(echo):
    hold = cproxy.hold(b"magic", dir="s2c")
    with cproxy.Proxy(echo.address, [hold]) as proxy, connect(proxy) as sock:
        sock.sendall(b"one")
        assert sock.recv(10) == b"one"
        sock.sendall(b"two magic words")
        assert hold.hit.wait(5)
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(10)
        hold.release()
        sock.settimeout(5)
        assert sock.recv(20) == b"two magic words"


def test_rules_concern_only_their_connection_and_as_often_as_told(echo):
    with cproxy.Proxy(echo.address, [cproxy.cut(10, conn=1), cproxy.cut(20, conn=(3, 4, 5), times=1)]) as proxy:
        resets = [exchange(proxy)[1] for _ in range(6)]
    assert resets == [False, True, False, True, False, False]


def test_rate_is_kept(echo):
    with cproxy.Proxy(echo.address, [cproxy.rate(2_000_000, dir="c2s")]) as proxy:
        start = time.monotonic()
        assert exchange(proxy) == (DATA, False)
        seconds = time.monotonic() - start
    assert 0.45 < seconds < 1.5


def test_dribble_delivers_single_bytes(echo):
    with cproxy.Proxy(echo.address, [cproxy.dribble(1)]) as proxy:
        assert exchange(proxy, DATA[:3000]) == (DATA[:3000], False)
    assert min(echo.reads) == 1 and len(echo.reads) > 300


def test_glue_joins_pieces(echo):
    with cproxy.Proxy(echo.address, [cproxy.glue(0.2, dir="c2s")]) as proxy, connect(proxy) as sock:
        for piece in (b"one ", b"two ", b"three"):
            sock.sendall(piece)
            time.sleep(0.02)
        got = b""
        while len(got) < 13:
            got += sock.recv(20)
    assert got == b"one two three" and len(echo.reads) <= 2


def test_cut_now_and_refused_target(echo):
    with cproxy.Proxy(echo.address) as proxy, connect(proxy) as sock:
        sock.sendall(b"x")
        assert sock.recv(1) == b"x"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    with cproxy.Proxy("127.0.0.1:1") as proxy:
        assert exchange(proxy) == (b"", True)
