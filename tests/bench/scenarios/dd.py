"""A push of one file from memory to disk, durable, against dd with direct I/O and a final fsync to the same disk."""

import shutil

import content
import contest
import places
import stats
import targets
from contest import Cell
from peers.dd import DdWrite
from peers.mstore import Mstore, MstoreAgain


def run(bench):
    """One table and one target."""
    bench.report.versions(Mstore().versions())
    made = content.workload(bench.contents, "single", bench.options.size, 0)
    cell = Cell("loopback", "disk", "warm", "single", "push")
    with bench.setting("loopback", "disk") as servers, places.make("memory", bench.folder) as memory:
        source = content.put(made, memory.home / "source")
        job = contest.job_of(servers, source, "push", bench.scratch)
        rows = contest.hold(bench, servers, cell, source, [Mstore(), MstoreAgain(), DdWrite()], job)
        shutil.rmtree(source.path)
    rates = {row["peer"]: dict(enumerate(row["rates"])) for row in rows}
    if {"mstore", "dd"} <= rates.keys():
        targets.show(bench.report, [targets.Target("push to disk, durable: MB/s by dd with direct I/O", 0.9,
                                                   stats.paired(rates["mstore"], rates["dd"]))])
