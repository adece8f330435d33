"""Peak memory of both sides: one big file, 20 000 and 200 000 files of 1 KB (--quick: 2 000 and 20 000)."""

import shutil

import content
import contest
import report
import sides
import targets
from peers.mstore import Mstore
from runner import Runner

COUNTS = {True: (2_000, 20_000), False: (20_000, 200_000)}
ONE_FILE = 20e6 + 4 * 2 * (8 << 20)  # 20 MB and two buffers for each of the four streams
MANY_FILES = 200e6


def run(bench):
    """One table; each side is held to the issue's limits."""
    bench.report.versions(Mstore().versions())
    contents = [content.workload(bench.contents, "single", bench.options.size, 0)]
    contents += [content.make(bench.contents, f"tiny-{count}", content.tiny(count))
                 for count in COUNTS[bench.options.quick]]
    rows = []
    for made in contents:
        with bench.setting("loopback", "memory") as servers:  # a fresh daemon for each
            rows += _both_ways(bench, servers, made)
    bench.report.table("Peak memory, memory file system, loopback", [
        ("work", lambda row: row["work"]), report.column("files", "files", ",.0f"), report.column("bytes", "bytes", ",.0f"),
        ("", lambda row: row["direction"]), report.column("server MB", "server_peak", ".1f", 1e6),
        report.column("client MB", "client_peak", ".1f", 1e6), report.column("s", "seconds", ".2f")], rows)
    targets.show(bench.report, [_target(row, side) for row in rows for side in ("server", "client")])


def _both_ways(bench, servers, made):
    client, mstore, rows = sides.make_group("client"), Mstore(), []
    source = content.put(made, servers.place.model(made.path.name))
    try:
        for direction in bench.options.direction or ["push", "pull"]:
            job = contest.job_of(servers, source, direction, bench.scratch)
            if direction == "pull":
                mstore.prepare(servers, source, job.source)
            record = Runner(servers, client).run(mstore, job)
            rows.append(dict(record, work=made.name, direction=direction))
            bench.report.line("row", **rows[-1])
    finally:
        client.close()
        shutil.rmtree(source.path)
    return rows


def _target(row, side):
    limit = ONE_FILE if row["files"] == 1 else MANY_FILES
    peak = row[f"{side}_peak"]
    return targets.Target(f"{row['direction']}, {row['files']:,} file{'s' * (row['files'] != 1)}: MB of the {side}",
                          limit / 1e6, peak / 1e6 if peak else None, at_most=True)
