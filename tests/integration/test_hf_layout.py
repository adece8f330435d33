"""The Hugging Face cache as source and destination (docs/layouts.md)."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import models
from harness import listed, push, wait_until

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "01230000000000000000000000000000000000ff"
REPO = "models--org--tiny"
SCANNER = "2.17.5"  # of @huggingface/hub


def git_blob(data):
    """The id that Git has for a file's bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def add_file(repo, commit, path, data, lfs):
    """A blob under the name that the Hub's library gives it, and its link."""
    blob = repo / "blobs" / (hashlib.sha256(data).hexdigest() if lfs else git_blob(data))
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    link = repo / "snapshots" / commit / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(blob, link.parent))


def make_cache(hub, weights=3 << 20, commit=COMMIT, refs=("main",)):
    """What the Hub's library leaves of one revision: weights, small files, a nested folder, two equal files."""
    repo = Path(hub) / REPO
    data = models.rnd(Path(hub).parent / "weights.tmp", weights, seed=len(commit) + ord(commit[-1])).read_bytes()
    add_file(repo, commit, "model.safetensors", data, True)
    add_file(repo, commit, "config.json", b'{"commit": "%s"}' % commit.encode(), False)
    add_file(repo, commit, "onnx/deep/part.bin", data[:5000], True)
    add_file(repo, commit, "empty.txt", b"", False)
    add_file(repo, commit, "copy of empty.txt", b"", False)
    for ref in refs:
        place = repo / "refs" / ref
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(commit)
    return repo


def snapshot_of(repo):
    """{path: (target of the link, bytes)} of what readers see in a repo's folder; blobs and refs have no target."""
    found = {}
    for name, full in models.files(repo, skip=[".mstore"]).items():
        link = os.readlink(full) if os.path.islink(full) else None
        found[name] = (link, Path(os.fsdecode(full)).read_bytes())
    return found


@pytest.fixture
def hub(work):
    """An empty cache folder."""
    folder = work / "hub"
    folder.mkdir()
    return folder


@pytest.fixture
def from_hub(client, hub):
    """The environment in which the client finds the cache."""
    client.env = {"HF_HUB_CACHE": hub}
    return client


def info(client, name="org/tiny"):
    """info as JSON, with its files by path."""
    data = client.json("info", name)
    return data, {f["path"]: f for f in data["files"]}


@pytest.mark.sanitize
def test_push_of_a_snapshot_keeps_what_the_cache_knows(server, from_hub, hub):
    repo = make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    models.assert_same(repo / "snapshots" / COMMIT, server.model("org/tiny"))
    data, files = info(from_hub)
    assert data["origin"] == f"hf:org/tiny@{COMMIT}"
    for path in ("model.safetensors", "onnx/deep/part.bin"):
        assert files[path]["sha256"] == models.file_hash(server.model("org/tiny") / path)
    assert "sha256" not in files["config.json"]
    text = from_hub.ok("info", "org/tiny").out
    assert f"hf:org/tiny@{COMMIT}" in text


def test_the_model_is_called_as_on_the_hub_unless_it_is_named(server, from_hub, hub):
    make_cache(hub)
    assert from_hub.json("push", "hf:org/tiny")["model"] == "org/tiny"
    push(from_hub, "hf:org/tiny", "mine/other")
    assert info(from_hub, "mine/other")[0]["origin"] == f"hf:org/tiny@{COMMIT}"
    for wrong in ("hf:", "hf:org/tiny@", "hf:../x", "hf:org/tiny@../../x", "hf:a/b/c"):
        from_hub.fails(2, "push", wrong, "ns/m")
    assert "NS/MODEL" in from_hub.fails(2, "push", "hf:tiny").err
    from_hub.fails(2, "push", hub)


