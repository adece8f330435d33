"""Hash once, check everywhere: what the server hashes, and who finds a flipped bit."""

import os
import shutil

import pytest

import cproxy
import models
from harness import BLOCK, MIB, listed, pull, push, wait_until


def hashed(server, number):
    """The server's counters of hashed bytes once `number` transfers have ended."""
    return wait_until(lambda: len(server.hashed_bytes()) >= number and server.hashed_bytes(), f"{number} transfers")


@pytest.mark.sanitize
def test_a_push_is_hashed_and_a_pull_is_not(server, client, src, dst, work):
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    models.rnd(src / "x.bin", 1000, seed=2)
    push(client, src)
    pull(client, dst)
    pull(client, work / "dst2", "ns/m", "-n", "1")
    counters = hashed(server, 3)
    assert counters == [20 * MIB + 1000, 0, 0]


@pytest.mark.sanitize
def test_files_of_other_means_are_hashed_once(server, client, small_model, dst, work):
    """Copied into the root by hand: listed at once, hashed on the way out, kept."""
    shutil.copytree(small_model, server.model("by/hand"))
    size = sum(p.stat().st_size for p in small_model.rglob("*") if p.is_file())
    entry = listed(client, "by/hand")
    assert (entry["state"], entry["files"], entry["bytes"]) == ("complete", 3, size)
    assert [f["hash"] for f in client.json("info", "by/hand")["files"]] == [None, None, None]
    pull(client, dst, "by/hand")
    models.assert_same(small_model, dst)
    pull(client, work / "dst2", "by/hand")
    assert hashed(server, 2) == [size, 0]
    for file in client.json("info", "by/hand")["files"]:
        assert file["hash"] == models.file_hash_of_protocol(small_model / file["path"])
    assert sorted(models.files(server.model("by/hand"))) == sorted(models.files(small_model))


def test_verify_hashes_files_of_other_means(server, client, small_model, dst):
    shutil.copytree(small_model, server.model("by/hand"))
    first = client.ok("verify", "by/hand").out
    assert "new  " in first and "had none" in first
    second = client.ok("verify", "by/hand").out
    assert "new  " not in second and "had none" not in second
    pull(client, dst, "by/hand")
    assert hashed(server, 1)[-1] == 0


def test_verify_does_not_say_that_a_file_cut_by_hand_matches(server, client, small_model):
    """It has no hash any more: it is named, and the number of files that match does not count it."""
    push(client, small_model)
    name = next(p for p in sorted(server.model("ns/m").iterdir()) if p.is_file() and p.stat().st_size > 1)
    os.truncate(name, name.stat().st_size - 1)
    out = client.ok("verify", "ns/m").out
    count = len(models.files(small_model))
    assert f"new  {name.name}" in out and f"{count - 1} files match" in out, out


def test_kept_hashes_outlive_the_daemon(server, client, small_model, dst):
    shutil.copytree(small_model, server.model("by/hand"))
    pull(client, dst, "by/hand")
    server.restart()
    shutil.rmtree(dst)
    pull(client, dst, "by/hand")
    assert hashed(server, 2)[-1] == 0


@pytest.mark.sanitize
def test_changed_by_other_means_is_unknown_again(server, client, small_model, dst):
    """Never a wrong hash: the new bytes are served, hashed anew, and kept."""
    push(client, small_model)
    file = server.model("ns/m") / "sub" / "part.bin"
    models.rnd(file, 70_000, seed=77)
    (server.model("ns/m") / "added.txt").write_text("by hand")
    info = {f["path"]: f["hash"] for f in client.json("info", "ns/m")["files"]}
    assert info.keys() == {"sub/part.bin", "added.txt", "model.safetensors", "config.json"}
    assert info["sub/part.bin"] is None and info["added.txt"] is None and info["model.safetensors"]
    pull(client, dst)
    models.assert_same(server.model("ns/m"), dst)
    assert hashed(server, 2)[1] == 70_000 + 7


def test_file_removed_by_other_means_is_missed(server, client, small_model, dst):
    """The manifest says what belongs to the model: B21, no model with a silent hole."""
    push(client, small_model)
    (server.model("ns/m") / "sub" / "part.bin").unlink()
    result = client.fails(7, "pull", "ns/m", dst)
    assert "sub/part.bin" in result.err and not dst.exists()
    assert client.run("verify", "ns/m").status == 7
    push(client, small_model)
    pull(client, dst)
    models.assert_same(small_model, dst)


def test_hashes_do_not_ask_for_the_inode(server, client, small_model, dst):
    """A root restored from a backup keeps its proof: copied and renamed back, with times."""
    push(client, small_model)
    live = server.model("ns/m")
    shutil.copytree(live, live.with_name("copy"))
    shutil.rmtree(live)
    live.with_name("copy").rename(live)
    pull(client, dst)
    models.assert_same(small_model, dst)
    assert hashed(server, 2) == [hashed(server, 1)[0], 0]


