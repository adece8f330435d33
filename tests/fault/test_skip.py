"""What counts as already there (kind Q)."""

import os
import shutil

import pytest

import models
from harness import MIB, pull, push


def replace(path, seed, mtime_ns):
    """Another file of the same size and name, with a given mtime."""
    size = path.stat().st_size
    path.unlink()
    models.rnd(path, size, seed=seed)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def test_b91_copy_of_the_source_is_not_sent_again(server, client, src, work):
    """From another place, another machine or after a restore: not the same file, but the same bytes."""
    models.rnd(src / "w.bin", 4 * MIB, seed=1)
    push(client, src)
    copy = work / "copy"
    shutil.copytree(src, copy)
    assert (copy / "w.bin").stat().st_ino != (src / "w.bin").stat().st_ino
    assert push(client, copy)["files"]["sent"] == 0
    assert push(client, copy)["files"]["sent"] == 0


@pytest.mark.parametrize("later_ns", [1, 1_000_000, 1_000_000_000, 2_000_000_000, 3_000_000_000, -1_000_000_000])
def test_b91_same_size_other_mtime_is_sent(server, client, src, dst, later_ns):
    """However little the mtime differs: files are written many times a second, and two runs may be close."""
    models.rnd(src / "w.bin", MIB, seed=1)
    mtime = 1_700_000_000_500_000_000
    os.utime(src / "w.bin", ns=(mtime, mtime))
    push(client, src)
    pull(client, dst)
    replace(src / "w.bin", 2, mtime + later_ns)
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    pull(client, dst)
    models.assert_same(src, dst)


def test_b91_equal_mtime_is_found_and_rot_by_verify(server, client, src, dst):
    """A file of the same size and mtime in the place of another is sent: it is not the file that was pushed, and its
    hash is another. A bit that rots on the server is found by verify and named, and never reaches a final name by a
    pull."""
    models.rnd(src / "w.bin", 4 * MIB, seed=1)
    push(client, src)
    for seed, options in ((2, ()), (3, ("--checksum",))):
        replace(src / "w.bin", seed, (src / "w.bin").stat().st_mtime_ns)
        assert push(client, src, "ns/m", *options)["files"]["sent"] == 1
        models.assert_same(src, server.model("ns/m"))
    models.flip_byte(server.model("ns/m") / "w.bin", 1_000_000)
    result = client.fails(5, "verify", "ns/m")
    assert "w.bin" in result.out + result.err
    client.fails(5, "pull", "ns/m", dst)
    assert not (dst / "w.bin").exists()


def test_b91_push_repairs_what_verify_found(server, client, src):
    """A file that verify has found damaged does not count as already there."""
    models.rnd(src / "w.bin", 4 * MIB, seed=1)
    push(client, src)
    models.flip_byte(server.model("ns/m") / "w.bin", 1_000_000)
    models.rnd(src / "good.bin", MIB, seed=2)
    push(client, src)
    client.fails(5, "verify", "ns/m")
    assert push(client, src, "ns/m", "--checksum")["files"] == {"total": 2, "sent": 1, "skipped": 1, "failed": 0}
    models.assert_same(src, server.model("ns/m"))
    client.ok("verify", "ns/m")


# B93: times are compared for equality, never for order.

STAMPS = {"2099": 4_070_908_800, "1970": 0, "before 1970": -86_400 * 365, "fraction": 1_700_000_000.987654321,
          "before 1970 with a fraction": -1.25}


@pytest.mark.parametrize("stamp", STAMPS)
def test_b93_any_mtime_arrives_and_counts_as_equal(server, client, src, dst, stamp):
    models.rnd(src / "w.bin", MIB, seed=1)
    nanoseconds = round(STAMPS[stamp] * 10**9)
    os.utime(src / "w.bin", ns=(nanoseconds, nanoseconds))
    push(client, src)
    pull(client, dst)
    for place in (server.model("ns/m"), dst):
        assert (place / "w.bin").stat().st_mtime_ns == (src / "w.bin").stat().st_mtime_ns
    assert push(client, src)["files"]["sent"] == 0 and pull(client, dst)["files"]["sent"] == 0


def test_b93_older_source_replaces_newer_copy(server, client, src, dst):
    """What is newer does not win: the source does, in both directions."""
    models.rnd(src / "w.bin", MIB, seed=1)
    os.utime(src / "w.bin", (4_070_908_800, 4_070_908_800))
    push(client, src)
    pull(client, dst)
    replace(src / "w.bin", 2, 10**18)
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    os.utime(dst / "w.bin", (4_000_000_000, 4_000_000_000))
    pull(client, dst)
    models.assert_same(src, dst)


def test_b93_clocks_of_the_hosts_do_not_matter(make_server, make_client, shims, src, dst):
    """A daemon whose clock is far off stages, expires and publishes as any other."""
    twenty_years = 20 * 365 * 86_400
    for offset in (-twenty_years, twenty_years):
        server = make_server(preload=shims["shim_clock"], shim={"SHIM_CLOCK": offset}, name=f"clock{offset}")
        client = make_client(server.address)
        models.rnd(src / "w.bin", MIB, seed=1)
        push(client, src)
        assert push(client, src)["files"]["sent"] == 0
        replace(src / "w.bin", 2, 10**18)
        push(client, src)
        pull(client, dst)
        models.assert_same(src, dst)
        server.stop()
