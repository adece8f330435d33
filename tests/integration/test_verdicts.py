"""`limited by`: what is made slow on purpose has to be named, for each stream and in the summary.

Root makes the disks and the networks; each part says why where it cannot."""

import os
import subprocess

import models
import netns
import pytest
import slow_disk

MB = 10**6
SIZE = 160 * MB
RATE = 40 * MB  # far below what a disk or loopback carries


@pytest.fixture
def slow(work):
    """A disk that can be slowed down."""
    try:
        with slow_disk.disk(work, 600) as disk:
            yield disk
    except slow_disk.Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture
def memory(work):
    """A folder in memory, so that no disk is in the way."""
    place = work / "memory"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500m", "none", place], check=False).returncode != 0:
        pytest.skip("needs root")
    yield place
    subprocess.run(["umount", place], check=True)


def limited_by(result):
    """The names of the streams that carried their part."""
    data = result.data
    return {stream["limited_by"] for stream in data["streams"] if stream["bytes"] > data["bytes"]["total"] / 20}


def drop(folder):
    """Out of the page cache, so that it has to be read from the disk."""
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def source(folder, size=SIZE):
    """A model of two files."""
    folder.mkdir()
    for name in ("a.safetensors", "b.safetensors"):
        models.rnd(folder / name, size // 2, seed=name)
    return folder


def test_slow_writes_of_the_server(slow, memory, make_server, make_client):
    slow.limit(write=RATE)
    server = make_server(root=slow.place / "root", prefix=slow.prefix)
    client = make_client(server.address)
    result = client.ok("push", "--json", source(memory / "m"), "ns/m")
    assert limited_by(result) == {"peer-disk"}, result
    assert "limited by: server disk writes" in client.ok("push", memory / "m", "ns/n").out


def test_slow_reads_of_the_server(slow, memory, make_server, make_client):
    server = make_server(root=slow.place / "root", prefix=slow.prefix)
    client = make_client(server.address)
    client.ok("push", source(memory / "m"), "ns/m")
    drop(slow.place)
    slow.limit(read=RATE)
    assert limited_by(client.ok("pull", "--json", "ns/m", memory / "to")) == {"peer-disk"}
    drop(slow.place)
    assert "limited by: server disk reads" in client.ok("pull", "ns/m", memory / "again").out


def test_slow_reads_of_the_client(slow, memory, make_server, make_client):
    client = make_client(make_server(root=memory / "root").address, prefix=slow.prefix)
    folder = source(slow.place / "m")
    drop(slow.place)
    slow.limit(read=RATE)
    assert limited_by(client.ok("push", "--json", folder, "ns/m")) == {"disk"}
    drop(slow.place)
    assert "limited by: client disk reads" in client.ok("push", folder, "ns/n").out


def test_a_reader_that_writes_slowly(slow, memory, make_server, make_client):
    client = make_client(make_server(root=memory / "root").address, prefix=slow.prefix)
    client.ok("push", source(memory / "m"), "ns/m")
    slow.limit(write=RATE)
    assert limited_by(client.ok("pull", "--json", "--io", "direct", "ns/m", slow.place / "to")) == {"disk"}
    assert "limited by: client disk writes" in client.ok("pull", "ns/m", slow.place / "again").out


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_slow_link(memory, make_server, make_client, direction):
    if netns.missing():
        pytest.skip(netns.missing())
    with netns.pair() as net:
        net.shape("300mbit")
        server = make_server(root=memory / "root", prefix=net.enter("s"), check_idle=False,
                             options=["--listen", f"{netns.SERVER}:0", "--no-auth"])
        client = make_client(server.address, prefix=net.enter("c"))
        pushed = client.ok("push", "--json", source(memory / "m"), "ns/m")
        result = pushed if direction == "push" else client.ok("pull", "--json", "ns/m", memory / "to")
        assert limited_by(result) == {"link"}, result
        server.stop()


def hogs(core, count):
    """Programs that never let go of a processor."""
    return [subprocess.Popen(["nice", "-n", "-15", "taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for _ in range(count)]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize("busy", ["server", "client"])
def test_a_busy_processor(memory, make_server, make_client, busy):
    """One side shares its processor with four that compute and go first; the other side has one to itself."""
    one, other = sorted(os.sched_getaffinity(0))[:2]
    shared, alone = ["taskset", "-c", str(one)], ["nice", "-n", "-15", "taskset", "-c", str(other)]
    server = make_server(root=memory / "root", prefix=shared if busy == "server" else alone)
    client = make_client(server.address, prefix=alone if busy == "server" else shared)
    folder = source(memory / "m", 64 * MB)
    programs = hogs(one, 4)
    try:
        result = client.ok("push", folder, "ns/m")
    finally:
        for program in programs:
            program.kill()
            program.wait()
    assert f"limited by: {busy} CPU" in result.out


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_limit_that_was_asked_for(client, work, direction):
    folder = source(work / "m")
    limit = ["--json", "--bwlimit", "60M"]
    pushed = client.ok("push", *(limit if direction == "push" else ["--json"]), folder, "ns/m")
    result = pushed if direction == "push" else client.ok("pull", *limit, "ns/m", work / "to")
    assert limited_by(result) == {"bwlimit"}, result


def test_the_source_is_said_to_come_from_the_page_cache_or_not(client, work):
    folder = source(work / "m", 48 * MB)
    assert client.json("push", folder, "ns/warm")["source_cached"] == 1
    drop(folder)
    assert client.json("push", folder, "ns/cold")["source_cached"] < 1
    assert client.json("pull", "ns/warm", work / "to")["source_cached"] is not None
    assert client.json("push", folder, "ns/warm", "--add")["source_cached"] is None  # nothing was sent
