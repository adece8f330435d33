"""The table of exit statuses, and that a partial success never looks like a whole one (kind H)."""

import os
import signal

import pytest

import cproxy
import models
import small_disk
from harness import MIB, NOBODY, listed, pull, push, wait_until

REFUSED = "127.0.0.1:1"


def check_json_error(result, command, code):
    """A failure's JSON: ok false, and a stable code."""
    data = result.data
    assert data["error"]["code"] == code and data["error"]["message"]
    if command in ("push", "pull"):
        assert (data["command"], data["model"], data["ok"]) == (command, "ns/m", False)


@pytest.mark.parametrize("args", [["ls"], ["info", "ns/m"], ["rm", "-y", "ns/m"], ["verify", "ns/m"], ["doctor"], ["status"],
                                  ["push", "src", "ns/m"], ["pull", "ns/m", "dst"]], ids=lambda a: a[0])
def test_b46_refused_connection_is_6(server, make_client, small_model, work, args):
    client = make_client(REFUSED)
    result = client.fails(6, *args, "--retries", "0", cwd=work)
    assert REFUSED in result.err
    check_json_error(client.fails(6, "--json", *args, "--retries", "0", cwd=work), args[0], "no-connection")
    assert not (work / "dst").exists()


def test_b46_unknown_host_is_6(server, make_client):
    result = make_client("no-such-host.invalid:7420").fails(6, "ls", "--retries", "0")
    assert "no-such-host.invalid" in result.err


@pytest.mark.parametrize("args", [["info", "ns/m"], ["rm", "-y", "ns/m"], ["verify", "ns/m"], ["pull", "ns/m", "dst"]],
                         ids=lambda a: a[0])
def test_b46_unknown_model_is_3(server, client, work, args):
    assert "ns/m" in client.fails(3, *args, cwd=work).err
    check_json_error(client.fails(3, "--json", *args, cwd=work), args[0], "no-such-model")
    assert not (work / "dst").exists()


def test_b46_missing_source_is_named(server, client, work):
    result = client.run("push", work / "none", "ns/m")
    assert result.status not in (0, 3) and "none" in result.err, result
    assert listed(client, "ns/m") is None


@pytest.mark.sanitize
def test_b46_read_only_server_is_4(make_server, make_client, small_model, dst):
    server = make_server()
    client = make_client(server.address)
    push(client, small_model)
    server.stop()
    server.options = ["--read-only"]
    server.start()
    check_json_error(client.fails(4, "--json", "push", small_model, "ns/m"), "push", "refused")
    client.fails(4, "rm", "-y", "ns/m")
    pull(client, dst)
    models.assert_same(small_model, dst)


def test_b46_other_addresses_are_4(make_server, make_client):
    server = make_server(options=["--allow", "10.0.0.0/8", "--allow", "fd00::/8"], check_idle=False)
    assert "refuse" in make_client(server.address).fails(4, "ls", "--retries", "0").err
    server = make_server(options=["--allow", "127.0.0.0/8"])
    make_client(server.address).ok("ls")


@pytest.mark.sanitize
def test_b46_cut_is_6_and_running_it_again_helps(server, client, make_client, make_proxy, src):
    """Every connection is cut early, so that no retry can help."""
    models.rnd(src / "w.bin", 64 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.cut(2 * MIB, dir="c2s"))
    result = make_client(proxy.address).fails(6, "--json", "push", src, "ns/m", "--retries", "1")
    assert result.data["ok"] is False and result.data["error"]["code"] in ("connection-lost", "no-connection")
    assert not server.model("ns/m").exists()
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    server.assert_no_leftovers()


@pytest.mark.sanitize
def test_b46_second_push_is_9(server, client, make_client, make_proxy, src):
    """At once, and it says since when; the first one is not disturbed."""
    models.rnd(src / "w.bin", 16 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.hole(MIB, conn=(1, 2, 3, 4), dir="c2s"))
    first = make_client(proxy.address).start("push", src, "ns/m")
    wait_until(lambda: proxy.bytes("c2s") > MIB, "the first push sends")
    result = client.fails(9, "push", src, "ns/m")
    assert result.seconds < 5
    check_json_error(client.fails(9, "--json", "push", src, "ns/m"), "push", "busy")
    push(client, src, "ns/other")
    proxy.clear()
    assert first.wait().status == 0
    push(client, src)


@pytest.mark.sanitize
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["push", "pull"])
def test_b46_signals_end_with_their_status(server, client, make_client, make_proxy, src, dst, command, number, status):
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src)
    proxy = make_proxy(server.address, cproxy.hole(2 * MIB, conn=(1, 2, 3, 4)))
    args = {"push": ["push", src, "ns/new"], "pull": ["pull", "ns/m", dst]}[command]
    running = make_client(proxy.address).start(*args)
    wait_until(lambda: proxy.bytes() > 4 * MIB, "the transfer is under way")
    running.signal(number)
    result = running.wait(2)
    assert result.status == status, result
    assert not server.model("ns/new").exists() and not (dst / "w.bin").exists()
    proxy.clear()
    client.ok(*args)
    models.assert_same(src, server.model("ns/new") if command == "push" else dst)


