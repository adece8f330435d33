"""rclone from sshd (both ways) and from nginx (pull), with its defaults but one.

By SFTP it would start a shell on the server to hash each file again, which decides all for small ones: not here.
"""

from peers.base import Command, Peer
from peers.ssh import Sshd
from peers.web import Nginx


class RcloneSftp(Peer):
    """rclone copy by SFTP."""

    name = "rclone-sftp"
    programs = ("rclone", "sshd", "ssh")

    def command(self, servers, job):
        sshd = servers.get(Sshd)
        remote = f":sftp:{job.place.root / job.served}"
        places = [job.source, remote] if job.is_push else [remote, job.destination]
        return Command(["rclone", "copy", "-q", "--config", "/dev/null", "--sftp-disable-hashcheck",
                        "--sftp-host", sshd.net.address, "--sftp-port", sshd.port, "--sftp-user", sshd.user,
                        "--sftp-key-file", sshd.folder / "client_key",
                        "--sftp-known-hosts-file", sshd.folder / "known_hosts", *places],
                       [sshd.group])


class RcloneHttp(Peer):
    """rclone copy from a web server."""

    name = "rclone-http"
    programs = ("rclone", "nginx")
    directions = ("pull",)

    def command(self, servers, job):
        server = servers.get(Nginx)
        return Command(["rclone", "copy", "-q", "--config", "/dev/null", "--http-url", server.url(""),
                        f":http:{job.served}", job.destination], [server.group])
