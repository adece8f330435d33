"""sshd with a configuration, keys and port of its own, and scp."""

import contextlib
import os
import subprocess
from pathlib import Path

import packages
from peers.base import Command, Peer
from servers import Server

SEPARATION = Path("/run/sshd")


class Sshd(Server):
    """Takes one key and nothing else; ciphers and the rest as they come. The shell finds no settings of the user's."""

    name = "sshd"
    made = False  # whether SEPARATION is of our making

    def words(self):
        for key in ("host_key", "client_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        os.replace(self.folder / "client_key.pub", self.folder / "authorized_keys")
        if os.geteuid() == 0:
            self.made = not SEPARATION.exists()
            SEPARATION.mkdir(mode=0o755, exist_ok=True)  # sshd wants it; Debian's unit makes it at boot
        (self.folder / "sshd_config").write_text(f"""\
ListenAddress {self.net.address}:{self.port}
HostKey {self.folder}/host_key
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
SetEnv HOME={self.folder}
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
""", encoding="utf-8")
        host = (self.folder / "host_key.pub").read_text(encoding="ascii")
        (self.folder / "known_hosts").write_text(f"[{self.net.address}]:{self.port} {host}", encoding="ascii")
        self.client_config.write_text(f"""\
Host store
  HostName {self.net.address}
  Port {self.port}
  User {self.user}
  IdentityFile {self.folder}/client_key
  IdentitiesOnly yes
  UserKnownHostsFile {self.folder}/known_hosts
  BatchMode yes
""", encoding="utf-8")
        return [packages.program("sshd"), "-D", "-e", "-f", self.folder / "sshd_config"]

    def stop(self):
        super().stop()
        if self.made:
            with contextlib.suppress(OSError):
                SEPARATION.rmdir()

    @property
    def client_config(self):
        """What `ssh -F` takes to reach it as `store`."""
        return self.folder / "ssh_config"


class Scp(Peer):
    """scp -r, as it comes (by the SFTP protocol since OpenSSH 9)."""

    name = "scp"
    programs = ("sshd", "ssh", "scp")

    def command(self, servers, job):
        sshd = servers.get(Sshd)
        remote = f"store:{job.place.root / job.served}"
        places = [job.source, remote] if job.is_push else [remote, job.destination]
        return Command(["scp", "-q", "-r", "-F", sshd.client_config, *places], [sshd.group])
