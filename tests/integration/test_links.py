"""Links and special files: followed where they are data, never a way out (kinds M and L)."""

import os
import socket
import threading

import pytest

import models
from harness import listed, pull, push, roundtrip


def links(folder):
    """All symbolic links below a folder."""
    return [name for name, full in models.files(folder).items() if os.path.islink(full)]


@pytest.mark.sanitize
def test_b70_b71_snapshot_of_links_becomes_files(server, client, work, dst):
    snapshot = models.hf_cache(work / "hub")
    assert len(links(snapshot)) == 4
    pushed, _ = roundtrip(server, client, snapshot, dst, model="o/m")
    assert pushed["bytes"]["total"] == 3 * (1 << 20) + 3 + 5000
    assert links(server.root) == [] and links(dst) == []


def test_b70_snapshot_by_a_linked_path(server, client, work, dst):
    """The operator's own path may go through links."""
    snapshot = models.hf_cache(work / "hub")
    (work / "current").symlink_to(snapshot)
    roundtrip(server, client, work / "current", dst, model="o/m")


def test_b70_the_repo_folder_is_refused_with_advice(server, client, work):
    snapshot = models.hf_cache(work / "hub")
    result = client.fails(2, "push", snapshot.parents[1], "o/m")
    assert str(snapshot) in result.err or f"snapshots/{snapshot.name}" in result.err
    assert listed(client, "o/m") is None


@pytest.mark.sanitize
def test_b72_dangling_link_is_a_named_failure(server, client, src):
    for name in "abc":
        models.rnd(src / name, 1000, seed=ord(name))
    (src / "bad.bin").symlink_to("nowhere")
    result = client.fails(7, "--json", "push", src, "ns/m")
    assert [f["path"] for f in result.data["failed"]] == ["bad.bin"]
    assert result.data["files"]["failed"] == 1 and result.data["ok"] is False
    assert "bad.bin" in client.fails(7, "push", src, "ns/m").err
    entry = listed(client, "ns/m")
    assert entry["state"] == "incomplete" and not server.model("ns/m").exists()
    (src / "bad.bin").unlink()
    push(client, src)
    models.assert_same(src, server.model("ns/m"))


def test_b72_dangling_link_in_the_root(server, client, small_model, dst):
    """Every model is still listed, the odd one is marked."""
    push(client, small_model, "ns/good")
    push(client, small_model, "ns/odd")
    (server.model("ns/odd") / "bad.bin").symlink_to("nowhere")
    models_ = client.json("ls")["models"]
    assert [m["name"] for m in models_] == ["ns/good", "ns/odd"]
    text = client.ok("ls").out
    odd, good = (next(line for line in text.splitlines() if name in line) for name in ("ns/odd", "ns/good"))
    assert len(odd.split()) > len(good.split()), text
    pull(client, dst, "ns/good")
    models.assert_same(small_model, dst)


@pytest.mark.sanitize
def test_b73_links_to_folders_are_not_followed(server, client, src, dst):
    """Loops end at once, nothing is sent twice; each link is told of."""
    models.rnd(src / "w.bin", 1000, seed=1)
    models.rnd(src / "sub" / "x.bin", 1000, seed=2)
    (src / "loop").symlink_to(".")
    (src / "sub" / "up").symlink_to("..")
    (src / "again").symlink_to("sub")
    result = client.ok("push", src, "ns/m", timeout=5)
    assert all(name in result.err for name in ("loop", "sub/up", "again"))
    assert sorted(models.files(server.model("ns/m"))) == [b"sub/x.bin", b"w.bin"]


def test_b73_links_in_a_circle_are_dangling(server, client, src):
    models.rnd(src / "w.bin", 1000, seed=1)
    (src / "a").symlink_to("b")
    (src / "b").symlink_to("a")
    result = client.fails(7, "--json", "push", src, "ns/m", timeout=5)
    assert sorted(f["path"] for f in result.data["failed"]) == ["a", "b"]


@pytest.mark.sanitize
def test_special_files_are_skipped_and_never_opened(server, client, src):
    """A FIFO would hang whoever opens it."""
    models.rnd(src / "w.bin", 1000, seed=1)
    os.mkfifo(src / "fifo")
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(src / "socket"))
    (src / "to-fifo").symlink_to("fifo")
    if os.geteuid() == 0:
        os.mknod(src / "null", 0o600 | 0o020000, os.makedev(1, 3))
    result = client.ok("push", src, "ns/m", timeout=5)
    sock.close()
    assert "fifo" in result.err and "socket" in result.err
    assert sorted(models.files(server.model("ns/m"))) == [b"w.bin"]


def test_special_files_in_the_root_are_not_served(server, client, small_model, dst):
    push(client, small_model)
    os.mkfifo(server.model("ns/m") / "fifo")
    assert listed(client, "ns/m")["files"] == 3
    pull(client, dst, timeout=10)
    models.assert_same(small_model, dst)
    client.ok("verify", "ns/m", timeout=10)
    push(client, small_model, timeout=10)