def test_include_hashes_only_what_travels(server, client, small_model, dst):
    shutil.copytree(small_model, server.model("by/hand"))
    pull(client, dst, "by/hand", "--include", "*.bin")
    assert hashed(server, 1) == [70_000]
    info = {f["path"]: f["hash"] for f in client.json("info", "by/hand")["files"]}
    assert info["sub/part.bin"] and info["config.json"] is None


def test_folders_without_files_are_no_models(server, client):
    (server.root / "ns" / "empty").mkdir(parents=True)
    (server.root / "lonely").write_text("a file in the root")
    (server.root / "ns" / "file").write_text("a file in a namespace")
    assert client.json("ls")["models"] in ([], [listed(client, "ns/empty")])


# Flipped bits.

@pytest.mark.sanitize
@pytest.mark.parametrize("offset, block", [(100, 0), (BLOCK - 1, 0), (BLOCK, 1), (20 * MIB - 1, 2)])
def test_bit_rot_on_the_server_is_found_by_the_client(server, client, src, dst, offset, block):
    """Status 5, the file and the block are named, and DST is as it was."""
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    models.rnd(src / "x.bin", 1000, seed=1)
    push(client, src)
    (dst / "sub").mkdir(parents=True)
    (dst / "mine").write_text("mine")
    (dst / "x.bin").write_text("an older version")
    before = models.thash(dst)
    models.flip_byte(server.model("ns/m") / "w.bin", offset)
    result = client.fails(5, "pull", "ns/m", dst)
    assert "w.bin" in result.err and f"block {block}" in result.err
    assert models.thash(dst, skip=(".mstore",)) == before
    data = client.fails(5, "--json", "pull", "ns/m", dst).data
    assert data["ok"] is False and data["verified"] is False and data["error"]["code"] == "hash-mismatch"
    assert [f["path"] for f in data["failed"]] == ["w.bin"]
    assert hashed(server, 3)[1:] == [0, 0]


def test_bit_rot_heals_by_a_push_with_checksum(server, client, src, dst):
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    push(client, src)
    models.flip_byte(server.model("ns/m") / "w.bin", 100)
    client.fails(5, "verify", "ns/m")
    push(client, src, "ns/healed")
    pull(client, dst, "ns/healed")
    models.assert_same(src, dst)


@pytest.mark.sanitize
@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("where", [10, 40, 5_000_000, 9_000_000])
def test_b12_bit_flipped_on_the_wire(server, client, make_client, make_proxy, src, dst, command, where):
    """In a header or in the data of a data connection: noticed, sent again, equal in the end."""
    models.rnd(src / "w.bin", 3 * BLOCK, seed=1)
    push(client, src, "ns/stored")
    direction = "c2s" if command == "push" else "s2c"
    proxy = make_proxy(server.address, cproxy.flip(48 + where, conn=1, dir=direction))
    through = make_client(proxy.address)
    if command == "push":
        push(through, src, "ns/m", "-n", "1")
        models.assert_same(src, server.model("ns/m"))
    else:
        pull(through, dst, "ns/stored", "-n", "1")
        models.assert_same(src, dst)
    assert proxy.rules[0].hits == 1
    assert proxy.bytes(direction) < 3 * BLOCK + 2 * BLOCK, "only the bad block travels again"
    server.assert_no_leftovers()


def test_b12_every_copy_of_a_block_flipped(server, client, make_client, make_proxy, src, dst):
    """A link that damages each connection is not believed: 5 or 6, and nothing is published."""
    models.rnd(src / "w.bin", BLOCK, seed=1)
    push(client, src, "ns/stored")
    flips = [cproxy.flip(48 + 1000 + n * (BLOCK + 56), conn=range(1, 50)) for n in range(6)]
    proxy = make_proxy(server.address, *flips)
    through = make_client(proxy.address)
    assert through.run("push", src, "ns/m", "--retries", "1").status in (5, 6)
    assert not server.model("ns/m").exists()
    assert through.run("pull", "ns/stored", dst, "--retries", "1").status in (5, 6)
    assert not (dst / "w.bin").exists()


def test_flip_in_the_control_connection(server, client, make_client, make_proxy, small_model, dst):
    """A damaged listing must not become a wrong model."""
    push(client, small_model)
    for at in (60, 100, 200, 400):
        proxy = make_proxy(server.address, cproxy.flip(at, conn=0, dir="s2c"))
        result = make_client(proxy.address).run("pull", "ns/m", dst, "--retries", "0")
        assert proxy.rules[0].hits == 1 and result.status != 0, result
        assert models.files(dst, skip=(".mstore",)) == {} if dst.exists() else True
    pull(client, dst)
    models.assert_same(small_model, dst)


def test_source_of_a_wrong_time_is_sent_whole(server, client, src):
    """Set back to an older time with other content: equality counts, never order (B93)."""
    file = models.rnd(src / "w.bin", 100_000, seed=1)
    os.utime(file, ns=(0, 4_000_000_000 * 10**9))
    push(client, src)
    models.rnd(file, 100_000, seed=2)
    os.utime(file, ns=(0, 86_400 * 10**9))
    assert push(client, src)["files"]["sent"] == 1
    models.assert_same(src, server.model("ns/m"))
