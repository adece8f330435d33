"""What push, pull, verify and info say of models that lack something, and of whole ones."""

import json
import os
import re
import shutil

import pytest

import formats
import models

SHARDS = [f"model-{n:05}-of-00003.safetensors" for n in (1, 2, 3)]


@pytest.fixture
def model(work):
    """A whole model of three shards."""
    folder = work / "model"
    folder.mkdir()
    for number, name in enumerate(SHARDS):
        formats.safetensors(folder / name, {f"tensor.{number}": ("BF16", (100, 10))})
    formats.index(folder / "model.safetensors.index.json", SHARDS)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
        "num_key_value_heads": 2, "max_position_embeddings": 4096}))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    return folder


def listed(client):
    """What ls tells of the headers of the only model."""
    (model,) = client.json("ls")["models"]
    return model.get("metadata")


def cut_by_a_byte(folder):
    with open(folder / SHARDS[0], "r+b") as file:
        file.truncate(os.path.getsize(folder / SHARDS[0]) - 1)
    return SHARDS[0]


def without_a_shard(folder):
    (folder / SHARDS[1]).unlink()
    return SHARDS[1]


def with_a_pointer(folder):
    formats.pointer(folder / SHARDS[2])
    return SHARDS[2]


def with_zeros(folder):
    (folder / SHARDS[2]).write_bytes(bytes(os.path.getsize(folder / SHARDS[2])))
    return SHARDS[2]


@pytest.mark.parametrize("spoil", [cut_by_a_byte, without_a_shard, with_a_pointer, with_zeros])
def test_a_model_that_is_not_whole(server, client, model, work, spoil):
    """Push stops with 7 before anything moves; told to go on it does, and whoever gets the model is told."""
    name = spoil(model)
    stopped = client.fails(7, "push", model, "ns/m", "--json")
    assert name in stopped.err and "--allow-incomplete" in stopped.err
    assert stopped.data["bytes"]["sent"] == 0 and any(name in text for text in stopped.data["warnings"])
    assert client.json("ls")["models"] == []
    assert name in client.ok("push", model, "ns/m", "--allow-incomplete").err
    pulled = client.fails(7, "pull", "ns/m", work / "to")
    assert name in pulled.err
    models.assert_same(model, work / "to")
    client.ok("pull", "ns/m", work / "to", "--allow-incomplete")
    assert listed(client) == {"complete": False}
    for command in (["ls"], ["info", "ns/m"]):
        assert "complete, flawed: see info" in client.ok(*command).out
    info = client.json("info", "ns/m")["metadata"]
    assert info["complete"] is False and [f["path"] for f in info["findings"] if f["stops"]] == [name]
    verified = client.fails(7, "verify", "ns/m", "--json")
    assert name in verified.err and verified.data["ok"] is False
    assert all(file["ok"] for file in verified.data["files"])


def test_ls_forgets_a_flaw_that_is_mended(client, model):
    whole = model.with_name("whole")
    shutil.copytree(model, whole)
    without_a_shard(model)
    client.ok("push", model, "ns/m", "--allow-incomplete")
    assert listed(client) == {"complete": False}
    client.ok("push", whole, "ns/m", "--add")
    assert listed(client) is None


def test_ls_of_a_model_that_came_by_other_means(server, client, model):
    """Its headers are read when it is verified, and what they tell is kept until its folder is changed."""
    without_a_shard(model)
    shutil.copytree(model, server.model("ns/m"))
    assert listed(client) is None
    client.fails(7, "verify", "ns/m")
    assert listed(client) == {"complete": False}
    formats.safetensors(server.model("ns/m") / SHARDS[1], {"tensor.1": ("BF16", (100, 10))})
    assert listed(client) is None
    client.ok("verify", "ns/m")
    (server.model("ns/m") / SHARDS[0]).unlink()
    client.fails(7, "verify", "ns/m")
    assert client.json("ls")["models"][0]["files"] == 5


def test_info_of_a_whole_model(client, model):
    client.ok("push", model, "ns/m")
    data = client.json("info", "ns/m")["metadata"]
    assert data["complete"] is True and data["findings"] == []
    assert data["architecture"] == "LlamaForCausalLM" and data["parameters"] == 3000 and data["license"] == "apache-2.0"
    assert listed(client) is None
    text = client.ok("info", "ns/m").out
    kinds = {kind: [f.stat().st_size for f in model.glob(glob)]
             for kind, glob in (("weights", "*.safetensors"), ("config", "*.json"), ("other", "README.md"))}
    assert {kind: data["files"][kind] for kind in kinds} == {
        kind: {"files": len(sizes), "bytes": sum(sizes)} for kind, sizes in kinds.items()}
    assert re.search(r"^kinds     3 weights 6\.\d\d kB, 2 config \d+ B, 1 other 28 B$", text, re.M)
    for line in ("arch      LlamaForCausalLM", "params    0.0 M", "dtypes    BF16 6.00 kB", "context   4096 tokens",
                 "licence   apache-2.0"):
        assert line in text, text
    assert client.json("verify", "ns/m")["metadata"]["complete"] is True


def test_verify_reads_no_headers_for_an_answer_that_has_none(server, client, work):
    """With files missing the answer is an error: the headers, most of this model, are left alone."""
    folder = work / "model"
    names = [f"layer.{n}.{'x' * 200}" for n in range(8000)]
    formats.safetensors(folder / "big.safetensors", {name: ("U8", (1,)) for name in names})
    (folder / "gone.txt").write_text("x")
    client.ok("push", folder, "ns/m")
    (server.model("ns/m") / "gone.txt").unlink()
    before = server.bytes_read()
    client.fails(7, "verify", "ns/m")
    size = os.path.getsize(folder / "big.safetensors")
    assert size <= server.bytes_read() - before < 1.5 * size


def test_control_characters_of_a_model_are_not_printed(client, model):
    (model / "config.json").write_text(json.dumps({"architectures": ["Evil\u001b[2JNet"]}))
    (model / "README.md").write_text("---\nlicense: a\tb\u009b\n---\n")
    client.ok("push", model, "ns/m")
    text = client.ok("info", "ns/m").out
    assert "Evil" in text and not any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in text)


def test_parts_of_a_model_are_not_called_incomplete(client, model, work):
    """What was not asked for is not missing; what is stored beside counts."""
    client.ok("push", model, "ns/m")
    client.ok("pull", "ns/m", work / "some", "--include", "*00001*")
    client.ok("push", model, "ns/some", "--include", "*00001*", "--include", "*.index.json")
    more = work / "more"
    more.mkdir()
    shutil.copy(model / SHARDS[1], more)
    client.ok("push", more, "ns/some", "--add")


def test_a_big_config_of_a_server_does_not_fill_a_frame(client, work):
    """Many findings with long names: the answer still comes, with less in it."""
    folder = work / "many"
    folder.mkdir()
    name = "x" * 180
    for part in range(1, 400):
        (folder / f"{name}-{part:05}-of-09999.safetensors").write_bytes(b"")
    client.ok("push", folder, "ns/m", "--allow-incomplete", "-q")
    assert client.json("info", "ns/m")["metadata"]["complete"] is False
