"""mstore against the other tools, in every combination that was asked for.

Without wishes: memory over loopback with everything, the disk warm and cold over loopback, and memory over the
10 Gbit namespaces. --quick leaves out of these what says little new.
"""

import time

import contest
import processes
import targets
from contest import Cell
from peers import PEERS

QUICK_S = 450  # after this much time --quick begins nothing new


def cells_of(options):
    """The combinations in their order: by network and place, so that servers are started once for each."""
    cells = []
    for net in options.net or ["loopback", "netns"]:
        for place in options.place or ["memory", "disk"]:
            for work in options.work or ["single", "model", "small"]:
                for cache in (options.cache or ["warm", "cold"]) if place == "disk" else ["warm"]:
                    cells += [Cell(net, place, cache, work, direction)
                              for direction in options.direction or ["push", "pull"]]
    return [cell for cell in cells if _is_wanted(cell, options)]


def _is_wanted(cell, options):
    """Whether a combination that nobody named is worth its time."""
    if cell.net == "netns" and not options.net and (cell.place == "disk" or cell.work == "small"):
        return False
    if options.quick and not options.work and (cell.net == "netns" or cell.place == "disk"):
        return cell.work == "single"
    return True


def run(bench):
    """All of it, then the rows of the issue's table that could be judged."""
    options, began = bench.options, time.monotonic()
    peers = _installed(bench, options.peers or list(PEERS))
    bench.report.versions({name: version for peer in peers for name, version in peer.versions().items()})
    rows, cells = {}, cells_of(options)
    while cells:
        part = [cell for cell in cells if (cell.net, cell.place) == (cells[0].net, cells[0].place)]
        cells = cells[len(part):]
        if options.quick and time.monotonic() - began > QUICK_S:
            bench.report.note(f"left out to be quick: {part[0].place} over {part[0].net}")
            continue
        try:
            with bench.setting(part[0].net, part[0].place) as servers:
                rows |= contest.hold_all(bench, servers, part, peers)
        except processes.Failed as why:
            bench.report.note(f"{part[0].place} over {part[0].net} is left out: {why}")
    targets.show(bench.report, targets.compared(rows))


def _installed(bench, names):
    """The peers that can run here; the base comes first."""
    found = []
    for peer in (PEERS[name]() for name in PEERS if name in names):
        missing = peer.missing()
        if missing:
            bench.report.note(f"{peer.name} is left out, not installed: {', '.join(missing)} (--install does)")
        else:
            found.append(peer)
    return found
