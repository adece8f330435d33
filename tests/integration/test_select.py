"""Which files move: globs, --dry-run, and the junk that stays behind (kind N)."""

import re

import pytest

import models
from harness import MIB, listed, pull, push

JUNK = [
    ".git/lfs/objects/ab/cd", ".git/config", ".cache/huggingface/download/model.safetensors.abc.incomplete",
    ".cache/huggingface/.gitignore", ".cache/huggingface/download/.gitignore.lock", ".locks/x.lock",
    ".no_exist/rev/added_tokens.json", "__pycache__/modeling.cpython-311.pyc", "sub/__pycache__/x.pyc", ".DS_Store",
    "sub/.DS_Store", "._model.gguf", "sub/._part.bin", ".Spotlight-V100/Store-V2/x", ".Trashes/501/x",
    ".fseventsd/0000", "@eaDir/model.gguf/SYNO@.fileindexdb", "sub/@eaDir/x", "#recycle/old.gguf", "#snapshot/x",
    "@Recycle/x", ".@__thumb/s800model.gguf", "$RECYCLE.BIN/S-1-5/x", "System Volume Information/x", "lost+found/x",
    ".snapshot/hourly/model.gguf", ".zfs/snapshot/x", ".mstore/x", "Thumbs.db", "desktop.ini", "sub/.nfs00000001",
    ".smbdeleteAAA1",
]
KEPT = ["model.gguf", ".gitattributes", ".gitignore", ".hidden/file", ".cache/other/file", "sub/part.bin", "empty",
        "github.txt", "a._b", "Thumbs.db.txt", "nfs", "lost+found.txt", ".github/workflows/x.yml"]


def make(folder, names):
    """Small files of these names."""
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"" if name == "empty" else name.encode())
    return folder


def names(folder):
    """Relative names of all files below a folder."""
    return sorted(name.decode() for name in models.files(folder))


@pytest.mark.sanitize
def test_b75_b76_b78_junk_stays_behind_and_is_counted(server, client, src, dst):
    make(src, JUNK + KEPT)
    result = client.ok("push", src, "ns/m")
    assert re.search(r"\b[1-9]\d* .*left out.*--all", result.out + result.err), result
    assert names(server.model("ns/m")) == sorted(KEPT)
    assert [f["path"] for f in client.json("info", "ns/m")["files"]] == sorted(KEPT)
    pull(client, dst)
    assert names(dst) == sorted(KEPT)


def test_each_junk_name_alone(server, client, work):
    for number, name in enumerate(JUNK):
        source = make(work / f"src{number}", ["keep", name])
        assert push(client, source, "ns/m")["files"]["total"] == 1, name


@pytest.mark.sanitize
def test_all_takes_the_junk_too(server, client, src, dst):
    """But never .mstore, which is ours."""
    make(src, JUNK + KEPT)
    expected = sorted(name for name in JUNK + KEPT if not name.startswith(".mstore/"))
    push(client, src, "ns/m", "--all")
    assert names(server.model("ns/m")) == expected
    pull(client, dst, "ns/m", "--all")
    assert names(dst) == expected


def test_b76_junk_in_the_root_is_no_model(server, client, small_model, dst):
    push(client, small_model)
    make(server.root, ["@eaDir/x/y", "ns/@eaDir/m/x", "ns/m/@eaDir/w.bin/SYNO@.fileindexdb", "ns/m/.DS_Store",
                       "ns/m/._model.safetensors", "#recycle/a/b", "lost+found/a/b", ".Trashes/a/b"])
    models_ = client.json("ls")["models"]
    assert [m["name"] for m in models_] == ["ns/m"] and models_[0]["files"] == 3
    assert len(client.json("info", "ns/m")["files"]) == 3
    pull(client, dst)
    models.assert_same(small_model, dst)
    push(client, small_model)
    client.ok("rm", "-y", "ns/m")
    assert client.json("ls")["models"] == [] and not server.model("ns/m").exists()


@pytest.mark.sanitize
@pytest.mark.parametrize("name", ["model.safetensors.incomplete", "model.gguf.aria2", "model.gguf.crdownload",
                                  "sub/model.gguf.downloadInProgress"])
def test_b78_unfinished_download_stops_the_push(server, client, src, name):
    make(src, ["model.gguf", name])
    result = client.fails(7, "push", src, "ns/m")
    assert name.rsplit("/", 1)[-1] in result.err
    assert not server.model("ns/m").exists()
    push(client, src, "ns/m", "--all")
    assert names(server.model("ns/m")) == sorted(["model.gguf", name])


