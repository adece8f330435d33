"""A server of one peer: its own configuration in a temporary folder, a free port, a group, and its end by pid."""

import getpass
import socket
import subprocess
from pathlib import Path

import processes
import sides


def free_port():
    """A port that nothing uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Subclasses write their configuration and say the command line."""

    name = ""
    programs = ()  # which Debian's packages have to be there for

    def __init__(self, folder, place, net):
        self.folder, self.place, self.net = Path(folder), place, net
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.user = getpass.getuser()
        self.group = sides.make_group(self.folder.name)
        self.process = None

    @property
    def log(self):
        """Where its standard error goes."""
        return self.folder / "log"

    def words(self):
        """Writes the configuration; the command line, in the foreground."""
        raise NotImplementedError

    def start(self):
        """Starts it and waits until it listens."""
        try:
            self.process = processes.spawn(self.words(), self.group, self.net.server, self.log,
                                           processes.environment(self.folder), stdout=self._stdout())
            processes.wait_until(self._is_ready, f"{self.name} listens on port {self.port}")
        except BaseException as why:
            self.stop()
            if isinstance(why, processes.Failed):
                raise processes.Failed(f"{why}; {processes.tail(self.log)}") from None
            raise
        return self

    def _stdout(self):
        return None

    def _is_ready(self):
        if self.process.poll() is not None:
            raise processes.Failed(f"{self.name} ended with {self.process.returncode}")
        return self.is_listening()

    def is_listening(self):
        """Whether a socket of its network listens on its port; asked without a connection."""
        mark = f":{self.port:04X} "
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{self.process.pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and (fields[1] + " ").endswith(mark):
                    return True
        return False

    def stop(self):
        """Ends it and all that it started, also what has a session of its own."""
        if self.process is not None:
            family = self.group.pids()
            processes.end(self.process)
            processes.kill_all(family)
            if self.process.stdout is not None:
                self.process.stdout.close()
        self.group.close()

    PIPE = subprocess.PIPE


class Servers:
    """Those of one place and network, each started when it is first asked for: `with Servers(...) as servers`."""

    def __init__(self, folder, place, net):
        self.folder, self.place, self.net = Path(folder), place, net
        self.running = {}
        self.count = 0

    def get(self, kind, key=None, **how):
        """The server of a class; the same one for the same key."""
        key = key or kind.name
        if key not in self.running:
            self.count += 1
            self.running[key] = kind(self.folder / f"{self.count:04}-{key}", self.place, self.net, **how).start()
        return self.running[key]

    def stop(self, key):
        """Ends one, if it runs."""
        if key in self.running:
            self.running.pop(key).stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for key in list(self.running):
            self.stop(key)
