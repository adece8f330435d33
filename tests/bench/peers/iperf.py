"""iperf3: what the link itself carries, in memory, as the reference for namespaces."""

import json

import packages
from peers.base import Command, Peer
from servers import Server

SECONDS = 3


class IperfServer(Server):
    """iperf3 -s."""

    name = "iperf3"

    def words(self):
        return [packages.program("iperf3"), "-s", "-B", self.net.address, "-p", self.port]


class Iperf(Peer):
    """Four streams for some seconds; -R for a pull."""

    name = "iperf3"
    programs = ("iperf3",)
    works = ("single",)
    durable = True
    checked = False

    def command(self, servers, job):
        server, self.result = servers.get(IperfServer), job.scratch / "iperf3.json"
        self.result.unlink(missing_ok=True)
        words = ["iperf3", "-c", server.net.address, "-p", server.port, "-P", 4, "-t", SECONDS, "-J",
                 "--logfile", self.result]
        return Command(words + ([] if job.is_push else ["-R"]), [server.group])

    def outcome(self, job, seconds):
        received = json.loads(self.result.read_text(encoding="utf-8"))["end"]["sum_received"]
        return received["bytes"], received["seconds"]
