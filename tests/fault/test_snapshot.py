"""A model is all of one version (kind D)."""

import os

import cproxy
import faults
import models
from harness import MIB, Client, listed, wait_until


# B19: what is shown of a model belongs to the version that is there, also after a crash in the middle of publishing.

def crash_before_the_exchange(server, client, shims, src, *options):
    """A push that is killed with its manifest written and its folder not yet in place."""
    server.stop()
    server.wrap.update(preload=shims["shim_fail"], shim={"SHIM_FAIL": "renameat2:KILL:2:/root/ns/m"})
    server.start(check_idle=False)
    result = client.run("push", src, "ns/m", "--retries", "0", *options)
    assert result.status == 6 and not server.is_running, result
    server.kill()
    server.wrap.update(preload=None, shim=None)
    server.start(check_idle=False)


def test_b19_crash_before_the_exchange_shows_the_old_version(server, work, shims):
    client = Client(work, server.address)
    old, new = faults.version(work / "v0", 0), faults.version(work / "v1", 1)
    client.ok("push", old, "ns/m")
    crash_before_the_exchange(server, client, shims, new)
    models.assert_same(old, server.model("ns/m"))
    faults.assert_listed(server, client)
    client.ok("pull", "ns/m", work / "copy")
    models.assert_same(old, work / "copy")
    client.ok("push", new, "ns/m")
    faults.assert_clean(server)
    faults.assert_listed(server, client)


def test_b19_crash_before_the_exchange_of_files_of_equal_size_and_time(server, work, shims, dst):
    """Both manifests fit the files by size and mtime; the wrong one must not call the old version damaged."""
    client = Client(work, server.address)
    versions = [models.rnd(work / f"v{n}" / "w.bin", MIB, seed=n) for n in (0, 1)]
    for path in versions:
        os.utime(path, (1_600_000_000, 1_600_000_000))
    client.ok("push", versions[0].parent, "ns/m")
    crash_before_the_exchange(server, client, shims, versions[1].parent, "--checksum")
    models.assert_same(versions[0].parent, server.model("ns/m"))
    client.ok("pull", "ns/m", dst)
    models.assert_same(versions[0].parent, dst)
    client.ok("push", versions[1].parent, "ns/m", "--checksum")
    client.ok("verify", "ns/m")
    client.ok("pull", "ns/m", dst, "--checksum")
    models.assert_same(versions[1].parent, dst)


# B21: a file that is missing, on either side.

def shards(folder):
    """Four shards and their index."""
    for number in range(4):
        models.rnd(folder / f"model-{number}.safetensors", 2 * MIB, seed=number)
    (folder / "model.safetensors.index.json").write_text("{}")
    return folder


def test_b21_shard_that_goes_during_a_push(server, client, make_client, make_proxy, src):
    """The push names it and does not end with 0; the model stays unfinished; with the shard it completes."""
    shards(src)
    proxy = make_proxy(server.address, cproxy.hold(b'"type":"ready"', conn=0, dir="s2c"))
    running = make_client(proxy.address).start("--json", "push", src, "ns/m", "--retries", "0")
    assert proxy.rules[0].hit.wait(20)
    os.rename(src / "model-2.safetensors", src.parent / "aside")
    proxy.clear()
    result = running.wait()
    assert result.status == 7 and [f["path"] for f in result.data["failed"]] == ["model-2.safetensors"], result
    assert not server.model("ns/m").exists()
    entry = wait_until(lambda: listed(client, "ns/m"), "it is listed")
    assert entry["state"] == "incomplete" and entry["bytes_present"] < entry["bytes"] and entry["files"] == 5
    client.fails(3, "pull", "ns/m", src.parent / "never")
    os.rename(src.parent / "aside", src / "model-2.safetensors")
    client.ok("push", src, "ns/m")
    models.assert_same(src, server.model("ns/m"))
    faults.assert_clean(server)


def test_b21_shard_that_is_missing_in_the_root(server, client, src, dst):
    """Somebody removed a file of the live model: neither verify nor a pull passes over it in silence."""
    client.ok("push", shards(src), "ns/m")
    (server.model("ns/m") / "model-2.safetensors").unlink()
    for args in (["verify", "ns/m"], ["pull", "ns/m", dst]):
        result = client.run(*args)
        assert result.status != 0 and "model-2.safetensors" in result.out + result.err, result
    client.ok("push", src, "ns/m")
    client.ok("pull", "ns/m", dst)
    models.assert_same(src, dst)


# B19: during a slow push (more of it: integration/test_replace).

def test_b19_first_push_is_visible_as_unfinished_only(server, client, make_client, make_proxy, src, dst):
    shards(src)
    proxy = make_proxy(server.address, cproxy.rate(3e6))
    running = make_client(proxy.address).start("push", src, "ns/m", "-n", "1")
    looks = 0
    while running.is_running:
        entry = listed(client, "ns/m")
        if entry is not None and entry["state"] == "complete":
            break
        info = client.run("--json", "info", "ns/m")
        assert info.status == 3 or info.data.get("state") == "incomplete" or server.model("ns/m").exists(), info
        result = client.run("pull", "ns/m", dst)
        assert result.status == 3 or faults.is_copy(src, dst), result
        looks += 1
    assert looks > 2 and running.wait().status == 0
    client.ok("pull", "ns/m", dst)
    models.assert_same(src, dst)