@pytest.mark.sanitize
def test_b46_local_read_error_is_7(server, client, src):
    """A file that cannot be opened, seen from a user who may not."""
    models.rnd(src / "a", 1000, seed=1)
    models.rnd(src / "b", 1000, seed=2).chmod(0)
    result = client.fails(7, "--json", "push", src, "ns/m", user=NOBODY)
    assert [f["path"] for f in result.data["failed"]] == ["b"]
    assert result.data["error"]["code"] == "some-files-failed"


def test_b46_destination_that_cannot_be_written(server, client, small_model, work):
    """A pull into a folder of someone else, and onto a file."""
    push(client, small_model)
    (work / "theirs").mkdir(mode=0o755)
    result = client.run("pull", "ns/m", work / "theirs" / "dst", user=NOBODY)
    assert result.status in (1, 7) and "theirs" in result.err and "ermission" in result.err, result
    (work / "file").write_text("mine")
    result = client.run("pull", "ns/m", work / "file")
    assert result.status in (1, 2, 7) and "file" in result.err, result
    assert (work / "file").read_text() == "mine"


@pytest.mark.sanitize
def test_b46_full_server_is_8_and_it_serves_on(make_server, make_client, src, work, dst):
    if not small_disk.can_mount():
        pytest.skip("no mount namespaces here")
    root = work / "root"
    root.mkdir()
    server = make_server(root=root, prefix=small_disk.wrapper("8m", root))
    client = make_client(server.address)
    small = models.rnd(work / "small" / "w.bin", MIB, seed=1).parent
    push(client, small, "ns/small")
    models.rnd(src / "w.bin", 16 * MIB, seed=2)
    result = client.fails(8, "--json", "push", src, "ns/m")
    assert result.data["error"]["code"] == "no-space"
    assert "space" in result.err
    assert "ns/m" not in [m["name"] for m in client.json("ls")["models"] if m["state"] == "complete"]
    client.ok("rm", "-y", "ns/m") if listed(client, "ns/m") else None
    pull(client, dst, "ns/small")
    models.assert_same(small, dst)
    push(client, models.rnd(work / "two" / "w.bin", 2 * MIB, seed=3).parent, "ns/two")


def test_b46_full_client_is_8(server, client, src, work):
    if not small_disk.can_mount():
        pytest.skip("no mount namespaces here")
    models.rnd(src / "w.bin", 16 * MIB, seed=2)
    push(client, src)
    (work / "disk").mkdir()
    result = client.fails(8, "--json", "pull", "ns/m", work / "disk" / "dst",
                          prefix=small_disk.wrapper("8m", work / "disk"))
    assert result.data["error"]["code"] == "no-space"


def test_b46_wrong_bytes_are_5(server, client, src, dst):
    models.rnd(src / "w.bin", MIB, seed=1)
    push(client, src)
    models.flip_byte(server.model("ns/m") / "w.bin", 1000)
    check_json_error(client.fails(5, "--json", "pull", "ns/m", dst), "pull", "hash-mismatch")


# B47: one unreadable file.

def assert_incomplete(server, client, model="ns/m", unknown=False):
    """Nothing is published; `ls` shows what is there of it. What lies in an unreadable folder has no known size."""
    assert not server.model(model).exists()
    wait_until(lambda: listed(client, model)["bytes_present"] > 0, "what arrived is recorded")
    entry = listed(client, model)
    assert entry["state"] == "incomplete"
    assert entry["bytes_present"] < entry["bytes"] + unknown
    text = client.ok("ls").out
    assert "incomplete" in text and "%" in text
    client.fails(3, "pull", model, server.work / "never")
    assert not (server.work / "never").exists()


@pytest.mark.sanitize
def test_b47_unreadable_file(server, client, src, dst):
    for number, name in enumerate("abc"):
        models.rnd(src / name, 10_000 + number, seed=number)
    (src / "b").chmod(0)
    result = client.fails(7, "push", src, "ns/m", user=NOBODY)
    assert "b" in [word.strip("':,") for word in result.err.split()] and "ermission" in result.err
    assert_incomplete(server, client)
    (src / "b").chmod(0o644)
    push(client, src)
    pull(client, dst)
    models.assert_same(src, dst)
    server.assert_no_leftovers()


def test_b47_unreadable_folder(server, client, small_model):
    (small_model / "sub").chmod(0)
    result = client.fails(7, "--json", "push", small_model, "ns/m", user=NOBODY)
    assert [f["path"] for f in result.data["failed"]] == ["sub"]
    assert_incomplete(server, client, unknown=True)


def test_b47_the_stored_version_stays(server, client, small_model, work):
    push(client, small_model)
    before = models.thash(server.model("ns/m"))
    new = models.rnd(work / "new" / "a", 5000, seed=8).parent
    models.rnd(new / "b", 5000, seed=9).chmod(0)
    client.fails(7, "push", new, "ns/m", user=NOBODY)
    assert models.thash(server.model("ns/m")) == before
    assert listed(client, "ns/m")["state"] == "complete"


def test_pull_of_a_model_that_is_only_unfinished_is_3(server, client, src, dst):
    models.rnd(src / "a", 1000, seed=1)
    models.rnd(src / "b", 1000, seed=2).chmod(0)
    client.fails(7, "push", src, "ns/m", user=NOBODY)
    result = client.fails(3, "pull", "ns/m", dst)
    assert "incomplete" in result.err or "unfinished" in result.err
    assert not dst.exists()
    client.ok("rm", "-y", "ns/m")
    assert listed(client, "ns/m") is None and server.staged() == []
