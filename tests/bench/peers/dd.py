"""dd with direct I/O, the measure for a disk: writing one file to it durably, and reading one from it."""

import pagecache
from peers.base import Command, Peer

BLOCK = "8M"


class DdWrite(Peer):
    """From the source to the destination, both on this machine."""

    name = "dd"
    directions = ("push",)
    works = ("single",)
    durable = True

    def command(self, servers, job):
        job.destination.mkdir(parents=True)
        source = pagecache.files_below(job.source)[0]
        target = job.destination / source.rpartition("/")[2]
        return Command(["dd", f"if={source}", f"of={target}", f"bs={BLOCK}", "oflag=direct", "conv=fsync",
                        "status=none"], [])


class DdRead(Peer):
    """Reads the source, under a throttle, and writes nothing."""

    name = "dd"
    directions = ("pull",)
    works = ("single",)
    durable = True
    checked = False

    def __init__(self, throttle):
        self.throttle = throttle

    def command(self, servers, job):
        source = pagecache.files_below(job.source)[0]
        script = f'echo $$ >"$0" && exec dd if="$1" of=/dev/null bs={BLOCK} iflag=direct status=none'
        return Command(["sh", "-c", script, self.throttle.members, source], [])
