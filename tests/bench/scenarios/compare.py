"""mstore against the other tools, in every combination that was asked for.

Without wishes: memory over loopback with everything, the disk warm and cold over loopback, and memory over the
10 Gbit namespaces. --quick leaves out of these what says little new.
"""

import contest
import processes
import targets
from contest import Cell
from peers import PEERS

QUICK_PEERS = ("mstore", "mstore-again", "rsyncd", "rsync-ssh", "curl", "smbclient", "socat", "iperf3")


def cells_of(options):
    """The combinations, by place and network (servers are started once for each); the slow disk comes last."""
    cells = []
    for place in options.place or ["memory", "disk"]:
        for net in options.net or ["loopback", "netns"]:
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
    options = bench.options
    peers = _installed(bench, options.peers or list(PEERS))
    bench.report.versions({name: version for peer in peers for name, version in peer.versions().items()})
    rows, cells = {}, cells_of(options)
    while cells:
        part = [cell for cell in cells if (cell.net, cell.place) == (cells[0].net, cells[0].place)]
        cells = cells[len(part):]
        try:
            with bench.setting(part[0].net, part[0].place) as servers:
                rows |= contest.hold_all(bench, servers, part, _few(part[0], peers, options))
        except processes.Failed as why:
            bench.report.note(f"{part[0].place} over {part[0].net} is left out: {why}")
    targets.show(bench.report, targets.compared(rows))


def _few(cell, peers, options):
    """With --quick, who takes part beside memory over loopback."""
    if not options.quick or options.peers or (cell.net, cell.place) == ("loopback", "memory"):
        return peers
    return [peer for peer in peers if peer.name in QUICK_PEERS]


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
