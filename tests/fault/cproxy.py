#!/usr/bin/python3
"""A TCP proxy that misbehaves on purpose, between a client and a daemon.

As a module:
    with Proxy("127.0.0.1:7420", [cut(5_000_000, conn=3)]) as proxy:
        run_client(proxy.address)
        assert len(proxy.links) == 5 and proxy.bytes("c2s") > 5_000_000

As a command (prints `cproxy ready HOST:PORT`; at SIGTERM or SIGINT the counts, as JSON):
    cproxy.py --to 127.0.0.1:7420 --cut-after 5000000 --conn 3 --dir c2s

Connections count from 0 in the order of their arrival; a session's control connection comes before
its data connections. c2s is what the client sends, s2c what the daemon sends. Each direction of each
connection has a thread of its own, which waits in poll() only, so that a link can be cut at any time.
Bytes without a rule are spliced and never enter this process.
"""

import argparse
import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

PIECE = 1 << 20
SMALL_BUFFER = 1 << 16
C2S, S2C = "c2s", "s2c"
F_SETPIPE_SZ = 1031
SPLICE_FLAGS = 1 | 2  # SPLICE_F_MOVE | SPLICE_F_NONBLOCK


class Rule:
    """One fault: what happens, behind which byte, and on which connections and directions."""

    def __init__(self, action, value=0, conn=None, dir=None, match=None, times=None):
        self.action, self.value, self.match = action, value, match
        self.conns = None if conn is None else {conn} if isinstance(conn, int) else set(conn)
        self.dir = dir
        self.times = times  # applied at most so often, None is always
        self.hit = threading.Event()  # set when the fault first happened
        self.hits = 0
        self.released = False

    def concerns(self, link, direction):
        """Whether this rule applies there (a rule used up does not)."""
        if self.times is not None and self.hits >= self.times:
            return False
        return (self.conns is None or link.number in self.conns) and self.dir in (None, direction)

    def happened(self):
        """Counts one application."""
        self.hits += 1
        self.hit.set()

    def release(self):
        """Lets a hole or a hold go on."""
        self.released = True


def cut(after=0, **where):
    """RST on both sides behind `after` bytes of a direction."""
    return Rule("cut", after, **where)


def fin(after=0, **where):
    """A clean close of both sides behind `after` bytes."""
    return Rule("fin", after, **where)


def hole(after=0, **where):
    """Nothing more is forwarded behind `after` bytes; the sockets stay open until release()."""
    return Rule("hole", after, **where)


def hold(match, **where):
    """As hole, from the piece on in which the bytes `match` are seen."""
    return Rule("hold", match=match, **where)


def flip(at, **where):
    """The lowest bit of byte `at` (from 0) of a direction is inverted."""
    return Rule("flip", at, **where)


def rate(bytes_per_s, **where):
    """A direction carries at most so many bytes a second."""
    return Rule("rate", bytes_per_s, **where)


def dribble(size=1, **where):
    """Forwarded in writes of `size` bytes."""
    return Rule("dribble", size, **where)


def glue(seconds=0.02, **where):
    """What arrives is collected for so long and forwarded in one write."""
    return Rule("glue", seconds, **where)


class Ended(Exception):
    """This link is over; the pump that sees it returns."""


class Link:
    """One accepted connection, its counterpart at the daemon, and a thread for each direction."""

    def __init__(self, proxy, number, client):
        self.proxy, self.number = proxy, number
        self.counts = {C2S: 0, S2C: 0}
        self.client, self.server = client, None
        self.ending = None  # None, "fin" or "cut"
        self.wake_r, self.wake_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.threads = []

    def start(self):
        """Connects to the daemon and starts forwarding; a refused connection resets the client."""
        try:
            self.server = socket.create_connection(self.proxy.target, timeout=10)
        except OSError:
            self.ending = "cut"
            self._close()
            return
        for sock in (self.client, self.server):
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._is_slow():
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
        pumps = [Pump(self, C2S, self.client, self.server), Pump(self, S2C, self.server, self.client)]
        self._running = len(pumps)
        self.threads = [threading.Thread(target=self._run, args=(pump,), daemon=True) for pump in pumps]
        for thread in self.threads:
            thread.start()

    def _is_slow(self):
        return any(r.action == "rate" and r.concerns(self, d)
                   for r in self.proxy.rules for d in (C2S, S2C))

    @property
    def is_open(self):
        """Whether its sockets are still open."""
        return self.client.fileno() >= 0

    def end(self, how):
        """Ends both directions: how is "cut" (RST) or "fin"."""
        with self.proxy.lock:
            if self.ending != "cut":
                self.ending = how
            if self.wake_w >= 0:
                os.write(self.wake_w, b"x")

    def _run(self, pump):
        try:
            pump.run()
        except Ended:
            if self.ending == "fin":
                pump.drain()
        except OSError as e:
            # Without one of its ends a link is worthless: the other end is reset as well.
            if e.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT, errno.ENOTCONN):
                sys.stderr.write(f"cproxy: link {self.number} {pump.direction}: {e}\n")
            self.end("cut")
        finally:
            pump.close()
            with self.proxy.lock:
                self._running -= 1
                last = self._running == 0
            if last:
                self._close()

    def _close(self):
        with self.proxy.lock:
            for sock in (self.client, self.server):
                if sock is None:
                    continue
                if self.ending == "cut":
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            os.close(self.wake_r)
            os.close(self.wake_w)
            self.wake_r = self.wake_w = -1


