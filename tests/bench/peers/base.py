"""What a peer is: a way to get a folder from one side to the other, described so that a runner can time it."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import packages


@dataclass(frozen=True)
class Job:
    """One transfer: push is from the client's folder to the server's, pull the other way round."""
    direction: str
    source: Path
    destination: Path
    files: int
    size: int
    place: object
    net: object
    scratch: Path  # a folder for lists and results, not measured

    @property
    def is_push(self):
        """Whether the server receives."""
        return self.direction == "push"

    @property
    def served(self):
        """The server's folder of the two, relative to its root."""
        return (self.destination if self.is_push else self.source).relative_to(self.place.root)


@dataclass
class Command:
    """What the client runs, and the groups that make up the server's side."""
    words: list
    groups: list
    cwd: Path = None
    env: dict = field(default_factory=dict)
    last: object = None  # called when the client has ended, within the time: waits until the server is through


class Peer:
    """Subclasses say what they can do and with which command."""

    name = ""
    programs = ()
    directions = ("push", "pull")
    works = ("single", "model", "small")
    durable = False  # whether its success means that the bytes are on the disk
    checked = True   # whether bytes arrive that can be compared

    def command(self, servers, job):
        """Starts the server where it does not run yet, writes lists, and returns the Command."""
        raise NotImplementedError

    def missing(self):
        """What of its programs is not installed."""
        return packages.missing(self.programs)

    def versions(self):
        """{program: version}."""
        return {name: packages.version(name) for name in self.programs}

    def prepare(self, servers, content, path):
        """What has to be done once with a source on the server's side; nothing for who serves plain files."""

    def clear(self, servers, job):
        """Removes what a run has left at the destination."""
        shutil.rmtree(job.destination, ignore_errors=True)

    def outcome(self, job, seconds):  # pylint: disable=unused-argument
        """What a run has carried, for peers that measure it themselves: (bytes, seconds)."""
        return job.size, seconds
