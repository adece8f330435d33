"""Peers against each other: one untimed run each, then round by round each in turn, the order rotated."""

import shutil
from dataclasses import asdict, dataclass

import content as workloads
import processes
import report
import sides
import stats
from peers.base import Job
from runner import Runner


@dataclass(frozen=True)
class Cell:
    """One table."""
    net: str
    place: str
    cache: str
    work: str
    direction: str


def job_of(servers, content, direction, scratch):
    """The job of a direction: what is moved is the server's model for a pull, the client's folder for a push."""
    place = servers.place
    if direction == "push":
        source, destination = content.path, place.model("pushed")
    else:
        source, destination = place.model(content.path.name), place.home / "pulled"
    return Job(direction, source, destination, content.files, content.size, place, servers.net, scratch)


def hold(bench, servers, cell, content, peers, job=None):
    """Holds the rounds of a cell; its rows, the first of them the base of the ratios. The job may be given."""
    client = sides.make_group("client")
    job = job or job_of(servers, content, cell.direction, bench.scratch)
    sync = servers.place.sync_words() if servers.place.is_disk else None
    runner = Runner(servers, client, cell.cache, sync)
    try:
        able, slow = _warmed_up(bench, runner, job, peers)
        records = _rounds(bench, runner, job, cell, able, slow)
    finally:
        client.close()
    names = list(dict.fromkeys(peer.name for peer in able if _rates(peer.name, records)))
    rows = [_row(name, names[0], records) for name in names]
    _show(bench, cell, content, records, rows)
    return rows


def hold_all(bench, servers, cells, peers):
    """Holds cells of one network and place, the source put there once for each workload; {cell: rows}."""
    rows = {}
    for work in dict.fromkeys(cell.work for cell in cells):
        made = workloads.workload(bench.contents, work, bench.options.size, bench.options.files)
        source = workloads.put(made, servers.place.model(work))
        if any(cell.direction == "pull" for cell in cells):
            peers[0].prepare(servers, source, source.path)
        for cell in (cell for cell in cells if cell.work == work):
            if bench.is_late:
                bench.report.note(f"left out to be quick: {' '.join(asdict(cell).values())}")
                continue
            with bench.one_table():
                rows[cell] = hold(bench, servers, cell, source, [peer for peer in peers if _takes_part(peer, cell)])
        shutil.rmtree(source.path)
    return rows


def _takes_part(peer, cell):
    """iperf3 is the reference for namespaces only."""
    return (cell.work in peer.works and cell.direction in peer.directions
            and (peer.name != "iperf3" or cell.net == "netns"))


def _warmed_up(bench, runner, job, peers):
    """Those whose untimed run worked, and which of them are very slow."""
    able, slow = [], set()
    for peer in peers:
        try:
            if runner.run(peer, job)["seconds"] > bench.slow_s:
                slow.add(peer)
            able.append(peer)
        except processes.Failed as why:
            bench.report.note(f"{peer.name} is left out: {why}")
    if slow:
        bench.report.note(f"slower than {bench.slow_s} s, so run in the first round only: "
                          + ", ".join(peer.name for peer in able if peer in slow))
    return able, slow


def _rounds(bench, runner, job, cell, able, slow):
    """The records of all rounds. Who fails in one is left out of the others, but its records stay."""
    records, out = [], set()
    for number in range(bench.options.rounds):
        shift = number % max(1, len(able))
        for peer in able[shift:] + able[:shift]:
            if peer in out or (number > 0 and peer in slow):
                continue
            try:
                records.append(dict(runner.run(peer, job), round=number))
                bench.report.line("run", **asdict(cell), **records[-1])
            except processes.Failed as why:
                out.add(peer)
                bench.report.note(f"{peer.name} failed in round {number + 1}: {why}")
    return records


def _rates(name, records):
    return {record["round"]: record["bytes"] / record["seconds"] for record in records if record["peer"] == name}


def _row(name, base, records):
    own = [record for record in records if record["peer"] == name]
    rates = _rates(name, records)
    row = {"peer": name, "rates": [round(rate) for rate in rates.values()], **stats.spread(list(rates.values())),
           "files_per_second": stats.middle([record["files"] / record["seconds"] for record in own]),
           "base_ratio": stats.paired(_rates(base, records), rates)}
    for side in ("server", "client"):
        row[f"{side}_s_per_gb"] = stats.middle([record[f"{side}_cpu"] / record["bytes"] * 1e9 for record in own])
        row[f"{side}_peak"] = max((record[f"{side}_peak"] or 0 for record in own), default=0) or None
    return row


def _show(bench, cell, content, records, rows):
    shares = [record["cached"] for record in records]
    for row in rows:
        bench.report.line("row", **asdict(cell), **row, files=content.files, bytes=content.size,
                          cached_min=min(shares), cached_max=max(shares))
    cached = f"{min(shares):.0%}" + (f" to {max(shares):.0%}" if max(shares) > min(shares) else "") if shares else "-"
    title = (f"{cell.direction}, {content.text()}, {cell.place}{f' ({cell.cache})' if cell.place == 'disk' else ''}, "
             f"{cell.net}; {bench.options.rounds} rounds, source in the cache: {cached}")
    bench.report.table(title, columns(rows[0]["peer"] if rows else "", cell.work == "small"), rows)


def columns(base, with_files):
    """Of a table whose ratios are made to `base`."""
    files = [report.column("files/s", "files_per_second", ",.0f")] if with_files else []
    return [("peer", lambda row: row["peer"]), report.column("MB/s", "median", ",.0f", 1e6),
            report.column("min", "min", ",.0f", 1e6), report.column("max", "max", ",.0f", 1e6),
            report.column("noise", "noise", ".0%"), *files,
            report.column("server s/GB", "server_s_per_gb", ".3f"),
            report.column("client s/GB", "client_s_per_gb", ".3f"),
            report.column("server MB", "server_peak", ".1f", 1e6),
            report.column("client MB", "client_peak", ".1f", 1e6),
            report.column(f"{base} is x", "base_ratio", ".2f")]
