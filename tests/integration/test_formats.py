"""What is found in the files of a model, whole and broken, and what it costs: the metadata object of a folder."""

import json
import os
import struct
import subprocess
import sys
import time

import pytest

import formats
import harness

# Runs a command; prints its output, the peak of its memory and its CPU time. A process of its own, for a child starts with
# the peak of its parent.
MEASURE = """
import json, resource, subprocess, sys
output = subprocess.check_output(sys.argv[1:], text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([output, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime]))
"""

SHARDS = [f"model-{n:05}-of-00003.safetensors" for n in (1, 2, 3)]


def metadata_of(folder):
    """The metadata object of a folder."""
    done = subprocess.run([harness.BUILD / "model_json", folder], capture_output=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.fixture
def model(work):
    """A sharded model with all that belongs to it."""
    folder = work / "model"
    for number, name in enumerate(SHARDS):
        formats.safetensors(folder / name, {f"tensor.{number}": ("BF16", (100, 10)), f"norm.{number}": ("F32", (10,))})
    formats.index(folder / "model.safetensors.index.json", SHARDS)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64,
        "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 4096,
        "num_local_experts": 8, "num_experts_per_tok": 2}))
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_a_whole_model(model):
    data = metadata_of(model)
    assert data["complete"] is True and data["findings"] == []
    assert data["architecture"] == "LlamaForCausalLM" and data["model_type"] == "llama"
    assert data["parameters"] == 3 * 1010 and data["tensors"] == 6
    assert {d["dtype"]: (d["tensors"], d["elements"], d["bytes"]) for d in data["dtypes"]} == \
        {"BF16": (3, 3000, 6000), "F32": (3, 30, 120)}
    assert data["context_length"] == 4096 and data["layers"] == 4
    assert data["experts"] == 8 and data["experts_used"] == 2
    assert data["license"] == "apache-2.0" and data["quantization"] is None
    assert {kind: value["files"] for kind, value in data["files"].items()} == \
        {"weights": 3, "config": 2, "tokenizer": 1, "other": 1}
    assert data["memory"] == {"weights": 6120, "kv_cache_per_token": 4 * 2 * 8 * 2 * 2,
                              "kv_cache_per_1k_tokens": 4 * 2 * 8 * 2 * 2 * 1000}
    assert [s["files"] for s in data["sets"]] == [3]


def cut(model):
    path = model / SHARDS[1]
    os.truncate(path, path.stat().st_size - 1)


def missing(model):
    (model / SHARDS[1]).unlink()


def pointer(model):
    formats.pointer(model / SHARDS[1])


def zeros(model):
    size = (model / SHARDS[1]).stat().st_size
    (model / SHARDS[1]).unlink()
    (model / SHARDS[1]).touch()
    os.truncate(model / SHARDS[1], size)


def oversized(model):
    with open(model / SHARDS[1], "r+b") as file:
        file.write(struct.pack("<Q", 100_000_001))


def overlap(model):
    (model / SHARDS[1]).write_bytes(b"".join(raw({
        "a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}}, 12)))


def gap(model):
    (model / SHARDS[1]).write_bytes(b"".join(raw({
        "a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [8], "data_offsets": [9, 17]}}, 17)))


def wrong_size(model):
    (model / SHARDS[1]).write_bytes(b"".join(raw({"a": {"dtype": "F32", "shape": [8], "data_offsets": [0, 8]}}, 8)))


def deep(model):
    text = b'{"a":' + b"[" * 100_000
    (model / SHARDS[1]).write_bytes(struct.pack("<Q", len(text)) + text)


def raw(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)), text, b"\xa5" * data


@pytest.mark.parametrize("breaks, kind", [
    (cut, "cut-file"), (missing, "missing-shard"), (pointer, "lfs-pointer"), (zeros, "zero-header"),
    (oversized, "oversized-header"), (overlap, "overlap"), (gap, "gap"), (wrong_size, "bad-header"),
    (deep, "bad-header")])
def test_each_way_to_break_a_shard_is_named(model, breaks, kind):
    breaks(model)
    data = metadata_of(model)
    assert [(f["kind"], f["path"], f["stops"]) for f in data["findings"]] == [(kind, SHARDS[1], True)]
    assert data["complete"] is False and data["findings"][0]["message"]


def many_tensors(folder):
    (folder / "m.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 10**9, 0))


def many_keys(folder):
    (folder / "m.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 10**9))


def cut_gguf(folder):
    path = formats.llama().write(folder / "m.gguf")
    os.truncate(path, path.stat().st_size - formats.llama().alignment)


@pytest.mark.parametrize("breaks, kind", [
    (many_tensors, "bad-header"), (many_keys, "bad-header"), (cut_gguf, "cut-file")])
def test_a_broken_gguf_is_named(work, breaks, kind):
    breaks(work)
    began = time.process_time()
    data = metadata_of(work)
    assert [(f["kind"], f["path"]) for f in data["findings"] if f["path"] == "m.gguf"] == [(kind, "m.gguf")]
    assert time.process_time() - began < 1


def test_a_big_endian_gguf_is_a_note(work):
    folder = work / "model"
    formats.llama(byte_order=">").write(folder / "m.gguf")
    data = metadata_of(folder)
    assert [(f["kind"], f["stops"]) for f in data["findings"]] == [("not-checked", False)] and data["complete"]


def test_quantisations_are_sets(work):
    folder = work / "model"
    formats.llama(tensors=2, split=(0, 2, 3)).write(folder / "big-00001-of-00002.gguf")
    formats.llama(tensors=1, split=(1, 2, 3)).write(folder / "big-00002-of-00002.gguf")
    formats.llama(tensors=1).write(folder / "small.gguf")
    data = metadata_of(folder)
    assert data["findings"] == []
    assert [(s["path"], s["files"], s["parameters"]) for s in data["sets"]] == \
        [("big-00001-of-00002.gguf", 2, 256 * 4), ("small.gguf", 1, 256)]
    assert data["parameters"] == 1024 and data["quantization"] == "Q4_K_M" and data["license"] == "mit"
    assert data["memory"]["kv_cache_per_token"] == 2 * 2 * 32 * 2 * 2


def test_an_index_of_60_mb_costs_little(work):
    """Under 50 MB of memory and 2 s, all in all."""
    if harness.SANITIZER:
        pytest.skip("bounds are for the program as it is used")
    folder = work / "model"
    names = [f"model.layers.{n // 100:06}.mlp.experts.{n:06}.gate_up_projection.weight_scale_inv" for n in range(520_000)]
    formats.index(folder / "model.safetensors.index.json", SHARDS, names)
    assert (folder / "model.safetensors.index.json").stat().st_size > 60_000_000
    output, peak, seconds = json.loads(subprocess.check_output(
        [sys.executable, "-c", MEASURE, harness.BUILD / "model_json", folder]))
    assert len(json.loads(output)["findings"]) == 3
    assert peak < 50_000_000 and seconds < 2, (peak, seconds)