def test_the_cache_is_looked_for_as_the_hubs_library_does(server, client, work):
    """HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub, in this order."""
    places = {"HF_HUB_CACHE": work / "a", "HF_HOME": work / "b", "XDG_CACHE_HOME": work / "c", None: None}
    below = {"HF_HUB_CACHE": "", "HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}
    env = {}
    for number, name in reversed(list(enumerate(places))):
        commit = f"{number}" * 40
        folder = places[name] / below[name] if name else work / "home" / ".cache" / "huggingface" / "hub"
        folder.mkdir(parents=True)
        make_cache(folder, 1000, commit)
        if name:
            env[name] = places[name]
        push(client, "hf:org/tiny", "org/tiny", env=env)
        assert info(client)[0]["origin"].endswith(commit)


def test_revisions(server, from_hub, hub):
    make_cache(hub, 1000, COMMIT, ("main", "v1.0"))
    make_cache(hub, 1000, OTHER, ("refs/pr/1",))
    for revision, commit in ((None, COMMIT), ("main", COMMIT), ("v1.0", COMMIT), ("refs/pr/1", OTHER), (OTHER, OTHER),
                             ("012345", COMMIT), ("01230", OTHER)):
        push(from_hub, "hf:org/tiny" + (f"@{revision}" if revision else ""), "org/tiny")
        assert info(from_hub)[0]["origin"].endswith("@" + commit), revision
        models.assert_same(hub / REPO / "snapshots" / commit, server.model("org/tiny"))
    assert "more digits" in from_hub.fails(2, "push", "hf:org/tiny@0123").err
    for missing in ("v2.0", "012", "ffff"):
        assert f"'{missing}'" in from_hub.fails(2, "push", f"hf:org/tiny@{missing}").err
    (hub / REPO / "refs" / "gone").write_text("f" * 40)
    assert "f" * 40 in from_hub.fails(2, "push", "hf:org/tiny@gone").err
    assert str(hub) in from_hub.fails(2, "push", "hf:org/absent").err


def test_what_cannot_be_read_of_the_cache_is_said(server, from_hub, hub, shims):
    """And not taken for one without the commit, or without a download."""
    repo = make_cache(hub, 1000)

    def cut(folder):
        return {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": f"readdir:EIO:1:{repo / folder}"}}

    for rule in ("openat:EACCES:1", "read:EIO:1"):
        shim = {"SHIM_FAIL": f"{rule}:{repo / 'refs' / 'main'}"}
        result = from_hub.fails(1, "push", "hf:org/tiny", preload=shims["shim_fail"], shim=shim)
        assert f"cannot read '{repo / 'refs' / 'main'}'" in result.err
    result = from_hub.fails(1, "push", "hf:org/tiny@012345", **cut("snapshots"))
    assert f"cannot read '{repo / 'snapshots'}': input/output error" in result.err
    (warning,) = push(from_hub, "hf:org/tiny", "org/tiny", **cut("blobs"))["warnings"]
    assert f"cannot read '{repo / 'blobs'}'" in warning


@pytest.mark.sanitize
def test_links_that_lead_out_are_named_failures(server, from_hub, hub, work):
    repo = make_cache(hub)
    secret = models.rnd(work / "secret", 1000)
    snapshot = repo / "snapshots" / COMMIT
    (snapshot / "absolute").symlink_to(secret)
    (snapshot / "relative").symlink_to("../../../../secret")
    (repo / "blobs" / "hop").symlink_to(secret)
    (snapshot / "through").symlink_to("../../blobs/hop")
    result = from_hub.fails(7, "--json", "push", "hf:org/tiny")
    failed = {f["path"]: f["error"] for f in result.data["failed"]}
    assert sorted(failed) == ["absolute", "relative", "through"]
    assert all(str(secret) in error for error in failed.values())
    assert listed(from_hub, "org/tiny")["state"] == "incomplete"
    staged = b"".join(p.read_bytes() for p in server.staged() if p.stat().st_size == 1000)
    assert secret.read_bytes() not in staged
    push(from_hub, "hf:org/tiny", "org/tiny", "--exclude", "absolute", "--exclude", "relative", "--exclude", "through")


def test_a_download_under_way_is_warned_of(server, from_hub, hub):
    """It may be of another revision, or left by one that was given up: named, and no failure."""
    repo = make_cache(hub)
    (repo / "blobs" / ("a" * 64 + ".incomplete")).write_bytes(b"half")
    (warning,) = push(from_hub, "hf:org/tiny", "org/tiny")["warnings"]
    assert "a" * 64 + ".incomplete" in warning
    assert push(from_hub, "hf:org/tiny", "org/tiny", "--all")["warnings"] == []


def test_origin_and_hashes_hold_as_long_as_the_files_do(server, from_hub, hub, work):
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    snapshot = hub / REPO / "snapshots" / COMMIT
    # The same bytes, pushed as a folder: the hashes stay, where they come from is not said again.
    push(from_hub, snapshot, "org/tiny")
    data, files = info(from_hub)
    assert "origin" not in data and "sha256" in files["model.safetensors"]
    push(from_hub, "hf:org/tiny", "org/tiny")
    assert "origin" in info(from_hub)[0]
    # Changed by other means: the file's is unknown, and it is not that commit any more.
    models.rnd(server.model("org/tiny") / "model.safetensors", 3 << 20, seed=99)
    data, files = info(from_hub)
    assert "origin" not in data
    assert "sha256" not in files["model.safetensors"] and "sha256" in files["onnx/deep/part.bin"]


# -- pull --layout hf-cache --


def to_cache(client, cache, name="org/tiny", *options, **how):
    """A pull into a cache that must succeed; its summary."""
    data = client.json("pull", name, "--layout", "hf-cache", "--cache-dir", cache, *options, **how)
    assert data["ok"] and data["verified"] and data["durable"]
    assert not (Path(cache) / REPO / ".mstore").exists()
    return data


@pytest.mark.sanitize
def test_a_cache_comes_back_equal(server, from_hub, hub, work):
    """Content, refs and links are those of the cache that was pushed (issue 7, criterion 2)."""
    repo = make_cache(hub)
    push(from_hub, "hf:org/tiny", "mine/tiny")
    words = ["pull", "mine/tiny", "--layout", "hf-cache", "--cache-dir", work / "new" / "hub"]
    assert from_hub.json(*words, "--dry-run")["bytes"]["sent"] > 3 << 20
    assert not (work / "new").exists()
    data = to_cache(from_hub, work / "new" / "hub", "mine/tiny")
    assert data["files"] == {"total": 5, "sent": 5, "skipped": 0, "failed": 0}
    assert snapshot_of(work / "new" / "hub" / REPO) == snapshot_of(repo)
    assert os.listdir(work / "new" / "hub") == [REPO]
    assert (work / "new" / "hub" / REPO / "refs" / "main").read_bytes() == COMMIT.encode()


def test_what_is_there_is_not_moved_again(server, from_hub, hub, work):
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    # Into the very cache it came from, found by the environment.
    before = snapshot_of(hub / REPO)
    data = from_hub.json("pull", "org/tiny", "--layout", "hf-cache")
    assert data["bytes"]["sent"] == 0 and data["files"]["skipped"] == 5
    assert snapshot_of(hub / REPO) == before
    # A blob that is gone, and one that is cut, come again; the links are made again.
    blobs = sorted((hub / REPO / "blobs").iterdir(), key=lambda p: p.stat().st_size)
    blobs[-1].unlink()
    os.truncate(blobs[-2], 100)
    (hub / REPO / "snapshots" / COMMIT / "config.json").unlink()
    (hub / REPO / "refs" / "main").unlink()
    data = from_hub.json("pull", "org/tiny", "--layout", "hf-cache")
    assert data["files"]["sent"] == 2
    assert snapshot_of(hub / REPO) == before


def test_checksum_finds_a_damaged_blob(server, from_hub, hub, work):
    repo = make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    before = snapshot_of(repo)
    models.flip_byte(max((repo / "blobs").iterdir(), key=lambda p: p.stat().st_size), 1000)
    assert from_hub.json("pull", "org/tiny", "--layout", "hf-cache")["bytes"]["sent"] == 0
    assert from_hub.json("pull", "org/tiny", "--layout", "hf-cache", "--checksum")["files"]["sent"] == 1
    assert snapshot_of(repo) == before


def test_revisions_lie_side_by_side(server, from_hub, hub, work):
    make_cache(hub, 1000, COMMIT)
    make_cache(hub, 1000, OTHER, ("pr",))
    for commit in (COMMIT, OTHER):
        push(from_hub, f"hf:org/tiny@{commit}", "org/tiny")
        to_cache(from_hub, work / "new")
        assert (work / "new" / REPO / "refs" / "main").read_text() == commit
    for commit in (COMMIT, OTHER):
        new = snapshot_of(work / "new" / REPO / "snapshots" / commit)
        assert new == snapshot_of(hub / REPO / "snapshots" / commit)


@pytest.mark.sanitize
def test_a_model_without_origin_gets_a_commit_of_its_own(server, client, small_model, work):
    """Named like the model, its blobs after mstore's own hash; the same files make the same commit."""
    push(client, small_model, "ns/m")
    repos = []
    for name in ("one", "two"):
        to_cache(client, work / name, "ns/m")
        repos.append(work / name / "models--ns--m")
    assert snapshot_of(repos[0]) == snapshot_of(repos[1])
    commit = (repos[0] / "refs" / "main").read_text()
    assert len(commit) == 40 and int(commit, 16) >= 0
    snapshot = repos[0] / "snapshots" / commit
    assert os.listdir(repos[0] / "snapshots") == [commit]
    for name, full in models.files(small_model).items():
        link = os.path.join(os.fsencode(snapshot), name)
        assert os.path.islink(link) and models.same_bytes(full, link)
        assert os.path.basename(os.readlink(link)).decode() == models.file_hash_of_protocol(os.fsdecode(full))
    # Other files, another commit; an origin that is no name of the Hub's counts for nothing.
    models.rnd(small_model / "more.bin", 10)
    push(client, small_model, "ns/m")
    to_cache(client, work / "one", "ns/m")
    assert (repos[0] / "refs" / "main").read_text() != commit
    assert len(os.listdir(repos[0] / "snapshots")) == 2
    # It can be pushed from there again.
    push(client, "hf:ns/m", "ns/again", env={"HF_HUB_CACHE": work / "one"})
    models.assert_same(small_model, server.model("ns/again"))


def test_files_whose_hash_the_server_does_not_know(server, client, work):
    """A model that was copied into the root: the pull hashes it, the next one finds its blobs."""
    for number in range(3):
        models.rnd(server.model("ns/copied") / f"f{number}.bin", 5000, seed=number)
    to_cache(client, work / "hub", "ns/copied")
    repo = work / "hub" / "models--ns--copied"
    models_there = sorted(p.name for p in (repo / "blobs").iterdir())
    assert models_there == sorted(models.file_hash_of_protocol(p) for p in server.model("ns/copied").iterdir())
    data = client.json("pull", "ns/copied", "--layout", "hf-cache", "--cache-dir", work / "hub")
    assert data["bytes"]["sent"] == 0
    assert len(os.listdir(repo / "snapshots")) == 1


def test_a_choice_of_files(server, from_hub, hub, work):
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    to_cache(from_hub, work / "new", "org/tiny", "--include", "*.json")
    snapshot = work / "new" / REPO / "snapshots" / COMMIT
    assert os.listdir(snapshot) == ["config.json"]
    to_cache(from_hub, work / "new", "org/tiny", "--exclude", "*.safetensors")
    assert "model.safetensors" not in models.files(snapshot)
    to_cache(from_hub, work / "new")
    assert snapshot_of(work / "new" / REPO) == snapshot_of(hub / REPO)


def test_nothing_is_taken_as_complete_before_it_is(server, from_hub, hub, work):
    """Killed on its way: no snapshot, no ref; the next pull goes on and completes it."""
    make_cache(hub, 40 << 20)
    push(from_hub, "hf:org/tiny", "org/tiny")
    repo = work / "new" / REPO
    running = from_hub.start("pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", work / "new", "--bwlimit", "8M",
                             "-n", "1")
    wait_until(lambda: (repo / ".mstore").exists() and sum(p.stat().st_blocks * 512 for p in
                                                            files_below(repo / ".mstore")) > 9 << 20, "bytes came")
    wait_until(lambda: any((repo / ".mstore").glob("*/journal")), "the journal is begun")
    running.kill()
    assert not (repo / "snapshots").exists() and not (repo / "refs").exists()
    from_hub.fails(2, "push", "hf:org/tiny", "ns/x", env={"HF_HUB_CACHE": work / "new"})
    to_cache(from_hub, work / "new")
    assert snapshot_of(repo) == snapshot_of(hub / REPO)


def killed_at(count):
    """A prefix that kills the client at its rename number `count`."""
    return ["strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=renameat,renameat2,symlinkat",
            "-e", f"inject=renameat,renameat2,symlinkat:signal=KILL:when={count}"]


@pytest.mark.skipif(subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode != 0,
                    reason="processes cannot be traced here")
def test_killed_at_each_step_of_showing(server, from_hub, hub, work):
    """At no moment a ref without its snapshot, a snapshot without a file, or a blob that is not whole."""
    make_cache(hub, 6000)
    push(from_hub, "hf:org/tiny", "org/tiny")
    whole = snapshot_of(hub / REPO)
    seen = set()
    for count in range(1, 40):
        cache = work / f"cache{count}"
        words = ["pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", cache, "-q"]
        result = from_hub.run(*words, prefix=killed_at(count))
        shown = snapshot_of(cache / REPO) if (cache / REPO).exists() else {}
        assert all(whole[name] == found for name, found in shown.items())
        snapshot = [name for name in shown if name.startswith(b"snapshots/")]
        assert len(snapshot) in (0, 5) and (snapshot or b"refs/main" not in shown)
        seen.add((sum(name.startswith(b"blobs/") for name in shown), len(snapshot), b"refs/main" in shown))
        to_cache(from_hub, cache)
        assert snapshot_of(cache / REPO) == whole
        if result.status == 0:
            break
    assert result.status == 0, "there are more steps than were tried"
    assert seen >= {(0, 0, False), (2, 0, False), (4, 0, False), (4, 5, False), (4, 5, True)}


def files_below(folder):
    """The files that are there now; those that go meanwhile are left out."""
    found = []
    for place, _, names in os.walk(folder):
        found += [Path(place) / name for name in names if (Path(place) / name).exists()]
    return found


def test_a_blob_name_that_two_contents_share_is_refused(server, from_hub, hub, work):
    """A damaged cache may say so; no file is shown with the bytes of another."""
    add_file(hub / REPO, COMMIT, "a.bin", b"a" * 1000, True)
    add_file(work / "other" / REPO, COMMIT, "b.bin", b"b" * 1000, True)
    (blob,), (own,) = (work / "other" / REPO / "blobs").iterdir(), (hub / REPO / "blobs").iterdir()
    blob.rename(blob.with_name(own.name))
    link = work / "other" / REPO / "snapshots" / COMMIT / "b.bin"
    link.unlink()
    link.symlink_to(f"../../blobs/{own.name}")
    push(from_hub, f"hf:org/tiny@{COMMIT}", "org/tiny")
    push(from_hub, f"hf:org/tiny@{COMMIT}", "org/tiny", "--add", env={"HF_HUB_CACHE": work / "other"})
    result = from_hub.fails(5, "pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", work / "new")
    assert "a.bin" in result.err and "b.bin" in result.err
    assert not (work / "new" / REPO / "snapshots").exists()
    to_cache(from_hub, work / "new", "org/tiny", "--include", "b.bin")


@pytest.mark.sanitize
@pytest.mark.parametrize("size, options", [(2000, []), (1000, ["--checksum"])])
def test_a_wrong_record_does_not_replace_a_good_blob(server, from_hub, hub, work, size, options):
    """The server only claims a SHA-256: bytes that do not have it take no other snapshot's blob away."""
    add_file(hub / REPO, COMMIT, "a.bin", b"a" * 1000, True)
    add_file(work / "other" / REPO, OTHER, "b.bin", b"b" * size, True)
    (blob,), (own,) = (work / "other" / REPO / "blobs").iterdir(), (hub / REPO / "blobs").iterdir()
    blob.rename(blob.with_name(own.name))
    link = work / "other" / REPO / "snapshots" / OTHER / "b.bin"
    link.unlink()
    link.symlink_to(f"../../blobs/{own.name}")
    push(from_hub, f"hf:org/tiny@{COMMIT}", "org/tiny")
    push(from_hub, f"hf:org/tiny@{OTHER}", "org/wrong", env={"HF_HUB_CACHE": work / "other"})
    to_cache(from_hub, work / "new")
    before = snapshot_of(work / "new" / REPO)
    words = ["pull", "org/wrong", "--layout", "hf-cache", "--cache-dir", work / "new"]
    assert "b.bin" in from_hub.fails(5, *words, *options).err
    assert snapshot_of(work / "new" / REPO) == before


def test_warm_reads_the_blobs_of_what_was_asked_for(server, from_hub, hub, work):
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    warm = to_cache(from_hub, work / "new", "org/tiny", "--include", "onnx/*", "--warm")["warm"]
    assert warm == {"bytes": 5000, "resident": 5000}
    assert to_cache(from_hub, work / "new", "org/tiny", "--include", "onnx/*", "--warm")["warm"] == warm


@pytest.mark.parametrize("wrong", ["blobs", "snapshots", "refs"])
def test_a_link_in_the_cache_is_not_written_through(server, from_hub, hub, work, wrong):
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    (work / "elsewhere").mkdir()
    (work / "new" / REPO).mkdir(parents=True)
    (work / "new" / REPO / wrong).symlink_to(work / "elsewhere")
    from_hub.fails(7, "pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", work / "new")
    assert os.listdir(work / "elsewhere") == []


def test_usage_of_the_layout(server, client, work):
    for words in (["a/b", work / "dst", "--layout", "hf-cache"], ["a/b", "--layout", "hf-cache", "--cache-dir", ""],
                  ["a/b", work / "dst", "--cache-dir", work], ["a/b/c.bin", "--layout", "hf-cache"], ["a/b"],
                  ["--layout", "hf-cache"], ["a/b", "--layout", "zip"]):
        client.fails(2, "pull", *words)
    client.fails(3, "pull", "a/b", "--layout", "hf-cache", "--cache-dir", work / "new")
    assert not (work / "new").exists()


# -- push --sha256 --


@pytest.mark.sanitize
def test_sha256_is_recorded_at_push(server, client, src, work):
    for size in (0, 1, 5000, (256 << 10) + 1, (9 << 20) + 3):
        models.rnd(src / f"f{size}.bin", size, seed=size)
    push(client, src)
    assert not any("sha256" in f for f in info(client, "ns/m")[1].values())
    # Nothing has to be sent again for it, and it stays known when it is not asked for.
    for options in (["--sha256"], []):
        assert push(client, src, "ns/m", *options)["bytes"]["sent"] == 0
        for path, file in info(client, "ns/m")[1].items():
            assert file["sha256"] == models.file_hash(src / path)
    # The Hub's names for its blobs.
    to_cache(client, work / "hub", "ns/m")
    blobs = {p.name for p in (work / "hub" / "models--ns--m" / "blobs").iterdir()}
    assert blobs == {models.file_hash(p) for p in src.iterdir()}
    # A changed file is another one.
    models.rnd(src / "f5000.bin", 5000, seed=77)
    push(client, src)
    files = info(client, "ns/m")[1]
    assert [path for path, file in files.items() if "sha256" not in file] == ["f5000.bin"]
    client.fails(2, "pull", "ns/m", work / "dst", "--sha256")


# -- others who read the cache --

SCAN = """
import { scanCacheDir } from "@huggingface/hub";
const found = await scanCacheDir(process.argv[2]);
process.stdout.write(JSON.stringify(found, (key, value) => typeof value === "bigint" ? Number(value) : value));
"""


@pytest.mark.slow
def test_the_hubs_own_scanner_accepts_the_cache(server, from_hub, hub, work):
    """@huggingface/hub of npm, whose scanCacheDir() reads caches as the Python library does."""
    if not shutil.which("npm") or subprocess.run(["npm", "ping"], capture_output=True, check=False).returncode != 0:
        pytest.skip("npm and its registry are needed")
    make_cache(hub)
    push(from_hub, "hf:org/tiny", "org/tiny")
    push(from_hub, models.mixed(work / "plain", 1 << 20, 4), "ns/plain", "--sha256")
    to_cache(from_hub, work / "new")
    to_cache(from_hub, work / "new", "ns/plain")
    node = work / "node"
    node.mkdir()
    (node / "package.json").write_text('{"private": true, "type": "module"}')
    (node / "scan.js").write_text(SCAN)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", f"@huggingface/hub@{SCANNER}"], cwd=node, check=True,
                   capture_output=True, timeout=300)

    def scan(cache):
        done = subprocess.run(["node", "scan.js", cache], cwd=node, check=True, capture_output=True, timeout=60)
        found = json.loads(done.stdout)
        assert found["warnings"] == []
        return {repo["id"]["name"]: repo for repo in found["repos"]}

    repos = scan(work / "new")
    assert sorted(repos) == ["ns/plain", "org/tiny"]
    assert seen_by(repos["org/tiny"]) == seen_by(scan(hub)["org/tiny"])
    commit, refs, files = seen_by(repos["ns/plain"])
    snapshot = work / "new" / "models--ns--plain" / "snapshots" / commit
    assert refs == ["main"] and repos["ns/plain"]["id"]["type"] == "model"
    # It looks at the top of a snapshot only.
    assert files == {p.name: (p.stat().st_size, models.file_hash(p)) for p in snapshot.iterdir() if not p.is_dir()}


def seen_by(repo):
    """What the scanner found of a repo with one revision: commit, refs, and of each file size and blob name."""
    (revision,) = repo["revisions"]
    return revision["commitOid"], revision["refs"], {
        os.path.basename(f["path"]): (f["blob"]["size"], os.path.basename(f["blob"]["path"])) for f in revision["files"]}
