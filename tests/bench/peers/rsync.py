"""rsync, over ssh and with its own daemon."""

import packages
from peers.base import Command, Peer
from peers.ssh import Sshd
from servers import Server


class Rsyncd(Server):
    """The daemon, with one module that is the root."""

    name = "rsyncd"

    def words(self):
        (self.folder / "rsyncd.conf").write_text(f"""\
address = {self.net.address}
port = {self.port}
use chroot = no
pid file = {self.folder}/pid
lock file = {self.folder}/lock
uid = {self.user}
[store]
path = {self.place.root}
read only = no
""", encoding="utf-8")
        return [packages.program("rsync"), "--daemon", "--no-detach", "--config", self.folder / "rsyncd.conf",
                "--log-file", self.log]


def _command(remote, job, group, *options):
    source, destination = (job.source, remote) if job.is_push else (remote, job.destination)
    return Command(["rsync", "-a", *options, f"{source}/", f"{destination}/"], [group])


class RsyncDaemon(Peer):
    """rsync -a to rsync://; nothing is compressed or encrypted."""

    name = "rsyncd"
    programs = ("rsync",)

    def command(self, servers, job):
        server = servers.get(Rsyncd)
        return _command(f"rsync://{server.net.address}:{server.port}/store/{job.served}", job, server.group)


class RsyncSsh(Peer):
    """rsync -a over ssh."""

    name = "rsync-ssh"
    programs = ("rsync", "sshd", "ssh")

    def command(self, servers, job):
        sshd = servers.get(Sshd)
        return _command(f"store:{job.place.root / job.served}", job, sshd.group, "-e", f"ssh -F {sshd.client_config}")
