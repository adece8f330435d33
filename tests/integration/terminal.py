"""A client on a pseudo terminal, and what is to be seen there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import SLOWNESS, clean_environment

WIDTH = 80


class Screen:
    """What a terminal shows; enough of one for a bar."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def feed(self, text):
        """Takes what was written to the terminal."""
        for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.", text, re.S):
            if piece.startswith("\x1b"):
                self._escape(piece)
            elif piece == "\r":
                self.column = 0
            elif piece == "\n":
                self.row += 1
                self.column = 0
                self.lines += [""] * (self.row + 1 - len(self.lines))
            else:
                self._put(piece)

    def _escape(self, piece):
        line = self.lines[self.row]
        if piece in ("\x1b[K", "\x1b[0K"):
            self.lines[self.row] = line[:self.column]
        elif piece == "\x1b[2K":
            self.lines[self.row] = ""
        elif piece == "\x1b[H":
            self.row = self.column = 0
        elif piece == "\x1b[J":
            self.lines[self.row:] = [line[:self.column]]
        elif piece == "\x1b[2J":
            self.lines = [""] * len(self.lines)

    def _put(self, char):
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1


class Terminal:
    """Runs a client on a pseudo terminal and keeps what it wrote, with times.

    `answer` is typed at the first question. When `enough` of the text is true the client gets SIGINT.
    """

    def __init__(self, client, args, width=WIDTH, env=None, answer=None, height=24, enough=None):
        self.pieces = []
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        words = client.words(args, client.address, None)
        environment = dict({"TERM": "xterm-256color"}, **(env or {}))
        self.process = subprocess.Popen(words, stdin=child, stdout=child, stderr=child, close_fds=True,
                                        env=clean_environment(client.work, environment), start_new_session=True)
        os.close(child)
        try:
            self._read(parent, answer, enough)
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.status = self.process.wait(10)
            os.close(parent)

    def _read(self, parent, answer, enough):
        deadline = time.monotonic() + 30 * SLOWNESS
        while time.monotonic() < deadline:
            if not select.select([parent], [], [], 1)[0]:
                continue
            try:
                data = os.read(parent, 1 << 16)
            except OSError:
                self.process.wait(10)
                return
            self.pieces.append((time.monotonic(), data.decode("utf-8", "replace")))
            if answer is not None and "?" in self.text:
                os.write(parent, answer)
                answer = None
            if enough is not None and enough(self.text):
                self.process.send_signal(signal.SIGINT)
                enough = None

    @property
    def text(self):
        """All that was written."""
        return "".join(text for _, text in self.pieces)

    def screen(self):
        """What is to be seen at the end."""
        screen = Screen()
        screen.feed(self.text.replace("\r\n", "\n\r"))
        return screen


def visible(text):
    """Without escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
