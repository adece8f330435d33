"""Networks of one's own for tests: namespaces joined by veth pairs, and what can be wrong with them.

Nothing here knows pytest. Each namespace that is made here is removed here; needs root and iproute2.
"""

import contextlib
import itertools
import os
import shutil
import subprocess

_numbers = itertools.count()


def missing():
    """Why such networks cannot be made here, or "" ."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    return "" if shutil.which("ip") else "network namespaces need iproute2"


def run(*words):
    """A command that has to work."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}"


class Net:
    """Namespaces by the letters of `sides`: `with Net("sc") as net`, then link(), and enter() before a command."""

    def __init__(self, sides):
        mark = f"mt{os.getpid()}x{next(_numbers)}"  # also in the names of links: 15 characters at most
        self.names = {side: mark + side for side in sides}

    def __enter__(self):
        try:
            for name in self.names.values():
                run("ip", "netns", "add", name)
                run("ip", "-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def enter(self, side):
        """The words before a command that shall run there."""
        return ["ip", "netns", "exec", self.names[side]]

    def link(self, one, other, net):
        """A pair of interfaces, `other` in `one` and the other way round, with NET.1 and NET.2."""
        run("ip", "link", "add", other, "netns", self.names[one], "type", "veth", "peer", "name", one, "netns",
            self.names[other])
        for side, interface, last in ((one, other, 1), (other, one, 2)):
            self.ip(side, "addr", "add", f"{net}.{last}/24", "dev", interface)
            self.ip(side, "link", "set", interface, "up")

    def ip(self, side, *words):
        """ip(8) on that side."""
        run("ip", "-n", self.names[side], *words)

    def shape(self, rate):
        """Holds every link to that rate, as tc(8) writes it, in both directions."""
        for name in self.names.values():
            shown = subprocess.run(["ip", "-n", name, "-o", "link"], capture_output=True, text=True, check=True).stdout
            for interface in (line.split(": ")[1].split("@")[0] for line in shown.splitlines()):
                if interface != "lo":
                    run("tc", "-n", name, "qdisc", "replace", "dev", interface, "root", "tbf", "rate", rate,
                        "burst", "256kb", "limit", "4mb")

    def write(self, side, path, text):
        """Writes a setting of that side's network below /proc/sys."""
        run(*self.enter(side), "sh", "-c", f"echo {text} > /proc/sys/{path}")


SERVER = "10.213.1.1"  # its address in the networks below


@contextlib.contextmanager
def pair(mtu_server=1500, mtu_client=1500):
    """Server and client (sides `s` and `c`) on one link."""
    with Net("sc") as net:
        net.link("s", "c", "10.213.1")
        net.ip("s", "link", "set", "c", "mtu", str(mtu_server))
        net.ip("c", "link", "set", "s", "mtu", str(mtu_client))
        yield net


@contextlib.contextmanager
def black_hole(narrow, mtu=1280):
    """Server and client with a router between, whose link to `narrow` carries less. It says nothing about that: it
    has no way for what would."""
    with Net("src") as net:
        net.link("s", "r", "10.213.1")
        net.link("c", "r", "10.213.2")
        net.ip("s", "route", "add", "default", "via", "10.213.1.2")
        net.ip("c", "route", "add", "default", "via", "10.213.2.2")
        net.write("r", "net/ipv4/ip_forward", "1")
        net.ip("r", "rule", "add", "ipproto", "icmp", "blackhole")
        net.ip("r", "link", "set", narrow, "mtu", str(mtu))
        yield net
