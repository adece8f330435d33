"""mstore and mstored, with the options of a variant (variants.py); twice, so that a table shows its own noise."""

import json
import os
import re
import select
import subprocess

import build
import processes
from peers.base import Command, Peer
from servers import Server
from variants import PLAIN

TRASH_S = 60


class Mstored(Server):
    """The daemon."""

    name = "mstored"
    programs_folder = build.REPO / "build" / "release"  # set by the bench

    def __init__(self, folder, place, net, variant=PLAIN):
        super().__init__(folder, place, net)
        self.variant = variant

    def words(self):
        words = [build.patched(self.variant.patch, self.programs_folder) / "mstored", "--config", "/dev/null", "--root", self.place.root,
                 "--listen", f"{self.net.address}:0"]
        words += [] if self.net.address.startswith("127.") else ["--no-auth"]
        if self.variant.daemon_env:
            words = ["env", *(f"{name}={value}" for name, value in self.variant.daemon_env)] + words
        return words + list(self.variant.daemon)

    def _stdout(self):
        return self.PIPE

    def _is_ready(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 10)
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.fullmatch(r"mstored ready \S+:(\d+)\n", line)
        if not found:
            raise processes.Failed(f"mstored said {line!r}")
        self.port = int(found[1])
        return True


class Mstore(Peer):
    """A push or pull of one model."""

    name = "mstore"
    durable = True

    def __init__(self, variant=PLAIN):
        self.variant = variant
        if variant is not PLAIN:
            self.name = variant.name

    def server(self, servers):
        """The daemon with this variant's options; all variants with the same ones share it."""
        key = "-".join(["mstored", self.variant.patch, *self.variant.daemon, *map("=".join, self.variant.daemon_env)])
        return servers.get(Mstored, re.sub(r"[^\w.=-]", "_", key), variant=self.variant)

    def words(self, servers, *arguments):
        """A command line of the client."""
        server = self.server(servers)
        programs = build.patched(self.variant.patch, Mstored.programs_folder)
        return [programs / "mstore", "-s", f"{server.net.address}:{server.port}", *arguments]

    def command(self, servers, job):
        options = [*self.variant.client, *(self.variant.push if job.is_push else self.variant.pull)]
        places = [job.source, job.served] if job.is_push else [job.served, job.destination]
        words = self.words(servers, job.direction, *places, "--progress", "none", *options)
        return Command(words, [self.server(servers).group], env=dict(self.variant.client_env))

    def missing(self):
        return []

    def versions(self):
        done = subprocess.run([Mstored.programs_folder / "mstore", "--version"], stdout=subprocess.PIPE, check=True)
        return {"mstore": done.stdout.decode().strip()}

    def prepare(self, servers, content, path):
        """The daemon hashes the model once, as it would have been by a push."""
        self.ask(servers, "verify", path.relative_to(servers.place.root))

    def ask(self, servers, *arguments):
        """Runs the client outside of any measurement, where the other side is; its standard output."""
        group, log = self.server(servers).group, servers.folder / "mstore.log"
        with open(servers.folder / "answer", "w+b") as answer:
            process = processes.spawn(self.words(servers, *arguments), group, servers.net.client, log,
                                      processes.environment(servers.folder), stdout=answer)
            status = processes.wait(process, 3600).status
            if status != 0:
                raise processes.Failed(f"mstore {arguments[0]} ended with {status}: {processes.tail(log)}")
            answer.seek(0)
            return answer.read().decode()

    def clear(self, servers, job):
        """A pushed model is removed by mstore, and the daemon is through with removing it."""
        if job.is_push and job.destination.exists():
            self.ask(servers, "rm", "-y", job.served)
            trash = job.place.root / ".mstore" / "trash"
            processes.wait_until(lambda: not any(names for _, _, names in os.walk(trash)), "the trash is empty",
                                 TRASH_S)
        else:
            super().clear(servers, job)

    def models(self, servers):
        """The names that `ls` lists."""
        return [model["name"] for model in json.loads(self.ask(servers, "ls", "--json"))["models"]]


class MstoreAgain(Mstore):
    """The A/A row: the same as mstore, so any difference between the two is noise."""

    name = "mstore-again"
