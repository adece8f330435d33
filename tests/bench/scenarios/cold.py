"""A pull of one file that is not in the cache, from a throttled disk to memory, against dd under the same throttle."""

import dataclasses
import shutil

import content
import contest
import places
import processes
import targets
import throttle
from contest import Cell
from peers.dd import DdRead
from peers.mstore import Mstore, MstoreAgain


def run(bench):
    """One table and one target; a note where the machine cannot throttle."""
    bench.report.versions(Mstore().versions())
    rate, base = bench.options.throttle, Mstore()
    made = content.workload(bench.contents, "single", bench.options.size, 0)
    cell = Cell("loopback", "disk", "cold", "single", "pull")
    with bench.setting("loopback", "disk") as servers, places.make("memory", bench.folder) as memory:
        source = content.put(made, servers.place.model("single"))
        base.prepare(servers, source, source.path)
        job = dataclasses.replace(contest.job_of(servers, source, "pull", bench.scratch),
                                  destination=memory.home / "pulled")
        try:
            with throttle.make(servers.place.root, rate) as limit:
                limit.add(base.server(servers).process.pid)
                rows = contest.hold(bench, servers, cell, source, [base, MstoreAgain(), DdRead(limit)], job)
                servers.stop("mstored")
        except processes.Failed as why:
            bench.report.note(str(why))
            return
        shutil.rmtree(source.path)
    rates = [row["median"] for row in rows if row["peer"] == "mstore"]
    targets.show(bench.report, [targets.Target(f"pull, cold, disk throttled to {rate / 1e6:.0f} MB/s: share of that",
                                               0.95, rates[0] / rate if rates else None)])
