"""A model is replaced in one step: every reader sees all of the old or all of the new."""

import mmap
import os
import threading

import pytest

import cproxy
import models
from harness import MIB, SLOWNESS, listed, pull, push, wait_until

FILES = 5


def version(folder, seed, size=400_000):
    """A model whose files all differ from those of another seed."""
    for number in range(FILES):
        models.rnd(folder / f"part-{number}", size + 1000 * number, seed=seed * 100 + number)
    (folder / f"only-in-{seed}").write_text("x")
    for path in folder.iterdir():  # equal sizes and times within 2 s would count as unchanged
        os.utime(path, ns=(0, (1_700_000_000 + 100 * seed) * 10**9))
    return folder


def read_whole(top):
    """All files of the folder that has this name now, through one descriptor; None if it went meanwhile."""
    try:
        folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        content = {}
        for name in os.listdir(folder):
            with open(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as file:
                content[name] = file.read()
        return content
    except FileNotFoundError:
        return None
    finally:
        os.close(folder)


def contents(folder):
    """The files of a version, by name."""
    return {p.name: p.read_bytes() for p in folder.iterdir()}


class Reader(threading.Thread):
    """Reads the live model over and over; what it saw that is neither version is in `wrong`."""

    def __init__(self, top, good):
        super().__init__(daemon=True)
        self.top, self.good = top, good
        self.wrong, self.seen, self.reads = [], set(), 0
        self.stop = threading.Event()
        self.start()

    def run(self):
        """The thread."""
        while not self.stop.is_set():
            content = read_whole(self.top)
            if content is None:
                continue
            self.reads += 1
            match = [i for i, good in enumerate(self.good) if content == good]
            self.seen.update(match)
            if not match:
                self.wrong.append({name: len(data) for name, data in content.items()})

    def end(self):
        """Stops the thread and checks what it saw."""
        self.stop.set()
        self.join(10)
        assert self.wrong == [] and self.reads > 0, self.wrong[:3]


def pull_and_check(client, work, number, versions):
    """One pull into a fresh folder; which of the versions it got."""
    dst = work / f"dst{number}"
    client.ok("pull", "ns/m", dst)
    match = [i for i, folder in enumerate(versions) if not models.differences(folder, dst)]
    assert match, [models.differences(folder, dst) for folder in versions]
    return match[0]


def pulls_during_a_slow_push(server, client, make_client, make_proxy, work, pulls, bytes_per_s):
    """Pulls before, during and after a re-push on a slow link."""
    versions = [version(work / "v1", 1), version(work / "v2", 2)]
    push(client, versions[0])
    reader = Reader(server.model("ns/m"), [contents(v) for v in versions])
    proxy = make_proxy(server.address, cproxy.rate(bytes_per_s))
    running = make_client(proxy.address).start("push", versions[1], "ns/m", "-n", "2")
    got, during = [], 0
    while len(got) < pulls or running.is_running:
        during += running.is_running
        got.append(pull_and_check(client, work, len(got), versions))
    assert running.wait().status == 0
    got.append(pull_and_check(client, work, "last", versions))
    reader.end()
    assert got == sorted(got) and got[0] == 0 and got[-1] == 1
    assert during >= min(10, pulls / 2), "the push was not slow"
    assert reader.seen == {0, 1}
    server.assert_no_leftovers()


@pytest.mark.sanitize
def test_pulls_and_a_reader_during_a_slow_push(server, client, make_client, make_proxy, work):
    pulls_during_a_slow_push(server, client, make_client, make_proxy, work, 30, 600e3 / min(SLOWNESS, 4))


@pytest.mark.slow
def test_200_pulls_and_a_reader_during_a_slow_push(server, client, make_client, make_proxy, work):
    pulls_during_a_slow_push(server, client, make_client, make_proxy, work, 200, 120e3)


def pulls_during_many_pushes(server, client, work, pulls):
    """Two versions are pushed in turn, as fast as it goes, while pulls and a reader run."""
    versions = [version(work / "v1", 1), version(work / "v2", 2, size=300_000)]
    push(client, versions[0])
    reader = Reader(server.model("ns/m"), [contents(v) for v in versions])
    stop, failures = threading.Event(), []

    def replace():
        turn = 0
        while not stop.is_set():
            turn = 1 - turn
            result = client.run("push", versions[turn], "ns/m")
            if result.status != 0:
                failures.append(result)
                return

    pusher = threading.Thread(target=replace, daemon=True)
    pusher.start()
    try:
        got = [pull_and_check(client, work, number, versions) for number in range(pulls)]
    finally:
        stop.set()
        pusher.join(60)
    assert not failures, failures
    reader.end()
    assert set(got) == {0, 1}
    server.assert_no_leftovers()


@pytest.mark.sanitize
def test_pulls_while_the_model_is_replaced_over_and_over(server, client, work):
    pulls_during_many_pushes(server, client, work, 40)


@pytest.mark.slow
def test_200_pulls_while_the_model_is_replaced_over_and_over(server, client, work):
    pulls_during_many_pushes(server, client, work, 200)


@pytest.mark.sanitize
def test_pull_keeps_the_version_it_began_with(server, client, make_client, make_proxy, work, dst):
    """It is stopped in the middle, the model is replaced twice and removed, and it ends with what it began."""
    first = models.rnd(work / "v1" / "w.bin", 24 * MIB, seed=1).parent
    second = models.rnd(work / "v2" / "w.bin", 24 * MIB, seed=2).parent
    push(client, first)
    proxy = make_proxy(server.address, cproxy.hole(MIB, conn=(1, 2, 3, 4), dir="s2c"))
    running = make_client(proxy.address).start("--json", "pull", "ns/m", dst, "-n", "2")
    wait_until(lambda: proxy.bytes("s2c") > 2 * MIB, "the pull is under way")
    push(client, second)
    push(client, first)
    push(client, second)
    client.ok("rm", "-y", "ns/m")
    proxy.clear()
    result = running.wait()
    assert result.status == 0, result
    models.assert_same(first, dst)


@pytest.mark.sanitize
def test_files_that_the_source_lacks_go(server, client, small_model, work, dst):
    push(client, small_model)
    (small_model / "sub" / "part.bin").unlink()
    (small_model / "sub").rmdir()
    push(client, small_model)
    models.assert_same(small_model, server.model("ns/m"))
    assert not (server.model("ns/m") / "sub").exists()


@pytest.mark.sanitize
def test_add_keeps_the_files_that_the_source_lacks(server, client, small_model, work, dst):
    push(client, small_model)
    more = models.rnd(work / "more" / "extra.bin", 5000, seed=5).parent
    (more / "config.json").write_text("{}")
    summary = push(client, more, "ns/m", "--add")
    assert summary["bytes"]["sent"] == 5002
    pull(client, dst)
    (small_model / "config.json").write_text("{}")
    models.rnd(small_model / "extra.bin", 5000, seed=5)
    models.assert_same(small_model, dst)
    assert listed(client, "ns/m")["files"] == 4


def test_add_to_nothing_is_a_push(server, client, small_model):
    push(client, small_model, "ns/m", "--add")
    models.assert_same(small_model, server.model("ns/m"))


def test_file_becomes_folder_and_back(server, client, work, dst):
    """The name of a file may be that of a folder in the next version."""
    one = models.rnd(work / "one" / "x", 1000, seed=1).parent
    two = models.rnd(work / "two" / "x" / "y", 1000, seed=2).parents[1]
    for source in (one, two, one):
        push(client, source)
        models.assert_same(source, server.model("ns/m"))
        pull(client, work / f"dst-{source.name}")
        models.assert_same(source, work / f"dst-{source.name}")


@pytest.mark.sanitize
def test_unchanged_files_are_skipped_and_linked(server, client, small_model, make_client, make_proxy):
    """The new version holds the very inode of the old one; only the changed file travels."""
    push(client, small_model)
    inode = (server.model("ns/m") / "model.safetensors").stat().st_ino
    (small_model / "config.json").write_text('{"changed":true}')
    proxy = make_proxy(server.address)
    summary = push(make_client(proxy.address), small_model)
    assert summary["files"] == {"total": 3, "sent": 1, "skipped": 2, "failed": 0}
    assert proxy.bytes("c2s") < 50_000
    assert (server.model("ns/m") / "model.safetensors").stat().st_ino == inode
    models.assert_same(small_model, server.model("ns/m"))
    assert all(len(file["hash"]) == 32 for file in client.json("info", "ns/m")["files"])


def test_nothing_changed_nothing_moves(server, client, small_model, dst, make_client, make_proxy):
    push(client, small_model)
    pull(client, dst)
    proxy = make_proxy(server.address)
    through = make_client(proxy.address)
    for summary in (push(through, small_model), pull(through, dst)):
        assert summary["files"] == {"total": 3, "sent": 0, "skipped": 3, "failed": 0}
        assert summary["streams"] == []
    assert len(proxy.links) == 2 and proxy.bytes() < 20_000


def test_times_within_two_seconds_count_as_equal(server, client, small_model):
    """Where a coarse file system or tool kept one of them, without a fraction; else to the nanosecond."""
    file = small_model / "config.json"
    stamp = file.stat().st_mtime_ns
    whole = stamp // 1_000_000_000 * 1_000_000_000
    for number, (moved, sent) in enumerate([(whole + 2_000_000_000, 0), (whole - 1_000_000_000, 0), (stamp + 1, 1),
                                            (stamp + 1_900_000_000, 1), (whole + 10_000_000_000, 1)]):
        os.utime(file, ns=(0, stamp))
        push(client, small_model, f"ns/m{number}")
        os.utime(file, ns=(0, moved))
        assert push(client, small_model, f"ns/m{number}")["files"]["sent"] == sent, (stamp, moved)


@pytest.mark.sanitize
def test_checksum_finds_a_change_of_equal_size_and_time(server, client, small_model, dst):
    push(client, small_model)
    pull(client, dst)
    for options in ((), ("--checksum",)):  # a push also looks at what the file system says of a change
        models.flip_byte(small_model / "sub" / "part.bin", 100)
        summary = push(client, small_model, "ns/m", *options)
        assert summary["files"]["sent"] == 1 and summary["bytes"]["sent"] == 70_000
        models.assert_same(small_model, server.model("ns/m"))
    models.flip_byte(small_model / "sub" / "part.bin", 200)
    push(client, small_model)
    assert pull(client, dst)["files"]["sent"] == 0, "by size and time it is the same"
    assert pull(client, dst, "ns/m", "--checksum")["files"]["sent"] == 1
    models.assert_same(small_model, dst)


def test_checksum_spares_files_that_only_look_changed(server, client, small_model, dst):
    """Equal content under another time is not sent."""
    push(client, small_model)
    pull(client, dst)
    for top in (small_model, dst):
        os.utime(top / "model.safetensors", ns=(0, 10**18))
    assert push(client, small_model, "ns/m", "--checksum")["bytes"]["sent"] == 0
    os.utime(dst / "config.json", ns=(0, 10**18))
    assert pull(client, dst, "ns/m", "--checksum")["bytes"]["sent"] == 0


def test_b24_mapped_files_stay_whole(server, client, work, dst):
    """B24: who has the old files mapped, in DST or in the root, keeps them through a replacement."""
    first = models.rnd(work / "v1" / "w.bin", 3 * MIB, seed=1).parent
    second = models.rnd(work / "v2" / "w.bin", MIB, seed=2).parent
    push(client, first)
    pull(client, dst)
    places = [dst / "w.bin", server.model("ns/m") / "w.bin"]
    maps = []
    for place in places:
        with open(place, "rb") as file:
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    push(client, second)
    pull(client, dst)
    models.assert_same(second, dst)
    for mapped in maps:
        assert bytes(mapped) == (first / "w.bin").read_bytes()


@pytest.mark.sanitize
def test_other_files_in_the_destination_stay_and_are_named(server, client, small_model, dst):
    push(client, small_model)
    (dst / "sub").mkdir(parents=True)
    for name in ("mine.txt", "sub/also.txt"):
        (dst / name).write_text("mine")
    result = client.ok("pull", "ns/m", dst)
    for name in ("mine.txt", "sub/also.txt"):
        assert (dst / name).read_text() == "mine" and name in result.out + result.err
    warnings = [w for w in pull(client, dst)["warnings"] if "left alone" in w]
    assert len(warnings) == 2 and "mine.txt" in warnings[0] and "sub/also.txt" in warnings[1]


def test_local_change_in_the_destination_is_replaced(server, client, small_model, dst):
    push(client, small_model)
    pull(client, dst)
    (dst / "config.json").write_text("edited here")
    summary = pull(client, dst)
    assert summary["files"]["sent"] == 1
    models.assert_same(small_model, dst)


def test_removed_and_pushed_again(server, client, small_model, dst):
    """B23: after rm nothing says that something is there."""
    for _ in range(2):
        summary = push(client, small_model)
        assert summary["files"]["sent"] == 3
        client.ok("rm", "-y", "ns/m")
        assert listed(client, "ns/m") is None and not (server.root / "ns").exists()
    push(client, small_model)
    pull(client, dst)
    models.assert_same(small_model, dst)
