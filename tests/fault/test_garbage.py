"""What is removed is gone, what nobody needs is collected, and nothing else is touched (kind U). The model checker of
B107 is test_model_checker."""

import os
import time

import pytest

import cproxy
import faults
import models
from harness import MIB, listed, pull, push, wait_until


def test_b108_empty_namespaces_go(server, client, small_model):
    for name in ("ns/a", "ns/b", "other/c"):
        push(client, small_model, name)
    client.ok("rm", "-y", "ns/a")
    assert sorted(p.name for p in server.root.iterdir()) == [".mstore", "ns", "other"]
    client.ok("rm", "-y", "ns/b")
    assert sorted(p.name for p in server.root.iterdir()) == [".mstore", "other"]
    faults.settled_trash(server)
    top = server.root / ".mstore"
    kept = [p.relative_to(top).as_posix() for p in top.rglob("*") if "ns" in p.parts and "lock" not in p.parts]
    assert kept == []


def test_b108_foreign_files_keep_a_namespace(server, client, small_model):
    """Somebody's own file is not ours to remove."""
    push(client, small_model)
    (server.root / "ns" / "README").write_text("mine")
    client.ok("rm", "-y", "ns/m")
    assert (server.root / "ns" / "README").read_text() == "mine" and listed(client, "ns/m") is None


@pytest.mark.parametrize("rounds", [15, pytest.param(150, marks=pytest.mark.slow)])
def test_b108_rm_while_another_model_arrives(server, client, work, rounds):
    """The namespace goes and comes at once."""
    a, c = (models.rnd(work / name / "f", 1000, seed=n).parent for n, name in enumerate("ac"))
    for _ in range(rounds):
        push(client, a, "ns/a")
        running = [client.start("rm", "-y", "ns/a"), client.start("push", c, "ns/c")]
        results = [r.wait() for r in running]
        assert [r.status for r in results] == [0, 0], results
        models.assert_same(c, server.model("ns/c"))
        client.ok("rm", "-y", "ns/c")
        assert not (server.root / "ns").exists()
    faults.assert_clean(server)


def test_b107_rm_of_an_unfinished_push(server, client, make_client, make_proxy, src):
    """`ls` shows it, rm removes it, nothing of it counts as there afterwards."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(12e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "1", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 17 * MIB, "two thirds passed")
    proxy.cut()
    assert running.wait().status == 6
    entry = wait_until(lambda: listed(client, "ns/m"), "it is listed")
    assert entry["state"] == "incomplete" and entry["bytes_present"] >= 8 * MIB
    wait_until(lambda: client.run("rm", "-y", "ns/m").status == 0, "the session has let go")
    assert listed(client, "ns/m") is None
    faults.assert_clean(server)
    client.fails(3, "rm", "-y", "ns/m")
    assert push(client, src)["bytes"]["resumed"] == 0


def test_b107_old_staging_goes_and_young_stays(make_server, make_client, make_proxy, src):
    """At start-up: older than --staging-days is removed, younger is kept, and so is what is damaged and young."""
    server = make_server(options=["--staging-days", "3"])
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    for name in ("ns/old", "ns/young"):
        proxy = make_proxy(server.address, cproxy.rate(12e6))
        running = make_client(proxy.address).start("push", src, name, "-n", "1", "--retries", "0")
        wait_until(lambda: proxy.bytes("c2s") > 10 * MIB, "it is under way")
        proxy.cut()
        running.wait()
    server.stop()
    top = server.root / ".mstore" / "staging" / "ns"
    for name, days in (("old", 4), ("young", 2)):
        stamp = time.time() - days * 86400
        for place, folders, names in os.walk(top / name, topdown=False):
            for entry in names + folders:
                os.utime(os.path.join(place, entry), (stamp, stamp))
        os.utime(top / name, (stamp, stamp))
    server.start(check_idle=False)
    wait_until(lambda: not (top / "old").exists(), "what is old is removed")
    client = make_client(server.address)
    assert listed(client, "ns/old") is None and listed(client, "ns/young")["state"] == "incomplete"
    assert push(client, src, "ns/young")["bytes"]["resumed"] >= 8 * MIB
    faults.assert_clean(server)


def test_b107_trash_of_a_former_life_goes(server, client, small_model):
    """What a killed daemon left in the trash is emptied at start-up, folders of any shape."""
    push(client, small_model)
    server.kill()
    place = server.root / ".mstore" / "trash" / "ns" / "gone" / "0123456789abcdef" / "deep" / "er"
    place.mkdir(parents=True)
    (place / "w.bin").write_bytes(b"x" * 100_000)
    (place / "link").symlink_to(small_model)
    server.start(check_idle=False)
    faults.settled_trash(server)
    assert (small_model / "config.json").exists()
    pull(client, server.work / "copy")


def test_b107_temporary_files_in_staging_go(server, client, make_client, make_proxy, src):
    """A partial that no record knows is not kept beside the new one."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(12e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "1", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 10 * MIB, "it is under way")
    server.kill()
    running.wait()
    tree = server.root / ".mstore" / "staging" / "ns" / "m" / "tree"
    (tree / ".w.bin.0000000000000000").write_bytes(bytes(MIB))
    (tree / "stranger").mkdir()
    (tree / "stranger" / "f").write_bytes(b"x")
    server.start(check_idle=False)
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    faults.assert_clean(server)


@pytest.mark.parametrize("then", ["nothing", "another version"])
def test_b23_rm_during_a_pull(server, client, make_client, make_proxy, src, dst, work, then):
    """The pull gets the version it began with; afterwards nothing of it is left, and a new push sends everything."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    push(client, src)
    proxy = make_proxy(server.address, cproxy.rate(8e6))
    running = make_client(proxy.address).start("pull", "ns/m", dst, "-n", "1", "--retries", "0")
    wait_until(lambda: proxy.bytes("s2c") > 3 * MIB, "the pull is under way")
    assert client.ok("rm", "-y", "ns/m").seconds < 2
    assert listed(client, "ns/m") is None and not (server.root / "ns").exists()
    if then == "another version":
        other = models.rnd(work / "other" / "w.bin", 3 * MIB, seed=2).parent
        assert push(client, other)["bytes"]["sent"] == 3 * MIB
    result = running.wait()
    assert result.status == 0, result
    models.assert_same(src, dst)
    faults.assert_clean(server)
    assert push(client, src)["bytes"]["sent"] == 24 * MIB
    pull(client, work / "second")
    models.assert_same(src, work / "second")


@pytest.mark.parametrize("what", ["1.json", "1.blocks"])
def test_b107_old_manifest_that_could_not_be_removed(server, client, shims, work, what):
    """Once it failed; later pushes tidy up after it."""
    versions = [faults.version(work / f"v{n}", n) for n in range(3)]
    push(client, versions[0])
    server.stop()
    server.wrap.update(preload=shims["shim_fail"], shim={"SHIM_FAIL": f"unlinkat:EIO:1:/meta/ns/m/{what}"})
    server.start(check_idle=False)
    client.run("push", versions[1], "ns/m")
    assert faults.which(server.model("ns/m"), versions) == 1
    push(client, versions[2])
    faults.assert_clean(server)
    models.assert_same(versions[2], server.model("ns/m"))