@pytest.mark.parametrize("name", ["model-00001.safetensors", "model.gguf", "pytorch_model.bin"])
def test_b80_lfs_pointer_stops_the_push(server, client, src, dst, name):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 4976698672\n" % 0
    (src / name).write_bytes(pointer)
    (src / "README.md").write_bytes(pointer)
    result = client.fails(7, "push", src, "ns/m")
    assert name in result.err and "LFS" in result.err.upper() and "README.md" not in result.err
    assert any(name in warning for warning in push(client, src, "ns/m", "--allow-incomplete")["warnings"])
    pull(client, dst, "ns/m", "--allow-incomplete")
    assert (dst / name).read_bytes() == pointer


# Globs.

TREE = ["m-Q4_K_M-00001.gguf", "m-Q8_0.gguf", "config.json", "sub/x-Q4_K_M.gguf", "sub/config.json", "sub/deep/a.bin"]


@pytest.mark.sanitize
@pytest.mark.parametrize("options, expected", [
    (["--include", "*Q4_K_M*.gguf"], ["m-Q4_K_M-00001.gguf", "sub/x-Q4_K_M.gguf"]),
    (["--include", "*.json"], ["config.json", "sub/config.json"]),
    (["--include", "*.json", "--include", "*.bin"], ["config.json", "sub/config.json", "sub/deep/a.bin"]),
    (["--exclude", "*.gguf"], ["config.json", "sub/config.json", "sub/deep/a.bin"]),
    (["--exclude", "sub/*"], ["config.json", "m-Q4_K_M-00001.gguf", "m-Q8_0.gguf"]),
    (["--include", "*.gguf", "--exclude", "*Q8*"], ["m-Q4_K_M-00001.gguf", "sub/x-Q4_K_M.gguf"]),
    (["--include", "m-Q[48]*"], ["m-Q4_K_M-00001.gguf", "m-Q8_0.gguf"]),
])
def test_globs(server, client, src, dst, options, expected):
    """For push and pull alike; `*` reaches into folders, as hf has it."""
    make(src, TREE)
    push(client, src, "ns/part", *options)
    assert names(server.model("ns/part")) == expected
    push(client, src, "ns/whole")
    pull(client, dst, "ns/whole", *options)
    assert names(dst) == expected


def test_glob_that_matches_nothing(server, client, src, dst):
    """Nothing is stored, replaced or made, and it is said."""
    make(src, TREE)
    push(client, src)
    for args in (["push", src, "ns/m"], ["pull", "ns/m", dst]):
        result = client.run(*args, "--include", "*.nothing")
        assert result.status == 1 and "--include" in result.err, result
    assert names(server.model("ns/m")) == sorted(TREE) and not dst.exists()


def test_unselected_files_in_the_destination_stay(server, client, src, dst):
    make(src, TREE)
    push(client, src)
    pull(client, dst)
    pull(client, dst, "ns/m", "--include", "*.json")
    assert names(dst) == sorted(TREE)


# Dry run.

@pytest.mark.sanitize
def test_dry_run_of_a_push(server, client, small_model, work):
    before = sorted(server.root.rglob("*"))
    result = client.ok("push", "--dry-run", small_model, "ns/m")
    for name in ("config.json", "model.safetensors", "sub/part.bin"):
        assert name in result.out
    data = client.json("push", "--dry-run", small_model, "ns/m")
    size = sum(p.stat().st_size for p in small_model.rglob("*") if p.is_file())
    assert data["files"]["total"] == 3 and data["bytes"]["total"] == size and data["streams"] == []
    assert listed(client, "ns/m") is None
    made = [p.relative_to(server.root).parts for p in sorted(server.root.rglob("*")) if p not in before and not p.is_dir()]
    assert [parts for parts in made if parts[:2] != (".mstore", "lock")] == []


@pytest.mark.sanitize
def test_dry_run_of_a_pull(server, client, small_model, work, dst):
    push(client, small_model)
    result = client.ok("pull", "--dry-run", "ns/m", dst)
    assert "model.safetensors" in result.out and not dst.exists()
    pull(client, dst)
    (dst / "config.json").unlink()
    data = client.json("pull", "--dry-run", "ns/m", dst)
    assert data["files"]["total"] == 3 and data["files"]["skipped"] == 2
    assert not (dst / "config.json").exists()


def test_dry_run_says_what_would_move_and_what_not(server, client, small_model):
    push(client, small_model)
    models.rnd(small_model / "new.bin", 2 * MIB, seed=4)
    result = client.ok("push", "--dry-run", small_model, "ns/m")
    assert "new.bin" in result.out
    data = client.json("push", "--dry-run", small_model, "ns/m")
    assert data["files"]["skipped"] == 3
    assert data["bytes"]["total"] - data["bytes"]["skipped"] == 2 * MIB
