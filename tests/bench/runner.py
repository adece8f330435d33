"""One timed run: the source brought into its state, memory touched, the transfer timed, the bytes compared."""

import time
from dataclasses import dataclass

import content
import firsttouch
import pagecache
import processes
import sides

TIMEOUT_S = 1800
PROGRAMS = 128 << 20  # memory that the programs of both sides take for themselves
SETTLE_S = 0.05  # what a server still does when its client has gone counts as well


@dataclass
class Runner:
    """Runs jobs of one setting; `client` is the group of the client's side."""
    servers: object
    client: object
    cache: str = "warm"
    sync: object = None  # the command that makes durable what has arrived, where that is a disk

    def run(self, peer, job):
        """The record of one run, with all that was measured."""
        peer.clear(self.servers, job)
        try:
            return self._measured(peer, job)
        finally:
            peer.clear(self.servers, job)

    def _measured(self, peer, job):
        command = peer.command(self.servers, job)
        cached = self._source_made_ready(job)
        if self.sync:
            job.place.settle()
        firsttouch.touch(job.size + PROGRAMS)
        before = self._cpu(command)
        with sides.PeakWatch(client=[self.client], server=command.groups) as peaks:
            seconds = self._timed(peer, job, command)
            time.sleep(SETTLE_S)
        after = self._cpu(command)
        carried, seconds = peer.outcome(job, seconds)
        self._check(peer, job)
        return {"peer": peer.name, "bytes": carried, "files": job.files, "seconds": seconds, "cached": cached,
                "client_cpu": after[0] - before[0], "server_cpu": after[1] - before[1],
                "client_peak": peaks.peak("client"), "server_peak": peaks.peak("server")}

    def _source_made_ready(self, job):
        (pagecache.warm if self.cache == "warm" else pagecache.drop)(job.source)
        return pagecache.share(job.source)

    def _timed(self, peer, job, command):
        began = time.monotonic()
        self._finish(command.words, self.client, env=command.env, cwd=command.cwd)
        if command.last:
            command.last()
        if self.sync and not peer.durable:
            self._finish(self.sync, command.groups[0] if job.is_push else self.client)
        return time.monotonic() - began

    def _finish(self, words, group, env=None, cwd=None):
        log = self.servers.folder / "client.log"
        log.unlink(missing_ok=True)
        process = processes.spawn(words, group, self.servers.net.client, log,
                                  processes.environment(self.servers.folder, env), cwd=cwd)
        ended = processes.wait(process, TIMEOUT_S)
        group.ended(process.pid, ended.cpu_seconds)
        if ended.status != 0:
            raise processes.Failed(f"{words[0]} ended with {ended.status}: {processes.tail(log)}")

    def _cpu(self, command):
        return self.client.cpu_seconds(), sum(group.cpu_seconds() for group in command.groups)

    @staticmethod
    def _check(peer, job):
        wrong = content.difference(job.source, job.destination) if peer.checked else None
        if wrong:
            raise processes.Failed(f"{peer.name}: what arrived is not what was sent: {wrong}")
