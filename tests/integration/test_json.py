"""The shapes of --json, command by command, and that standard output carries results only."""

import json
import re

import pytest

import models
from harness import MIB, STREAM_KEYS, SUMMARY_KEYS, pull, push

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
HEX = re.compile(r"[0-9a-f]{32}")


@pytest.mark.sanitize
@pytest.mark.parametrize("command", ["push", "pull"])
def test_push_and_pull(server, client, small_model, dst, command):
    data = push(client, small_model)
    if command == "pull":
        data = pull(client, dst)
    assert data.keys() == SUMMARY_KEYS
    assert data["server"] == server.address
    assert data["files"].keys() == {"total", "sent", "skipped", "failed"}
    assert data["bytes"].keys() == {"total", "sent", "resumed", "skipped"}
    assert isinstance(data["seconds"], float) and data["seconds"] > 0 and data["bytes_per_second"] > 0
    assert 1 <= len(data["streams"]) <= 4
    for stream in data["streams"]:
        assert stream.keys() == STREAM_KEYS
    assert data["warnings"] == []


def test_ls_without_models(server, client):
    assert client.json("ls") == {"models": []}
    assert client.ok("ls").err == ""


@pytest.mark.sanitize
def test_ls(server, client, small_model):
    push(client, small_model)
    push(client, small_model / "sub", "ns/other")
    models_ = client.json("ls")["models"]
    assert [m["name"] for m in models_] == ["ns/m", "ns/other"]
    size = sum(p.stat().st_size for p in small_model.rglob("*") if p.is_file())
    assert models_[0].keys() == {"name", "bytes", "files", "modified", "state"}
    assert (models_[0]["bytes"], models_[0]["files"], models_[0]["state"]) == (size, 3, "complete")
    assert RFC3339.fullmatch(models_[0]["modified"])


@pytest.mark.parametrize("glob, names", [
    ("*", ["a/one", "a/two", "b/one"]), ("a/*", ["a/one", "a/two"]), ("*/one", ["a/one", "b/one"]),
    ("*one*", ["a/one", "b/one"]), ("[b]/*", ["b/one"]), ("none*", []),
])
def test_ls_with_a_glob(server, client, small_model, glob, names):
    for name in ("b/one", "a/two", "a/one"):
        push(client, small_model / "sub", name)
    assert [m["name"] for m in client.json("ls", glob)["models"]] == names
    text = client.ok("ls", glob).out
    assert re.findall(r"\b[ab]/(?:one|two)\b", text) == names


@pytest.mark.sanitize
def test_info(server, client, small_model):
    push(client, small_model)
    data = client.json("info", "ns/m")
    assert data.keys() == {"name", "bytes", "files", "load_seconds", "modified", "state", "metadata"}
    assert (data["name"], data["state"]) == ("ns/m", "complete") and isinstance(data["metadata"], dict)
    assert [f["path"] for f in data["files"]] == ["config.json", "model.safetensors", "sub/part.bin"]
    for file in data["files"]:
        assert file.keys() == {"path", "bytes", "modified", "hash"}
        assert file["bytes"] == (small_model / file["path"]).stat().st_size
        assert RFC3339.fullmatch(file["modified"])
        assert file["hash"] == models.file_hash_of_protocol(small_model / file["path"])


def test_info_of_what_is_not_there(server, client):
    assert client.fails(3, "--json", "info", "ns/absent").data.keys() == {"ok", "error"}


def test_info_hash_of_several_blocks(server, client, src):
    """As protocol.md defines it: the hash of the block hashes and the size."""
    models.edges(src)
    push(client, src)
    for file in client.json("info", "ns/m")["files"]:
        assert file["hash"] == models.file_hash_of_protocol(src / file["path"]), file["path"]


def test_info_modified_is_utc(server, client, src):
    import os
    os.utime(models.rnd(src / "w", 10, seed=1), ns=(0, 1_700_000_000 * 10**9))
    push(client, src, env={"TZ": "Asia/Seoul"})
    (file,) = client.json("info", "ns/m", env={"TZ": "Asia/Seoul"})["files"]
    assert file["modified"].startswith("2023-11-14T22:13:20")


@pytest.mark.sanitize
def test_verify(server, client, src):
    models.rnd(src / "w.bin", 17 * MIB, seed=1)
    models.rnd(src / "x.bin", 10, seed=1)
    push(client, src)
    good = client.json("verify", "ns/m")
    assert good["model"] == "ns/m" and good["ok"] is True
    assert good["files"] == [{"path": "w.bin", "ok": True, "bad_blocks": []},
                             {"path": "x.bin", "ok": True, "bad_blocks": []}]
    models.flip_byte(server.model("ns/m") / "w.bin", 9 * MIB)
    data = client.fails(5, "--json", "verify", "ns/m").data
    assert data["ok"] is False and data["error"]["code"] == "hash-mismatch"
    assert data["files"] == [{"path": "w.bin", "ok": False, "bad_blocks": [1]},
                             {"path": "x.bin", "ok": True, "bad_blocks": []}]


