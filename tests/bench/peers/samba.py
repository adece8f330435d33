"""Samba: smbd with one share for everyone, and smbclient."""

import os

import packages
from peers.base import Command, Peer
from servers import Server


class Smbd(Server):
    """SMB 3, no signing or encryption asked for; the rest as Samba's defaults are."""

    name = "smbd"

    def words(self):
        folders = "\n".join(f"{name} = {self.folder}" for name in (
            "private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"))
        (self.folder / "smb.conf").write_text(f"""\
[global]
{folders}
log file = {self.folder}/log.smbd
smb ports = {self.port}
interfaces = {self.net.address}
bind interfaces only = yes
server role = standalone server
server min protocol = SMB3
disable netbios = yes
disable spoolss = yes
load printers = no
map to guest = Bad User
guest account = {self.user}
[store]
path = {self.place.root}
guest ok = yes
read only = no
force user = {self.user}
""", encoding="utf-8")
        return [packages.program("smbd"), "--foreground", "--no-process-group", "-s", self.folder / "smb.conf"]


class Smbclient(Peer):
    """smbclient mput and mget of the folder."""

    name = "smbclient"
    programs = ("smbd", "smbclient")

    def command(self, servers, job):
        server = servers.get(Smbd)
        remote = os.fspath(job.served).replace("/", "\\")
        local = job.source if job.is_push else job.destination
        steps = ["prompt off", "recurse on"]
        if job.is_push:
            steps += [f"mkdir {remote}", f"cd {remote}", f"lcd {local}", "mput *"]
        else:
            local.mkdir()
            steps += [f"cd {remote}", f"lcd {local}", "mget *"]
        return Command(["smbclient", f"//{server.net.address}/store", "-s", "/dev/null", "-N", "-p", server.port,
                        "-m", "SMB3", "-E", "-c", "; ".join(steps)], [server.group])
