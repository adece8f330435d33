"""1, 4, 16 and 64 clients that pull the same model at a time.

The model is pulled 64 times in each case, into 64 folders: by one client after the other, or by several that each
take the next turn when they are through. So the number of bytes and of program starts is the same for all.
"""

import os
import select
import shutil
import time

import content
import firsttouch
import processes
import report
import sides
import stats
import targets
from peers.mstore import Mstore

PULLS = 64
COUNTS = (1, 4, 16, 64)
MODEL_BYTES = {True: 16 * 10**6, False: 96 * 10**6}  # quick or not; 64 times that is in memory at once


def run(bench):
    """One table, and the lowest share of the single client's rate."""
    bench.report.versions(Mstore().versions())
    made = content.workload(bench.contents, "model", MODEL_BYTES[bench.options.quick], 0)
    records = []
    for net in bench.options.net or ["loopback"]:
        with bench.setting(net, "memory") as servers:
            source = content.put(made, servers.place.model("model"))
            mstore = Mstore()
            mstore.prepare(servers, source, source.path)
            _pulls(servers, mstore, source, COUNTS[-1])  # not counted
            for number in range(bench.options.rounds):
                shift = number % len(COUNTS)
                for count in COUNTS[shift:] + COUNTS[:shift]:
                    record = dict(_pulls(servers, mstore, source, count), net=net, clients=count, round=number)
                    records.append(record)
                    bench.report.line("run", **record)
            _show(bench, source, [record for record in records if record["net"] == net], net)


def _pulls(servers, mstore, source, count):
    """Pulls the model PULLS times by `count` clients; what was measured."""
    client = sides.make_group("client")
    top, server = servers.place.home / "clients", mstore.server(servers)
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir()
    firsttouch.touch(PULLS * source.size)
    before = client.cpu_seconds(), server.group.cpu_seconds()
    try:
        with sides.PeakWatch(client=[client], server=[server.group]) as peaks:
            seconds = _timed(servers, mstore, client, top, count)
        used = client.cpu_seconds() - before[0], server.group.cpu_seconds() - before[1]
        for number in range(PULLS):
            wrong = content.difference(source.path, top / str(number))
            if wrong:
                raise processes.Failed(f"client {number}: {wrong}")
    finally:
        client.close()
        shutil.rmtree(top)
    size = PULLS * source.size
    return {"seconds": seconds, "bytes": size, "rate": size / seconds, "server_peak": peaks.peak("server"),
            "client_s_per_gb": used[0] / size * 1e9, "server_s_per_gb": used[1] / size * 1e9}


def _timed(servers, mstore, group, top, count):
    """Keeps `count` clients running until all pulls are done; the seconds."""
    todo, running, poll = list(range(PULLS)), {}, select.poll()
    began = time.monotonic()
    try:
        while todo or running:
            while todo and len(running) < count:
                process = _start(servers, mstore, group, top, todo.pop(0))
                watch = os.pidfd_open(process.pid)
                poll.register(watch, select.POLLIN)
                running[watch] = process
            for watch, _ in poll.poll():
                poll.unregister(watch)
                os.close(watch)
                _reaped(running.pop(watch), group, servers)
    finally:
        for watch, process in running.items():
            processes.end(process)
            os.close(watch)
    return time.monotonic() - began


def _start(servers, mstore, group, top, number):
    words = mstore.words(servers, "pull", "bench/model", top / str(number), "--progress", "none")
    return processes.spawn(words, group, servers.net.client, servers.folder / "client.log",
                           processes.environment(servers.folder))


def _reaped(process, group, servers):
    ended = processes.wait(process, 1)
    group.ended(process.pid, ended.cpu_seconds)
    if ended.status != 0:
        raise processes.Failed(f"a client ended with {ended.status}: {processes.tail(servers.folder / 'client.log')}")


def _show(bench, source, records, net):
    rows, single = [], {record["round"]: record["rate"] for record in records if record["clients"] == 1}
    for count in COUNTS:
        own = [record for record in records if record["clients"] == count]
        rates = {record["round"]: record["rate"] for record in own}
        rows.append({"clients": count, "net": net, **stats.spread(list(rates.values())),
                     "share": stats.paired(rates, single),
                     "server_peak": max(record["server_peak"] or 0 for record in own) or None,
                     **{name: stats.middle([record[name] for record in own])
                        for name in ("server_s_per_gb", "client_s_per_gb")}})
        bench.report.line("row", **rows[-1])
    bench.report.table(f"{PULLS} pulls of {source.text()}, memory, {net}; {bench.options.rounds} rounds", [
        ("clients at a time", lambda row: str(row["clients"])), report.column("MB/s in all", "median", ",.0f", 1e6),
        report.column("min", "min", ",.0f", 1e6), report.column("max", "max", ",.0f", 1e6),
        report.column("noise", "noise", ".0%"), report.column("server s/GB", "server_s_per_gb", ".3f"),
        report.column("client s/GB", "client_s_per_gb", ".3f"), report.column("server MB", "server_peak", ".1f", 1e6),
        report.column("of one client's", "share", ".2f")], rows)
    targets.show(bench.report, [targets.Target(f"{net}: total MB/s of 4, 16 and 64 clients by one client's, the least",
                                               0.9, min(row["share"] for row in rows[1:]))])