@pytest.mark.sanitize
def test_verify_of_a_local_copy(server, client, src, dst):
    models.rnd(src / "w.bin", 17 * MIB, seed=1)
    models.rnd(src / "x.bin", 10, seed=1)
    push(client, src)
    pull(client, dst)
    assert client.json("verify", "ns/m", dst)["ok"] is True
    models.flip_byte(dst / "w.bin", 17 * MIB - 1)
    data = client.fails(5, "--json", "verify", "ns/m", dst).data
    assert {f["path"]: (f["ok"], f["bad_blocks"]) for f in data["files"]} == {
        "w.bin": (False, [2]), "x.bin": (True, [])}
    assert client.json("verify", "ns/m")["ok"] is True


def test_verify_of_a_local_copy_that_lacks_a_file(server, client, small_model, dst):
    push(client, small_model)
    pull(client, dst)
    (dst / "sub" / "part.bin").unlink()
    with open(dst / "config.json", "a") as file:
        file.write("more")
    result = client.run("--json", "verify", "ns/m", dst)
    assert result.status in (5, 7), result
    wrong = {f["path"] for f in result.data["files"] if not f["ok"]}
    assert wrong == {"sub/part.bin", "config.json"}


def test_rm(server, client, small_model):
    for name in ("ns/a", "ns/b", "ns/c"):
        push(client, small_model, name)
    assert "error" not in client.json("rm", "-y", "ns/a", "ns/b")
    assert [m["name"] for m in client.json("ls")["models"]] == ["ns/c"]
    assert not server.model("ns/a").exists() and server.model("ns/c").exists()
    client.ok("rm", "-y", "ns/c")
    assert not (server.root / "ns").exists()


def test_rm_of_several_with_one_unknown(server, client, small_model):
    push(client, small_model, "ns/a")
    push(client, small_model, "ns/c")
    result = client.fails(3, "rm", "-y", "ns/a", "ns/b", "ns/c")
    assert "ns/b" in result.err
    assert client.json("ls")["models"] == []


@pytest.mark.sanitize
def test_names_that_are_not_utf8(server, client, src, dst):
    """path has U+FFFD for each bad byte, path_hex the whole name."""
    odd = b"bad-\xff\xfe-\xed\x95\x9c.bin"
    top = str(src).encode()
    with open(top + b"/" + odd, "wb") as file:
        file.write(b"x")
    (src / "good").write_bytes(b"y")
    push(client, src)
    result = client.ok("--json", "info", "ns/m")
    result.out_bytes.decode("utf-8")
    files = {f["bytes"]: f for f in result.data["files"] if "path_hex" in f}
    assert files[1]["path"] == "bad-\ufffd\ufffd-한.bin" and bytes.fromhex(files[1]["path_hex"]) == odd
    assert sum("path_hex" in f for f in result.data["files"]) == 1
    data = client.json("verify", "ns/m")
    assert [bytes.fromhex(f["path_hex"]) for f in data["files"] if "path_hex" in f] == [odd]
    pull(client, dst)
    models.assert_same(src, dst)


def test_json_is_the_only_thing_on_standard_output(server, client, small_model, dst):
    for args in (["push", small_model, "ns/m", "-v"], ["pull", "ns/m", dst, "-v"], ["ls", "-v"], ["info", "ns/m", "-v"],
                 ["verify", "ns/m"], ["pull", "ns/m", dst, "--progress", "plain"], ["rm", "-y", "ns/m"]):
        result = client.ok("--json", *args)
        assert json.loads(result.out) and result.out.endswith("\n"), result


def test_text_output_of_each_command(server, client, small_model, dst):
    """Results on standard output, in words."""
    result = client.ok("push", small_model, "ns/m")
    assert "ns/m" in result.out + result.err
    assert re.search(r"ns/m .*\b3\b.*complete", client.ok("ls").out)
    text = client.ok("info", "ns/m").out
    assert all(word in text for word in ("ns/m", "config.json", "model.safetensors", "sub/part.bin"))
    client.ok("pull", "ns/m", dst)
    client.ok("verify", "ns/m")
    client.ok("rm", "-y", "ns/m")


def test_quiet_says_nothing(server, client, small_model, dst):
    for args in (["push", small_model, "ns/m"], ["pull", "ns/m", dst], ["rm", "-y", "ns/m"]):
        result = client.ok("-q", *args)
        assert result.err == "", result


def test_ls_into_a_closed_pipe_ends_quietly(server, client, small_model, work):
    """`mstore ls | head -1`, with the reader gone before the first byte."""
    import os
    import subprocess
    from harness import clean_environment
    push(client, small_model)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(client.words(["ls"], server.address, None), stdout=writer, stderr=subprocess.PIPE,
                          env=clean_environment(work), timeout=20, check=False)
    os.close(writer)
    assert done.stderr == b"" and done.returncode in (0, 141), done


@pytest.mark.parametrize("command", ["ls", "info ns/m", "--json ls", "--json info ns/m", "--help"])
def test_output_that_cannot_be_written_is_a_failure(server, client, small_model, command):
    """A full disk behind standard output."""
    push(client, small_model)
    result = client.run(*command.split(), prefix=["sh", "-c", 'exec "$@" > /dev/full', "sh"])
    assert result.status == 1 and result.err.strip(), result
