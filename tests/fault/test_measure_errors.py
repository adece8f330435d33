"""Measuring a disk whose calls fail: said with the right status, or done in another way; and nothing of it stays."""

import pytest

from harness import wait_until

DISK = ["bench", "--size", "20M", "--rounds", "1", "--layer", "server-disk-write,server-disk-read"]


@pytest.fixture
def broken(make_server, make_client, shims, work):
    """A client of a daemon that meets this rule."""
    def make(rule, *options):
        server = make_server(preload=shims["shim_fail"], shim={"SHIM_FAIL": rule}, check_idle=False, options=list(options))
        return server, make_client(server.address)
    return make


def assert_nothing_left(server):
    """No file in the staging area, no descriptor of one."""
    assert server.staged() == []
    wait_until(lambda: not any("staging/#" in place or "(deleted)" in place for place in server.fds()),
               "the file that was measured with is closed")


@pytest.mark.parametrize("rule, status, word", [
    ("pwrite:EIO:1:/staging/", 7, "cannot write"), ("pwrite:ENOSPC:2:/staging/", 8, "cannot write"),
    ("pwrite:EDQUOT:2:/staging/", 8, "cannot write"), ("fdatasync:EIO:1:/staging/", 7, "cannot flush"),
    ("pread:EIO:1:/staging/", 7, "cannot read"), ("pread:ESTALE:2:/staging/", 1, "cannot read"),
    ("openat:EACCES:1:/staging/.", 7, "cannot make"), ("openat:EROFS:1:/staging/.", 7, "cannot make"),
])
def test_a_disk_that_fails(broken, work, rule, status, word):
    server, client = broken(rule)
    result = client.fails(status, *DISK, cwd=work)
    assert word in result.err and "measured with" in result.err
    assert_nothing_left(server)
    assert client.ok("ls")


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_disk_that_fails_in_the_background(broken, work, nth):
    """What the kernel could not store it tells the next that asks, once: here sync_file_range()."""
    server, client = broken(f"sync_file_range:EIO:{nth}", "--io", "buffered")
    result = client.fails(7, *DISK, cwd=work)
    assert "cannot write back" in result.err
    assert_nothing_left(server)


def test_a_file_system_without_writeback_by_range(broken, work):
    server, client = broken("sync_file_range:ENOSYS:1+", "--io", "buffered")
    assert len(client.json(*DISK, cwd=work)["layers"]) == 2


def test_a_name_that_cannot_be_taken_away(broken, work):
    """It would stay: so nothing is measured with it, and the second try takes it away."""
    server, client = broken("openat:EOPNOTSUPP:1:/staging/.,unlinkat:EIO:1")
    client.fails(7, *DISK, cwd=work)
    assert_nothing_left(server)


@pytest.mark.parametrize("error", ["EOPNOTSUPP", "EINVAL", "EISDIR"])
def test_a_file_system_without_nameless_files(broken, work, error):
    """Then one has a name for a moment."""
    server, client = broken(f"openat:{error}:1:/staging/.")
    layers = client.json(*DISK, cwd=work)["layers"]
    assert sorted(layer["layer"] for layer in layers) == ["server-disk-read", "server-disk-write"]
    assert_nothing_left(server)


def test_a_disk_that_wants_another_alignment(broken, work):
    """EINVAL by O_DIRECT: through the page cache, then."""
    server, client = broken("pwrite:EINVAL:1:/staging/")
    assert len(client.json(*DISK, cwd=work)["layers"]) == 2
    assert_nothing_left(server)


def test_free_space_that_is_not_told(broken, work):
    server, client = broken("fstatvfs:ENOSYS:1+")
    assert len(client.json(*DISK, cwd=work)["layers"]) == 2
    assert_nothing_left(server)