class Pump:
    """One direction of a link."""

    def __init__(self, link, direction, source, sink):
        self.link, self.direction, self.source, self.sink = link, direction, source, sink
        self.pipe_r, self.pipe_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.fcntl(self.pipe_w, F_SETPIPE_SZ, PIECE)
        except OSError:
            pass  # the pipe keeps its 64 KB
        self.done = set()  # rules that were applied here
        self.tail = b""

    @property
    def count(self):
        """Bytes forwarded in this direction."""
        return self.link.counts[self.direction]

    def close(self):
        """Gives the pipe back."""
        os.close(self.pipe_r)
        os.close(self.pipe_w)

    def run(self):
        """Forwards until the source ends."""
        while self._step():
            pass
        self.sink.shutdown(socket.SHUT_WR)

    def drain(self):
        """Closes the sink cleanly, which asks that nothing unread is left in the source at the end."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        try:
            self.sink.shutdown(socket.SHUT_WR)
            while self.link.ending == "fin":
                if poll.poll(50) and not self.source.recv(PIECE):
                    return
        except OSError:
            pass  # the peer is gone, which is as good as an end

    def _rules(self, *actions):
        return [r for r in self.link.proxy.rules
                if r.action in actions and r not in self.done and r.concerns(self.link, self.direction)]

    def _step(self):
        """Forwards one piece, at most up to the next fault; False at the end of the source."""
        room = PIECE
        for rule in self._rules("cut", "fin", "hole", "flip"):
            ahead = rule.value - self.count
            if ahead <= 0:
                return self._strike(rule)
            room = min(room, ahead)
        self._wait(self.source, select.POLLIN)
        shaped = self._rules("rate", "dribble", "glue", "hold")
        if shaped:
            return self._forward_shaped(shaped, room)
        return self._splice(room)

    def _strike(self, rule):
        """The fault itself, exactly behind rule.value bytes."""
        self.done.add(rule)
        if rule.action == "flip":
            return self._flip(rule)
        rule.happened()
        if rule.action in ("cut", "fin"):
            self.link.end(rule.action)
            raise Ended
        self._hold(rule)
        return True

    def _flip(self, rule):
        if self.count > rule.value:
            return True  # the rule came too late for this connection
        self._wait(self.source, select.POLLIN)
        data = self.source.recv(1)
        if not data:
            return False
        rule.happened()
        self._send(bytes([data[0] ^ 1]))
        return True

    def _hold(self, rule):
        while not rule.released:
            self._pause(0.02)

    def _splice(self, room):
        try:
            got = os.splice(self.source.fileno(), self.pipe_w, room, flags=SPLICE_FLAGS)
        except BlockingIOError:
            return True
        left = got
        while left:
            self._wait(self.sink, select.POLLOUT)
            try:
                sent = os.splice(self.pipe_r, self.sink.fileno(), left, flags=SPLICE_FLAGS)
            except BlockingIOError:
                continue
            left -= sent
            self.link.counts[self.direction] += sent
        return got > 0

    def _forward_shaped(self, rules, room):
        rule = {r.action: r for r in rules}
        if "glue" in rule:
            self._pause(rule["glue"].value)
        if "rate" in rule:
            room = min(room, max(1, int(rule["rate"].value / 50)))
        data = self.source.recv(room)
        if "hold" in rule:
            self._look_for(rule["hold"], data)
        piece = int(rule["dribble"].value) if "dribble" in rule else len(data)
        for start in range(0, len(data), piece or 1):
            self._send(data[start:start + piece])
        if "rate" in rule:
            self._pause(len(data) / rule["rate"].value)
        for r in rules:
            if r.action != "hold" and not r.hits:
                r.happened()
        return len(data) > 0

    def _look_for(self, rule, data):
        seen = self.tail + data
        self.tail = seen[-len(rule.match):]
        if rule.match in seen:
            self.done.add(rule)
            rule.happened()
            self._hold(rule)

    def _send(self, data):
        view = memoryview(data)
        while view:
            self._wait(self.sink, select.POLLOUT)
            try:
                sent = self.sink.send(view)
            except BlockingIOError:
                continue
            view = view[sent:]
            self.link.counts[self.direction] += sent

    def _wait(self, sock, event):
        """Waits until the socket is ready; raises Ended when the link is over."""
        poll = select.poll()
        poll.register(sock, event)
        poll.register(self.link.wake_r, select.POLLIN)
        poll.poll()
        if self.link.ending:
            raise Ended

    def _pause(self, seconds):
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            select.select([self.link.wake_r], [], [], max(0, left))
            if self.link.ending:
                raise Ended
            if left <= 0:
                return


class Proxy:
    """Listens on a free port and forwards each connection to `target` under the rules."""

    def __init__(self, target, rules=(), listen="127.0.0.1:0"):
        self.target = _address(target)
        self.rules = list(rules)
        self.links = []
        self.lock = threading.RLock()
        self._listener = socket.create_server(_address(listen), backlog=1024)
        self._listener.setblocking(False)
        self._stop_r, self._stop_w = os.pipe2(os.O_CLOEXEC)
        self.address = "%s:%d" % self._listener.getsockname()[:2]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, *rules):
        """Adds rules for what is forwarded from now on; returns the last one."""
        self.rules = self.rules + list(rules)
        return rules[-1]

    def clear(self):
        """Takes all rules away and lets held links go on."""
        for rule in self.rules:
            rule.release()
        self.rules = []

    def bytes(self, direction=None, conn=None):
        """Bytes forwarded, of one direction or both, of one connection or all."""
        links = self.links if conn is None else [self.links[conn]]
        return sum(n for link in links for d, n in link.counts.items() if direction in (None, d))

    def cut(self):
        """Resets every link that is open now."""
        for link in self.open_links():
            link.end("cut")

    def open_links(self):
        """The links whose sockets are open."""
        return [link for link in list(self.links) if link.is_open]

    def counts(self):
        """All counts as plain data."""
        return {"connections": len(self.links), "links": [link.counts for link in self.links]}

    def close(self):
        """Stops listening, resets what is open and waits for every thread."""
        if self._stop_w < 0:
            return
        os.write(self._stop_w, b"x")
        self._thread.join(10)
        self._listener.close()
        self.cut()
        for link in self.links:
            for thread in link.threads:
                thread.join(10)
        os.close(self._stop_r)
        os.close(self._stop_w)
        self._stop_r = self._stop_w = -1

    def _accept(self):
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._stop_r, select.POLLIN)
        while True:
            if any(fd == self._stop_r for fd, _ in poll.poll()):
                return
            try:
                client, _ = self._listener.accept()
            except OSError:
                continue
            link = Link(self, len(self.links), client)
            self.links.append(link)
            link.start()


def _address(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _parse(argv):
    p = argparse.ArgumentParser(description="A TCP proxy that misbehaves on purpose.")
    p.add_argument("--to", required=True, metavar="HOST:PORT", help="where connections go on")
    p.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    p.add_argument("--cut-after", type=int, metavar="N", help="RST behind N bytes")
    p.add_argument("--fin-after", type=int, metavar="N", help="clean close behind N bytes")
    p.add_argument("--hole-after", type=int, metavar="N", help="forward nothing behind N bytes")
    p.add_argument("--flip", type=int, metavar="N", help="invert one bit of byte N")
    p.add_argument("--rate", type=float, metavar="B", help="bytes a second, each connection")
    p.add_argument("--dribble", type=int, metavar="B", help="bytes a write")
    p.add_argument("--glue", type=float, metavar="S", help="collect for S seconds before each write")
    p.add_argument("--conn", type=int, metavar="K", help="only the K-th connection, from 0")
    p.add_argument("--dir", choices=(C2S, S2C), help="only this direction")
    return p.parse_args(argv)


def _rules(args):
    makers = {"cut_after": cut, "fin_after": fin, "hole_after": hole, "flip": flip,
              "rate": rate, "dribble": dribble, "glue": glue}
    return [make(getattr(args, name), conn=args.conn, dir=args.dir)
            for name, make in makers.items() if getattr(args, name) is not None]


def main(argv=None):
    """The command: runs until a signal comes."""
    args = _parse(argv)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with Proxy(args.to, _rules(args), args.listen) as proxy:
        print(f"cproxy ready {proxy.address}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
        counts = proxy.counts()
    print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
