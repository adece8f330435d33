"""What is pushed and pulled comes out byte for byte, whatever its sizes, numbers and names are."""

import os
import subprocess

import pytest

import models
from harness import BLOCK, MIB, pull, push, roundtrip

GIB = 1 << 30


@pytest.mark.sanitize
def test_files_of_all_sizes(server, client, src, dst):
    models.mixed(src, largest=60 * MIB)
    pushed, pulled = roundtrip(server, client, src, dst)
    for summary in (pushed, pulled):
        assert summary["files"] == {"total": 12, "sent": 12, "skipped": 0, "failed": 0}
        total = sum(p.stat().st_size for p in src.rglob("*.bin"))
        assert summary["bytes"] == {"total": total, "sent": total, "resumed": 0, "skipped": 0}


@pytest.mark.slow
def test_twelve_files_of_300_mb_to_1_kb(server, client, src, dst):
    models.mixed(src)
    roundtrip(server, client, src, dst)


@pytest.mark.sanitize
@pytest.mark.parametrize("streams", ["1", "2", "4", "8"])
def test_one_file_on_several_streams(server, client, src, dst, streams):
    models.rnd(src / "model.gguf", 100 * MIB + 12345, seed=int(streams))
    for summary in roundtrip(server, client, src, dst, "-n", streams):
        assert len(summary["streams"]) == int(streams)


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["1", "2", "4", "8"])
def test_one_file_of_3_gb_on_several_streams(server, client, src, dst, streams):
    models.rnd(src / "model.gguf", 3 * GIB + 4097, seed=int(streams))
    roundtrip(server, client, src, dst, "-n", streams, timeout=120)


@pytest.mark.sanitize
def test_many_tiny_files(server, client, src, dst):
    models.many(src, 1500)
    for summary in roundtrip(server, client, src, dst):
        assert summary["files"]["sent"] == 1500


@pytest.mark.slow
def test_20000_tiny_files(server, client, src, dst):
    models.many(src, 20_000)
    for summary in roundtrip(server, client, src, dst):
        assert summary["files"]["sent"] == 20_000


@pytest.mark.sanitize
@pytest.mark.parametrize("streams", ["1", "4"])
def test_sizes_around_a_block(server, client, src, dst, streams):
    roundtrip(server, client, models.edges(src), dst, "-n", streams)


@pytest.mark.sanitize
def test_odd_names(server, client, src, dst):
    roundtrip(server, client, models.odd_names(src), dst)


def test_sparse_file(server, client, src, dst):
    models.sparse(src / "sparse.bin", 200 * MIB + 5, [(150 * MIB, b"middle"), (200 * MIB, b"end!!")])
    roundtrip(server, client, src, dst)


@pytest.mark.slow
def test_sparse_file_of_5_gb(server, client, src, dst):
    size = 5 * GIB + 5
    models.sparse(src / "sparse.bin", size, [(2 * GIB - 2, b"2GiB"), (4 * GIB - 2, b"4GiB"), (size - 5, b"end!!")])
    roundtrip(server, client, src, dst, timeout=180)


@pytest.mark.sanitize
def test_hugging_face_snapshot(server, client, work, dst):
    snapshot = models.hf_cache(work / "hub")
    roundtrip(server, client, snapshot, dst, model="o/m")


def test_one_file_as_source(server, client, work, dst):
    file = models.rnd(work / "tiny.gguf", 3 * MIB, seed=5)
    push(client, file)
    pull(client, dst)
    assert sorted(models.files(dst)) == [b"tiny.gguf"] and models.same_bytes(file, dst / "tiny.gguf")


def test_linked_file_as_source(server, client, work, dst):
    file = models.rnd(work / "blob", 1000, seed=5)
    (work / "named.gguf").symlink_to(file)
    push(client, work / "named.gguf")
    pull(client, dst)
    assert sorted(models.files(dst)) == [b"named.gguf"]


def test_relative_paths_and_a_trailing_slash(server, client, small_model, work):
    push(client, "src/", cwd=work)
    pull(client, "deep/er/dst", cwd=work)
    models.assert_same(small_model, work / "deep/er/dst")
    push(client, ".", "ns/dot", cwd=small_model)
    models.assert_same(small_model, server.model("ns/dot"))


def test_pull_into_a_link_to_a_folder(server, client, small_model, work):
    """An operator's own path may be a link."""
    (work / "real").mkdir()
    (work / "dst").symlink_to("real")
    push(client, small_model)
    pull(client, work / "dst")
    models.assert_same(small_model, work / "real")


def test_root_may_be_a_link(make_server, make_client, small_model, work, dst):
    (work / "disk").mkdir()
    (work / "linked").symlink_to("disk")
    server = make_server(root=work / "linked")
    roundtrip(server, make_client(server.address), small_model, dst)


@pytest.mark.sanitize
@pytest.mark.parametrize("mode", ["auto", "buffered", "direct"])
def test_io_modes_on_both_sides(make_server, make_client, src, dst, mode):
    models.rnd(src / "large.bin", 40 * MIB + 777, seed=9)
    models.rnd(src / "small.bin", 5000, seed=10)
    server = make_server(options=["--io", mode])
    client = make_client(server.address)
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    pull(client, dst, "ns/m", "--io", mode)
    models.assert_same(src, dst)


def test_direct_io_on_a_file_system_without_it(make_server, make_client, src):
    """tmpfs is written in whatever way it can."""
    shm = "/dev/shm"
    if not os.path.ismount(shm):
        pytest.skip("no tmpfs at /dev/shm")
    models.rnd(src / "large.bin", 20 * MIB + 1, seed=9)
    place = subprocess.run(["mktemp", "-d", "-p", shm], check=True, capture_output=True, text=True).stdout.strip()
    try:
        server = make_server(root=f"{place}/root", options=["--io", "direct"])
        push(make_client(server.address), src)
        models.assert_same(src, server.model("ns/m"))
    finally:
        subprocess.run(["rm", "-r", place], check=True)


@pytest.mark.sanitize
def test_times_of_files_travel(server, client, src, dst):
    """Also before 1970 and after 2038: the skip decision compares them for equality."""
    stamps = {"now": 1_700_000_000_123_456_789, "old": -86_400_000_000_000, "zero": 0, "far": 4_070_908_800 * 10**9}
    for name, stamp in stamps.items():
        os.utime(models.rnd(src / name, 1000, seed=len(name)), ns=(stamp, stamp))
    roundtrip(server, client, src, dst)
    for name, stamp in stamps.items():
        assert (dst / name).stat().st_mtime_ns == stamp, name
        assert (server.model("ns/m") / name).stat().st_mtime_ns == stamp, name
    assert push(client, src)["bytes"]["sent"] == 0
    assert pull(client, dst)["bytes"]["sent"] == 0


@pytest.mark.sanitize
def test_two_clients_at_once(server, client, work):
    """Sessions do not disturb one another."""
    sources = [models.rnd(work / f"src{i}" / "w.bin", 3 * BLOCK + i, seed=i).parent for i in range(4)]
    pushes = [client.start("push", source, f"ns/m{i}") for i, source in enumerate(sources)]
    assert [p.wait().status for p in pushes] == [0] * 4
    pulls = [client.start("pull", f"ns/m{i % 4}", work / f"dst{i}") for i in range(8)]
    assert [p.wait().status for p in pulls] == [0] * 8
    for i in range(8):
        models.assert_same(sources[i % 4], work / f"dst{i}")
