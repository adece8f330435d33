"""The network between the two sides: loopback, or two namespaces and a link of 10 Gbit/s.

The link is a veth pair with the usual MTU of 1500, each end limited by a token bucket (tbf). What it really carries
is measured by iperf3 in the same rounds.
"""

import os
import subprocess
import zlib

import packages
import processes

RATE = "10gbit"
BURST = "2mb"  # several of the largest segments (64 KB) and what 10 Gbit/s are in a timer tick
LIMIT = "16mb"


class Loopback:
    """This machine with itself."""

    name = "loopback"
    address = "127.0.0.1"
    server = client = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Namespaces:
    """Two namespaces; `server` and `client` are descriptors to enter them by."""

    name = "netns"
    address = "10.199.0.1"

    def __init__(self, folder):
        mark = f"{zlib.crc32(str(folder).encode()) & 0xffffff:06x}"
        self.names = [f"mbs{mark}", f"mbc{mark}"]  # also the names of the links: 15 characters at most
        self.server = self.client = None

    def __enter__(self):
        if os.geteuid() != 0 or packages.missing(["ip", "tc"]):
            raise processes.Failed("network namespaces need root and iproute2")
        self._remove()
        try:
            self._create()
        except BaseException:
            self._remove()
            raise
        return self

    def _create(self):
        server, client = self.names
        for name in self.names:
            _command("ip", "netns", "add", name)
        _command("ip", "link", "add", server, "netns", server, "type", "veth", "peer", "name", client, "netns", client)
        for name, address in ((server, self.address), (client, "10.199.0.2")):
            _command("ip", "-n", name, "addr", "add", f"{address}/24", "dev", name)
            for link in ("lo", name):
                _command("ip", "-n", name, "link", "set", link, "up")
            _command("tc", "-n", name, "qdisc", "add", "dev", name, "root", "tbf", "rate", RATE, "burst", BURST,
                     "limit", LIMIT)
        self.server, self.client = (os.open(f"/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in self.names)

    def __exit__(self, *_):
        for descriptor in (self.server, self.client):
            os.close(descriptor)
        self._remove()

    def _remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def _command(*words):
    done = subprocess.run([packages.program(words[0]), *words[1:]], check=False, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise processes.Failed(f"{' '.join(words)}: {done.stderr.decode().strip()}")


def make(name, folder):
    """The network of that name."""
    return Loopback() if name == "loopback" else Namespaces(folder)