def test_hard_links_are_files(server, client, src, dst):
    models.rnd(src / "a", 100_000, seed=1)
    os.link(src / "a", src / "b")
    roundtrip(server, client, src, dst)
    (dst / "a").write_text("changed")
    assert (dst / "b").stat().st_size == 100_000


# L: symbolic links as a way out of root or destination.

@pytest.fixture
def outside(work):
    """A folder that nothing may touch; checked at the end."""
    place = work / "outside"
    place.mkdir()
    (place / "precious").write_text("precious")
    yield place
    assert [p.name for p in place.iterdir()] == ["precious"]
    assert (place / "precious").read_text() == "precious"


@pytest.mark.sanitize
def test_b68_link_in_the_live_model(server, client, small_model, outside, dst):
    """A push puts a real folder in its place, and nothing through it."""
    push(client, small_model)
    models.rnd(outside / "part.bin", 70_000, seed=2)
    os.utime(outside / "part.bin", ns=(0, (small_model / "sub" / "part.bin").stat().st_mtime_ns))
    os.rename(server.model("ns/m") / "sub", server.work / "away")
    (server.model("ns/m") / "sub").symlink_to(outside)
    result = client.fails(7, "pull", "ns/m", dst)
    assert "sub/part.bin" in result.err and not dst.exists()
    push(client, small_model)
    (outside / "part.bin").unlink()
    models.assert_same(small_model, server.model("ns/m"))
    assert not (server.model("ns/m") / "sub").is_symlink()


def test_b68_file_link_in_the_live_model_is_not_served(server, client, small_model, outside, dst):
    push(client, small_model)
    (server.model("ns/m") / "leak").symlink_to(outside / "precious")
    assert "leak" not in {f["path"] for f in client.json("info", "ns/m")["files"]}
    pull(client, dst)
    models.assert_same(small_model, dst)


@pytest.mark.sanitize
def test_b68_rm_does_not_follow_links(server, client, small_model, outside):
    push(client, small_model)
    (server.model("ns/m") / "away").symlink_to(outside)
    client.ok("rm", "-y", "ns/m")
    assert not server.model("ns/m").exists()
    server.assert_no_leftovers()


@pytest.mark.sanitize
def test_b68_namespace_or_model_as_a_link(server, client, small_model, outside):
    """Below the root no link is followed, not even one to a whole namespace."""
    (outside / "precious").unlink()
    (outside / "precious").write_text("precious")
    (server.root / "ns").symlink_to(outside)
    (server.root / "real").mkdir()
    (server.root / "real" / "m").symlink_to(outside)
    assert client.json("ls")["models"] == []
    for model in ("ns/m", "real/m"):
        assert client.run("pull", model, server.work / "dst").status != 0
        assert client.run("rm", "-y", model).status != 0
        result = client.run("push", small_model, model)
        if result.status == 0:
            assert not os.path.islink(server.model(model)) and not os.path.islink(server.model(model).parent)
            models.assert_same(small_model, server.model(model))


@pytest.mark.sanitize
def test_b68_link_in_the_destination(server, client, small_model, outside, dst):
    push(client, small_model)
    dst.mkdir()
    (dst / "sub").symlink_to(outside)
    result = client.run("pull", "ns/m", dst)
    if result.status == 0:
        models.assert_same(small_model, dst)
        assert not (dst / "sub").is_symlink()
    else:
        assert "sub" in result.err
        assert sorted(models.files(dst, skip=(".mstore",))) == [b"sub"]


def test_b68_file_link_in_the_destination_is_replaced(server, client, small_model, outside, dst):
    push(client, small_model)
    dst.mkdir()
    (dst / "config.json").symlink_to(outside / "precious")
    result = client.run("pull", "ns/m", dst)
    if result.status == 0:
        models.assert_same(small_model, dst)


@pytest.mark.sanitize
def test_b68_race_between_folder_and_link(server, client, small_model, outside):
    """Somebody swaps a folder of the staging area and of the live model for a link, again and again."""
    push(client, small_model)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for top in (server.model("ns/m"), server.root / ".mstore" / "staging" / "ns" / "m"):
                try:
                    os.rename(top / "sub", server.work / "parked")
                    os.symlink(outside, top / "sub")
                    os.unlink(top / "sub")
                    os.rename(server.work / "parked", top / "sub")
                except OSError:
                    pass
    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    try:
        for turn in range(40):
            models.rnd(small_model / "sub" / "part.bin", 1000 + turn, seed=turn)
            client.run("push", small_model, "ns/m")
    finally:
        stop.set()
        thread.join(10)
    client.ok("push", small_model, "ns/m")
