"""What mstore must reach (the issue's table), judged by the rows of this run: ratios round by round, their median."""

from dataclasses import dataclass

import report
import stats
from contest import Cell

RAW = ("rsyncd", "smbclient", "socat", "curl")


@dataclass(frozen=True)
class Target:
    """A demand and what was found."""
    text: str
    wanted: float
    found: float
    at_most: bool = False

    @property
    def is_met(self):
        """Whether it is."""
        return self.found <= self.wanted if self.at_most else self.found >= self.wanted


def show(out, judged):
    """Prints the targets that could be judged."""
    judged = [target for target in judged if target.found is not None]
    for target in judged:
        out.line("target", text=target.text, wanted=target.wanted, found=target.found, at_most=target.at_most,
                 met=target.is_met)
    if judged:
        out.table("What mstore must reach", [
            ("measure", lambda target: target.text),
            ("wanted", lambda target: f"{'<=' if target.at_most else '>='} {target.wanted:.2f}"),
            ("found", lambda target: report.shown(target.found, ".2f")),
            ("", lambda target: "met" if target.is_met else "NOT MET")], judged)


def compared(rows):
    """The targets of the scenario compare; rows are {Cell: [row]}."""
    found = []
    for direction, times, rival, cpu in (("push", 1.4, "socat", 0.9), ("pull", 1.6, "curl", 1.1)):
        cell = Cell("loopback", "memory", "warm", "single", direction)
        title = f"{direction}, one file, memory, loopback"
        found.append(Target(f"{title}: MB/s by the best of {', '.join(RAW)}", times, _rate(rows.get(cell), RAW)))
        found.append(Target(f"{title}: server s/GB by {rival}", cpu, _cpu(rows.get(cell), rival), at_most=True))
    for direction in ("push", "pull"):
        cell = Cell("loopback", "memory", "warm", "model", direction)
        found.append(Target(f"{direction}, model: MB/s by rsync-ssh", 10, _rate(rows.get(cell), ("rsync-ssh",))))
    for direction in ("push", "pull"):
        cell = Cell("loopback", "memory", "warm", "small", direction)
        found.append(Target(f"{direction}, small files: files/s by rsyncd", 2, _rate(rows.get(cell), ("rsyncd",))))
    for direction in ("push", "pull"):
        cell = Cell("netns", "memory", "warm", "single", direction)
        found.append(Target(f"{direction}, 10 Gbit namespaces: MB/s by iperf3", 0.97,
                            _rate(rows.get(cell), ("iperf3",))))
    return found


def _named(rows, name):
    return next((row for row in rows or [] if row["peer"] == name), None)


def _rate(rows, rivals):
    """mstore's rate by the best of the rivals in the same round."""
    own, others = _named(rows, "mstore"), [row for row in rows or [] if row["peer"] in rivals]
    if own is None or not others:
        return None
    best = [max(rates) for rates in zip(*(row["rates"] for row in others))]
    return stats.paired(dict(enumerate(own["rates"])), dict(enumerate(best)))


def _cpu(rows, rival):
    """mstore's processor time on the server by the rival's."""
    own, other = _named(rows, "mstore"), _named(rows, rival)
    return own["server_s_per_gb"] / other["server_s_per_gb"] if own and other else None
