"""Edge contents: nothing, nearly nothing, and what lies around a block (kind R)."""

import pytest

import models
from harness import BLOCK, listed, pull, push, roundtrip


@pytest.mark.sanitize
@pytest.mark.parametrize("count", [1, 100])
def test_b94_only_empty_files(server, client, src, dst, count):
    for number in range(count):
        models.rnd(src / f"d{number % 3}" / f"empty{number}", 0)
    for summary in roundtrip(server, client, src, dst):
        assert summary["files"]["sent"] == count and summary["bytes"]["total"] == 0
    assert (listed(client, "ns/m")["bytes"], listed(client, "ns/m")["files"]) == (0, count)
    assert all(f["hash"] == models.file_hash_of_protocol(src / f["path"]) for f in client.json("info", "ns/m")["files"])
    assert client.json("verify", "ns/m")["ok"] is True


@pytest.mark.sanitize
def test_b94_empty_files_among_others(server, client, src, dst):
    models.edges(src)
    models.rnd(src / "__init__.py", 0)
    roundtrip(server, client, src, dst)


@pytest.mark.parametrize("streams", ["1", "4"])
def test_b94_sizes(server, client, work, streams):
    """One file alone, also of fewer bytes or blocks than streams."""
    for size in (0, 1, 3, 4, 5, BLOCK - 1, BLOCK, BLOCK + 1, 4 * BLOCK - 1, 4 * BLOCK + 1):
        source = models.rnd(work / f"src{size}" / "w", size, seed=size).parent
        roundtrip(server, client, source, work / f"dst{size}", "-n", streams, model=f"ns/m{size}")


@pytest.mark.sanitize
def test_b94_folder_without_files(server, client, src, dst):
    """There is nothing to store: refused in words, and nothing stored is replaced by it."""
    (src / "sub").mkdir()
    result = client.run("push", src, "ns/m")
    assert result.status in (1, 2) and "src" in result.err, result
    assert listed(client, "ns/m") is None
    models.rnd(src / "w", 10)
    push(client, src)
    (src / "w").unlink()
    assert client.run("push", src, "ns/m").status in (1, 2)
    assert listed(client, "ns/m")["files"] == 1
    pull(client, dst)


def test_zeros_and_ones(server, client, src, dst):
    """Blocks that are all alike stay in their places and number."""
    (src / "zeros").write_bytes(b"\0" * (2 * BLOCK + 1))
    (src / "ones").write_bytes(b"\xff" * (BLOCK - 1))
    roundtrip(server, client, src, dst)


def test_equal_files_stay_apart(server, client, src, dst):
    for name in ("a", "b", "sub/c"):
        models.rnd(src / name, 100_000, seed=1)
    roundtrip(server, client, src, dst)
    assert len({p.stat().st_ino for p in dst.rglob("*") if p.is_file()}) == 3
