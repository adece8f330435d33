"""socat: the bytes of one file through one TCP connection, and nothing else."""

import packages
import pagecache
import processes
from peers.base import Command, Peer
from servers import Server

BUFFER = 256 * 1024  # its default of 8 KB is far slower


class Listener(Server):
    """Waits for one connection, then copies and ends."""

    name = "socat"

    def __init__(self, folder, place, net, path=None, receives=False):
        super().__init__(folder, place, net)
        self.path, self.receives = path, receives

    def words(self):
        net = f"TCP-LISTEN:{self.port},bind={self.net.address},reuseaddr"
        ends = [net, f"OPEN:{self.path},creat,trunc,wronly"] if self.receives else [f"OPEN:{self.path},rdonly", net]
        return [packages.program("socat"), "-u", "-b", BUFFER, *ends]

    def wait(self):
        """Until it has ended by itself."""
        ended = processes.wait(self.process, 3600)
        self.group.ended(self.process.pid, ended.cpu_seconds)
        if ended.status != 0:
            raise processes.Failed(f"socat's server ended with {ended.status}: {processes.tail(self.log)}")


class Socat(Peer):
    """For the workload single only."""

    name = "socat"
    programs = ("socat",)
    works = ("single",)

    def command(self, servers, job):
        name = pagecache.files_below(job.source)[0].rpartition("/")[2]
        job.destination.mkdir(parents=True)
        server_file = (job.destination if job.is_push else job.source) / name
        self._forget(servers)
        server = servers.get(Listener, path=server_file, receives=job.is_push)
        net = f"TCP:{server.net.address}:{server.port}"
        ends = ([f"OPEN:{job.source / name},rdonly", net] if job.is_push
                else [net, f"OPEN:{job.destination / name},creat,trunc,wronly"])
        return Command(["socat", "-u", "-b", BUFFER, *ends], [server.group], last=server.wait)

    def clear(self, servers, job):
        self._forget(servers)
        super().clear(servers, job)

    def _forget(self, servers):
        servers.stop(Listener.name)
