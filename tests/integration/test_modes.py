"""Modes and owners: what others may read stays readable (kind P)."""

import os
import stat
from pathlib import Path

import pytest

import models
from harness import NOBODY, REPO, pull, push


def with_umask(value):
    """Words that run a program under this umask."""
    return ["sh", "-c", f'umask {value}; exec "$@"', "sh"]


def modes(folder):
    """The permission bits that occur: (of files, of folders)."""
    files, folders = set(), {stat.S_IMODE(Path(folder).stat().st_mode)}
    for path in Path(folder).rglob("*"):
        (folders if path.is_dir() else files).add(stat.S_IMODE(path.stat().st_mode))
    return files, folders


@pytest.mark.sanitize
@pytest.mark.parametrize("umask, file, folder", [("022", 0o644, 0o755), ("077", 0o600, 0o700), ("002", 0o664, 0o775)])
def test_b88_modes_follow_the_umask(make_server, make_client, small_model, dst, umask, file, folder):
    """On both sides, whatever the modes of the source are."""
    (small_model / "config.json").chmod(0o600)
    (small_model / "model.safetensors").chmod(0o777)
    server = make_server(prefix=with_umask(umask))
    client = make_client(server.address)
    push(client, small_model)
    assert modes(server.root / "ns") == ({file}, {folder})
    pull(client, dst, prefix=with_umask(umask))
    assert modes(dst) == ({file}, {folder})


def test_b88_setgid_folders_are_honoured(make_server, make_client, small_model, work):
    """A share for a group: root and destination have the bit and the group."""
    for place in (work / "root", work / "share"):
        place.mkdir()
        os.chown(place, -1, 12345)
        place.chmod(0o2775)
    server = make_server(prefix=with_umask("002"))
    client = make_client(server.address)
    push(client, small_model)
    pull(client, work / "share" / "m", prefix=with_umask("002"))
    for top in (server.root / "ns", work / "share" / "m"):
        for path in [top, *top.rglob("*")]:
            assert path.stat().st_gid == 12345, path
            assert not path.is_dir() or path.stat().st_mode & stat.S_ISGID, path
            assert path.is_dir() or stat.S_IMODE(path.stat().st_mode) == 0o664


def test_read_only_source_folders(server, client, small_model, dst):
    """Modes of the source do not travel, so they cannot lock the copy."""
    (small_model / "sub").chmod(0o555)
    for path in small_model.rglob("*.bin"):
        path.chmod(0o444)
    for _ in range(2):
        push(client, small_model)
        pull(client, dst)
    models.rnd(small_model / "sub" / "part.bin", 70_001, seed=3)
    push(client, small_model)
    pull(client, dst)
    models.assert_same(small_model, dst)


@pytest.mark.parametrize("error", ["EPERM", "EOPNOTSUPP"])
def test_b89_attributes_that_cannot_be_set(make_server, make_client, shims, small_model, dst, error):
    """A share that refuses owners, modes, times and attributes still stores the bytes."""
    calls = ("fchown", "fchownat", "fchmod", "fchmodat", "futimens", "utimensat", "fsetxattr", "chmod")
    shim = {"SHIM_FAIL": ",".join(f"{call}:{error}:1+" for call in calls)}
    server = make_server(preload=shims["shim_fail"], shim=shim)
    client = make_client(server.address)
    client.ok("push", small_model, "ns/m")
    models.assert_same(small_model, server.model("ns/m"))
    client.ok("pull", "ns/m", dst, preload=shims["shim_fail"], shim=shim)
    models.assert_same(small_model, dst)


@pytest.mark.sanitize
def test_b89_daemon_without_rights_in_a_namespace(make_server, make_client, small_model, work):
    root = work / "root"
    (root / "theirs").mkdir(parents=True)
    os.chown(root, NOBODY, NOBODY)
    work.chmod(0o777)
    server = make_server(root=root, user=NOBODY)
    client = make_client(server.address)
    push(client, small_model, "mine/m")
    result = client.run("push", small_model, "theirs/m")
    assert result.status in (1, 4, 7) and "ermission denied" in result.err and "theirs" in result.err, result
    assert list((root / "theirs").iterdir()) == []
    client.ok("verify", "mine/m")


def test_b89_unreadable_file_in_the_root(make_server, make_client, small_model, work, dst):
    """A pull names it and leaves DST alone."""
    root = work / "root"
    root.mkdir()
    os.chown(root, NOBODY, NOBODY)
    work.chmod(0o777)
    server = make_server(root=root, user=NOBODY)
    client = make_client(server.address)
    push(client, small_model)
    file = server.model("ns/m") / "sub" / "part.bin"
    os.chown(file, 0, 0)
    file.chmod(0o600)
    result = client.run("--json", "pull", "ns/m", dst)
    assert result.status in (1, 7) and "sub/part.bin" in result.err + result.out, result
    assert models.files(dst, skip=(".mstore",)) == {} if dst.exists() else True


def test_b90_parallel_pushes_have_equal_modes(make_server, make_client, small_model):
    server = make_server(prefix=with_umask("027"))
    client = make_client(server.address)
    pushes = [client.start("push", small_model, f"ns/m{i}") for i in range(8)]
    assert [p.wait().status for p in pushes] == [0] * 8
    assert modes(server.root / "ns") == ({0o640}, {0o750})


def test_b90_umask_is_not_touched_after_the_start():
    """It belongs to the process, so a change in one thread would hit the others."""
    places = [path.name for folder in ("server", "client", "common", "proto")
              for path in (REPO / folder).glob("*.c") if "umask(" in path.read_text()]
    assert set(places) <= {"main.c"}
