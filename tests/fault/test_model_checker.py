"""Hundreds of random operations with cuts and kills against a model in Python (B107): after each one the files in the
root equal what `ls` and `info` say plus unfinished pushes, and what the model allows."""

import os
import random
import shutil

import pytest

import cproxy
import faults
import models
from harness import MIB, wait_until

NAMES = ("ns/a", "ns/b", "other/a")
SIZES = (0, 1, 5000, 300_000, 3 * MIB, 9 * MIB)
OPERATIONS = {"push": 24, "push cut": 16, "push, daemon killed": 9, "push, client killed": 9, "pull": 12, "pull cut": 8,
              "rm": 12, "daemon killed": 4, "restart": 4, "add": 6, "verify": 4, "trash": 2}


class Checker:
    """The state as it must be: for each name the folders that may be stored (usually one, None for nothing)."""

    def __init__(self, seed, server, make_client, make_proxy, work):
        self.choose = random.Random(seed)
        self.server, self.make_client, self.make_proxy, self.work = server, make_client, make_proxy, work
        self.client = make_client(server.address)
        self.expected = {name: None for name in NAMES}
        self.unfinished = {}  # name: whether `ls` may show an unfinished push of it
        self.made = 0
        self.history = []

    # Sources.

    def make_source(self, name):
        """A new version: some files of the stored one, some new, some of equal size with other bytes."""
        self.made += 1
        folder = self.work / "sources" / str(self.made)
        folder.mkdir(parents=True)
        stored = self.expected[name]
        if stored is not None:
            for path, full in models.files(stored).items():
                if self.choose.random() < 0.5:
                    target = folder / os.fsdecode(path)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(os.fsdecode(full), target)
        for _ in range(self.choose.randint(1, 3)):
            path = folder / self.choose.choice(("w.bin", "sub/w.bin", "sub/deep/x", "y", "z"))
            models.rnd(path, self.choose.choice(SIZES), seed=self.choose.randrange(10**6))
        return folder

    # Operations. Each returns when the command has ended and the model is up to date.

    def disturbed(self, args, way, size):
        """A client behind a proxy that cuts its connections somewhere; its result."""
        at = self.choose.uniform(0, size * 1.1 + 2000)
        conns = None if self.choose.random() < 0.3 else range(1, 100)
        proxy = self.make_proxy(self.server.address, cproxy.cut(int(at), conn=conns, dir=way))
        result = self.make_client(proxy.address).run(*args, "--retries", self.choose.choice(("0", "0", "1")))
        proxy.clear()
        proxy.close()
        return result

    def push(self, name, how="", *options):
        """A push, undisturbed or not; both ends are possible where the reply may be lost."""
        src = self.make_source(name)
        wanted = src
        if options and self.expected[name] is not None:
            wanted = self.work / "sources" / f"{self.made}+"
            shutil.copytree(self.expected[name], wanted)
            shutil.copytree(src, wanted, dirs_exist_ok=True)
            if len(models.files(wanted)) != len(set(models.files(wanted))):
                raise AssertionError("a source is wrong")
        size = sum(os.path.getsize(f) for f in models.files(src).values())
        args = ["push", src, name, "-n", self.choose.choice("124"), *options]
        if how == "cut":
            result = self.disturbed(args, self.choose.choice(("c2s", "c2s", "s2c")), size)
        elif how:
            result = self.killed(args, how)
        else:
            result = self.client.ok(*args)
        allowed = [wanted] if result.status == 0 else [self.expected[name], wanted]
        wait_until(lambda: faults.is_unlocked(self.server, name), "the push has ended on the server, too")
        self.settle(name, allowed, result)
        self.unfinished[name] = result.status != 0
        return result

    def killed(self, args, who):
        """SIGKILL at a random moment; a killed daemon is started again."""
        proxy = self.make_proxy(self.server.address, cproxy.rate(20e6))
        running = self.make_client(proxy.address).start(*args, "--retries", "0")
        end = running.began + self.choose.uniform(0, 0.3)
        wait_until(lambda: models_time() > end or not running.is_running, "the moment")
        if who == "daemon":
            self.server.kill()
        else:
            running.kill()
        result = running.wait() if who == "daemon" else (running.result or Killed())
        proxy.cut()
        proxy.close()
        if who == "daemon":
            self.server.start(check_idle=False)
        return result

    def settle(self, name, allowed, result):
        """Which of the allowed versions is stored."""
        place = self.server.root / name
        for version in allowed:
            if (not place.exists() if version is None else faults.is_copy(version, place)):
                self.expected[name] = version
                return
        raise AssertionError(f"I1: {name} is none of {allowed} after {result}: {sorted(models.files(place))}")

    def pull(self, name, cut=False):
        """Into a fresh folder or over what is there."""
        dst = self.work / "dst"
        if self.choose.random() < 0.5:
            shutil.rmtree(dst, ignore_errors=True)
        before = set(models.files(dst, skip=faults.OWN)) if dst.exists() else set()
        stored = self.expected[name]
        args = ["pull", name, dst]
        size = sum(os.path.getsize(f) for f in models.files(stored).values()) if stored else 1000
        if cut:
            result = self.disturbed(args, "s2c", size)
        else:
            result = self.client.run(*args)
            assert result.status == (3 if stored is None else 0) or self.stands_in_the_way(before, stored), result
        if result.status == 0:
            found = models.files(dst, skip=faults.OWN)
            for path, full in models.files(stored).items():
                assert path in found and models.same_bytes(full, found[path]), path
        elif stored is None:
            assert result.status in (3, 6), result
        shutil.rmtree(dst, ignore_errors=True) if result.status not in (0, 6) else None

    @staticmethod
    def stands_in_the_way(before, stored):
        """Whether a file of the user has the name of a folder or the other way round."""
        return stored is not None and bool(before)

    def remove(self, name):
        """rm, which also takes what is unfinished."""
        result = self.client.run("rm", "-y", name)
        there = self.expected[name] is not None
        assert result.status in ((0,) if there else (0, 3) if self.unfinished.get(name) else (3,)), result
        self.expected[name], self.unfinished[name] = None, False

    def step(self):
        """One operation, then everything is compared."""
        operation = self.choose.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
        name = self.choose.choice(NAMES)
        self.history.append((operation, name))
        what, _, how = operation.partition(" ")
        if what in ("push", "push,"):
            self.push(name, {"": "", "cut": "cut", "daemon killed": "daemon", "client killed": "client"}[how])
        elif what == "add":
            self.push(name, "", "--add")
        elif what == "pull":
            self.pull(name, how == "cut")
        elif what == "rm":
            self.remove(name)
        elif what == "daemon":
            self.server.kill()
            self.server.start(check_idle=False)
        elif what == "restart":
            self.server.restart()
        elif what == "verify":
            assert self.client.run("verify", name).status == (3 if self.expected[name] is None else 0)
        elif what == "trash":
            self.server.kill()
            place = self.server.root / ".mstore" / "trash" / "ns" / "old" / "00000000000000aa"
            place.mkdir(parents=True, exist_ok=True)
            (place / "f").write_bytes(b"x")
            self.server.start(check_idle=False)
        self.compare()

    def compare(self):
        """The root, `ls`, `info` and the model agree; nothing else is there."""
        root = self.server.root
        for name in NAMES:
            self.settle(name, [self.expected[name]], self.history[-1])
        assert faults.live_models(root) == {n for n, v in self.expected.items() if v is not None}
        wait_until(self.is_quiet, "the last session has ended")
        faults.assert_listed(self.server, self.client)
        staged = faults.folders_below(root, "staging")
        assert staged <= {n for n, u in self.unfinished.items() if u}, (staged, self.unfinished)
        faults.settled_trash(self.server)
        assert faults.folders_below(root, "meta") >= faults.live_models(root)
        assert faults.temporaries(root) == []
        empty = [p for p in root.iterdir() if p.name != ".mstore" and not any(p.iterdir())]
        assert empty == []

    def is_quiet(self):
        """Whether no push holds a lock: an rm of something that does not exist needs none of them."""
        listed = {m["name"]: m for m in self.client.json("ls")["models"]}
        staged = {n for n in faults.folders_below(self.server.root, "staging")
                  if (self.server.root / ".mstore" / "staging" / n / "plan.json").exists()}
        return set(listed) == faults.live_models(self.server.root) | staged

    def finish(self):
        """Everything unfinished is completed or removed; then nothing but the models is left."""
        for number, name in enumerate(NAMES):
            if number % 2 == 0:
                self.push(name)
            else:
                self.remove(name)
        self.compare()
        faults.assert_clean(self.server)
        for name in NAMES:
            if self.expected[name] is not None:
                shutil.rmtree(self.work / "dst", ignore_errors=True)
                self.client.ok("pull", name, self.work / "dst")
                models.assert_same(self.expected[name], self.work / "dst")


class Killed:
    """The result of a client that was killed."""

    status = -9


def models_time():
    """Now, as harness.Running measures."""
    import time
    return time.monotonic()


def check(server, make_client, make_proxy, work, seed, operations):
    """Runs them; a failure says what came before it."""
    checker = Checker(seed, server, make_client, make_proxy, work)
    for _ in range(operations):
        try:
            checker.step()
        except AssertionError as e:
            raise AssertionError(f"seed {seed}, operation {len(checker.history)}, last ones "
                                 f"{checker.history[-6:]}: {e}") from None
    checker.finish()


@pytest.mark.parametrize("seed", [107])
def test_b107_60_random_operations(server, make_client, make_proxy, work, seed):
    check(server, make_client, make_proxy, work, seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_b107_500_random_operations(server, make_client, make_proxy, work, seed):
    check(server, make_client, make_proxy, work, seed, 500)
