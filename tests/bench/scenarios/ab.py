"""mstore's own choices against each other: each group of variants.py is a contest, its first variant the base."""

import contest
import processes
import variants
from contest import Cell
from peers.mstore import Mstore


def run(bench):
    """One file, from and to memory and disk, unless told otherwise."""
    options = bench.options
    try:
        groups = variants.chosen(options.variants)
    except ValueError as why:
        raise processes.Failed(str(why)) from None
    bench.report.versions(Mstore().versions())
    for net in options.net or ["loopback"]:
        for place in options.place or ["memory", "disk"]:
            cells = [Cell(net, place, cache, work, direction) for work in options.work or ["single"]
                     for cache in ((options.cache or ["warm"]) if place == "disk" else ["warm"])
                     for direction in options.direction or ["push", "pull"]]
            with bench.setting(net, place) as servers:
                for group in groups.values():
                    contest.hold_all(bench, servers, cells, [Mstore(variant) for variant in group])
