"""The local tier through a long life: random commands, some of them killed, some at the same time, and after each
what must hold whatever happened."""

import os
import random
import subprocess

import pytest

import harness
import models
from harness import push
from test_cache import Tier, end_holder, start_holder

NAMES = [f"ns/m{number}" for number in range(5)]
MARK_EVERY = 1 << 20
RATE = 250_000_000  # bytes a second of a fetch that is to be killed: then it lasts until its moment, on any machine


class Life:
    """A store with five models, a cache in which two of them fit, and what is known of both."""

    def __init__(self, client, work, size, seed):
        self.client, self.work, self.size = client, work, size
        self.budget = size * 5 // 2
        self.tier = Tier(client, work)
        self.choose = random.Random(seed)
        self.version = dict.fromkeys(NAMES, 0)
        self.order = []     # names, the last used one last
        self.pinned = set()
        self.holders = {}   # name: (process, path, version)
        self.said = []      # what was done, for a failure
        self.counts = dict.fromkeys(("evicted", "killed", "refused", "fetched"), 0)
        for name in NAMES:
            self.publish(name)

    # -- the store --

    def marks(self, name, version):
        """What a version has at some places; all else is zeros."""
        text = f"{name} {version} ".encode()
        places = range(0, self.size - len(text), max(MARK_EVERY * 97, self.size // 4))
        return [(place, text) for place in places]

    def publish(self, name):
        self.version[name] += 1
        source = self.work / "sources" / name
        models.sparse(source / "weights.bin", self.size - 8, self.marks(name, self.version[name]))
        (source / "same.txt").write_text("12345678")
        os.utime(source / "same.txt", (1, 1))
        push(self.client, source, name)

    def version_at(self, path, name):
        """Which version lies there, whole; fails if none does."""
        weights = os.path.join(path, "weights.bin")
        assert os.stat(weights).st_size == self.size - 8
        assert open(os.path.join(path, "same.txt")).read() == "12345678"
        assert sorted(os.listdir(path)) == ["same.txt", "weights.bin"]
        with open(weights, "rb") as file:
            number = int(file.read(64).split()[1])
            for place, text in self.marks(name, number):
                file.seek(place)
                assert file.read(len(text)) == text
        return number

    # -- what is known --

    def use(self, name):
        self.order = [n for n in self.order if n != name] + [name]

    def kept(self, but=None):
        """Bytes that nothing may remove: complete and pinned, or held (an old version, too)."""
        entries = self.tier.ls()
        held = {(n, v) for n, (_, _, v) in self.holders.items()}
        held |= {(n, self.version_at(e["path"], n)) for n, e in entries.items()
                 if e["state"] == "complete" and n in self.pinned and n != but}
        return len(held) * self.size

    def check(self, before, got=None):
        """All that must hold, whatever happened since `before` (the names that were complete)."""
        entries = self.tier.ls()
        complete = {n for n, e in entries.items() if e["state"] == "complete"}
        assert self.tier.used() <= self.budget, self.tier.tree()
        for name in complete:
            self.version_at(entries[name]["path"], name)
        for name, (process, path, version) in self.holders.items():
            assert process.poll() is None and self.version_at(path, name) == version
        assert self.pinned <= complete
        assert {n for n, e in entries.items() if e["pinned"]} == self.pinned
        gone = [n for n in self.order if n in before - complete]
        self.counts["evicted"] += len(gone)
        stayed = [n for n in self.order if n in complete and n != got and n not in self.pinned
                  and n not in self.holders]
        assert not gone or not stayed or self.order.index(gone[-1]) < self.order.index(stayed[0])
        return complete

    # -- what can happen --

    def get(self, name):
        needs = 0 if self.is_current(name) else self.size
        kept = self.kept() if needs else 0
        result = self.tier.run("--json", "get", name, "--budget", self.budget_text(), timeout=120)
        if result.status == 8:
            assert kept + needs > self.budget, result
            self.counts["refused"] += 1
            return None
        assert result.status == 0, result
        assert kept + needs <= self.budget, result
        assert self.version_at(result.data["path"], name) == self.version[name]
        self.use(name)
        self.counts["fetched"] += result.data["bytes_received"] > 0
        return name

    def get_killed(self, name):
        """SIGKILL at a random moment, or when it is through, whatever comes first."""
        running = self.tier.start("get", name, "--budget", self.budget_text(), "--bwlimit", str(RATE))
        try:
            running.process.wait(self.choose.random() * self.size / RATE + self.choose.random() * 0.03)
        except subprocess.TimeoutExpired:
            running.kill()
        status = running.wait(120).status
        assert status in (0, 8, -9), running.result
        self.counts["killed"] += status == -9
        if status != 8 and self.is_current(name):
            self.use(name)  # it may have got so far
        return name

    def get_two(self, name):
        """The same one twice, and another one, at the same time."""
        other = self.choose.choice([n for n in NAMES if n != name])
        running = [self.tier.start("--json", "get", n, "--budget", self.budget_text())
                   for n in (name, name, other)]
        results = [r.wait(120) for r in running]
        for n, result in zip((name, name, other), results):
            assert result.status in (0, 8), result  # each holds its own while it pulls
        if results[0].status == results[1].status == 0:
            assert min(r.data["bytes_received"] for r in results[:2]) == 0
        return "several"

    def hold(self, name):
        if name in self.holders:
            end_holder(self.holders.pop(name)[0])
        elif self.get(name):
            process, path = start_holder(self.tier, name)
            self.holders[name] = process, path, self.version_at(path, name)
        return name

    def pin(self, name):
        complete = self.tier.ls().get(name, {}).get("state") == "complete"
        if name in self.pinned:
            self.tier.local("cache", "unpin", name)
            self.pinned.discard(name)
        elif complete:
            self.tier.local("cache", "pin", name)
            self.pinned.add(name)
        else:
            self.tier.fails(3, "cache", "pin", name, address=None)
        return None

    def remove(self, name):
        there = name in self.tier.ls()
        status = 9 if name in self.holders else 0 if there else 3
        assert self.tier.run("cache", "rm", name, address=None).status == status
        if status == 0:
            self.pinned.discard(name)
        self.order = [n for n in self.order if n != name or n in self.holders]
        return None

    def prune(self, name):
        running = self.tier.start("cache", "prune", "--budget", self.budget_text(), address=None)
        try:
            running.process.wait(self.choose.random() * 0.02)
        except subprocess.TimeoutExpired:
            running.kill()
        running.wait()
        return None

    def renew(self, name):
        self.publish(name)
        return None

    def recorded_order(self):
        """As the cache itself has it."""
        records = sorted((self.tier.path / "state").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
        return [p.stem.replace("--", "/") for p in records]

    def is_current(self, name):
        entry = self.tier.ls().get(name, {})
        return entry.get("state") == "complete" and \
            self.version_at(entry["path"], name) == self.version[name]

    def budget_text(self):
        return str(self.budget)

    def live(self, steps):
        """So many random operations, each checked."""
        weights = {self.get: 40, self.get_killed: 30, self.get_two: 6, self.hold: 12, self.pin: 12, self.remove: 5,
                   self.prune: 5, self.renew: 5}
        for step in range(steps):
            action, name = self.choose.choices(list(weights), list(weights.values()))[0], self.choose.choice(NAMES)
            while len(self.holders) + len(self.pinned) > 2:  # else there is no room for anything for long
                self.hold(self.choose.choice(list(self.holders))) if self.holders else \
                    self.pin(self.choose.choice(list(self.pinned)))
            self.said.append(f"{step}: {action.__name__} {name}")
            before = {n for n, e in self.tier.ls().items() if e["state"] == "complete"}
            got = action(name)
            if got == "several":  # in which order is not known
                before, self.order = set(), self.recorded_order()
            elif action == self.remove:
                before.discard(name)
            complete = self.check(before, got)
            self.order = [n for n in self.order if n in complete] + \
                [n for n in sorted(complete) if n not in self.order]

    def end(self):
        for process, _, _ in self.holders.values():
            end_holder(process)


def live(client, work, size, steps, seed):
    life = Life(client, work, size, seed)
    try:
        life.live(steps)
    except BaseException:
        print(f"seed {seed}:", *life.said, sep="\n  ")
        raise
    finally:
        life.end()
    # and when it has become quiet, nothing but what is complete is left
    life.tier.local("cache", "prune")
    assert life.tier.used() == len(life.tier.names()) * size
    assert os.listdir(life.tier.path / "trash") == []
    assert [n for n in os.listdir(life.tier.path / "state") if not n.endswith(".json")] == []
    return life.counts


@pytest.mark.parametrize("seed", range(2))
def test_forty_operations_on_small_models(client, work, seed):
    counts = live(client, work, 400_000, 40, seed)
    assert min(counts["evicted"], counts["killed"], counts["fetched"]) > 0, counts


@pytest.mark.slow
def test_two_hundred_operations_and_kills_under_a_budget_of_1_gb_with_models_of_400_mb(client, work):
    counts = live(client, work, 400_000_000, 200, seed=int(os.environ.get("MSTORE_SEED", "7")))
    print(counts)
    assert min(counts["evicted"], counts["killed"], counts["fetched"]) >= 10, counts
