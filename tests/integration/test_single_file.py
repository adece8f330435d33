"""One file of a model: pulled as cp would, and added to what is stored (ComfyUI's categories, GGUF quants)."""

import os

import pytest

import models
from harness import pull, push


@pytest.fixture
def stored(server, client, src):
    """A model with files in folders; its source."""
    models.rnd(src / "tiny.Q4_K_M.gguf", 3 << 20, seed=1)
    models.rnd(src / "tiny.Q8_0.gguf", 5000, seed=2)
    models.rnd(src / "vae" / "deep" / "ae.safetensors", 5000, seed=3)
    push(client, src)
    return src


@pytest.mark.sanitize
def test_into_a_folder_or_under_a_new_name(client, stored, work):
    folder = work / "ComfyUI" / "models" / "vae"
    folder.mkdir(parents=True)
    models.rnd(folder / "other.safetensors", 100)
    data = client.json("pull", "ns/m/vae/deep/ae.safetensors", folder)
    assert data["files"] == {"total": 1, "sent": 1, "skipped": 0, "failed": 0} and data["model"] == "ns/m"
    assert data["warnings"] == []
    assert sorted(os.listdir(folder)) == ["ae.safetensors", "other.safetensors"]
    assert models.same_bytes(folder / "ae.safetensors", stored / "vae" / "deep" / "ae.safetensors")
    client.ok("pull", "ns/m/vae/deep/ae.safetensors", folder / "flux.safetensors")
    assert models.same_bytes(folder / "flux.safetensors", stored / "vae" / "deep" / "ae.safetensors")
    # Again: it is there.
    assert client.json("pull", "ns/m/vae/deep/ae.safetensors", folder / "flux.safetensors")["bytes"]["sent"] == 0
    # A file that is there is replaced whole.
    client.ok("pull", "ns/m/tiny.Q8_0.gguf", folder / "flux.safetensors")
    assert models.same_bytes(folder / "flux.safetensors", stored / "tiny.Q8_0.gguf")
    assert sorted(os.listdir(folder)) == ["ae.safetensors", "flux.safetensors", "other.safetensors"]


def test_where_it_goes_as_with_cp(client, stored, work):
    client.ok("pull", "ns/m/tiny.Q8_0.gguf", "here.gguf", cwd=work)
    assert models.same_bytes(work / "here.gguf", stored / "tiny.Q8_0.gguf")
    client.ok("pull", "ns/m/tiny.Q8_0.gguf", ".", cwd=work)
    client.ok("pull", "ns/m/tiny.Q8_0.gguf", "new/folder/", cwd=work)
    for place in ("tiny.Q8_0.gguf", "new/folder/tiny.Q8_0.gguf"):
        assert models.same_bytes(work / place, stored / "tiny.Q8_0.gguf")
    client.fails(2, "pull", "ns/m/tiny.Q8_0.gguf", work / ".mstore")


@pytest.mark.sanitize
def test_a_file_that_the_model_lacks_is_named(client, stored, work):
    for wrong, near in (("tiny.Q4_K_N.gguf", "tiny.Q4_K_M.gguf"), ("ae.safetensors", "vae/deep/ae.safetensors"),
                        ("vae/deep", None), ("nothing/like/it", None)):
        result = client.fails(7, "--json", "pull", f"ns/m/{wrong}", work / "out")
        assert [f["path"] for f in result.data["failed"]] == [wrong]
        assert (f"did you mean '{near}'?" in result.err) == (near is not None), result
        assert result.data["error"]["code"] == "some-files-failed"
    assert not (work / "out").exists()
    client.fails(3, "pull", "ns/absent/file.bin", work / "out")
    client.fails(2, "pull", "ns/m/../x", work / "out")
    client.fails(2, "pull", "ns/m/tiny.Q8_0.gguf", work / "out", "--include", "*")


def test_an_unfinished_pull_of_the_whole_model_is_left(client, stored, work, dst):
    """The single file stages beside it."""
    dst.mkdir()
    own = dst / ".mstore" / "ns--m"
    own.mkdir(parents=True)
    (own / "mark").write_text("x")
    client.ok("pull", "ns/m/tiny.Q8_0.gguf", dst)
    assert (own / "mark").exists()
    pull(client, dst)
    models.assert_same(stored, dst)


def test_warm_reads_the_file_that_was_pulled(client, stored, work, dst):
    """Where it was written, under the name it was given, and nothing else there that the model knows by name."""
    models.rnd(dst / "tiny.Q4_K_M.gguf", 20000)
    for file, place, size in (("vae/deep/ae.safetensors", dst, 5000), ("tiny.Q8_0.gguf", dst / "new.gguf", 5000)):
        assert client.json("pull", f"ns/m/{file}", place, "--warm")["warm"] == {"bytes": size, "resident": size}


def test_push_of_one_file_adds_it(client, server, stored, work):
    extra = models.rnd(work / "tiny.F16.gguf", 5000, seed=9)
    data = client.json("push", extra, "ns/m", "--add")
    assert data["files"]["total"] == 1 and data["bytes"]["sent"] == 5000
    assert models.same_bytes(extra, server.model("ns/m") / "tiny.F16.gguf")
    client.ok("pull", "ns/m/tiny.F16.gguf", work / "back.gguf")
    assert models.same_bytes(extra, work / "back.gguf")
    (stored / "tiny.F16.gguf").write_bytes(extra.read_bytes())
    models.assert_same(stored, server.model("ns/m"))
