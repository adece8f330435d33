"""Sizes and offsets beyond 2 and 4 GiB (kind F). Where the bytes must travel the tests are slow."""

import pytest

import models
from harness import listed, pull, push

GIB = 1 << 30
AROUND = [2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**32 + 5]


def test_b34_scan_of_a_3_gib_file(server, client, src):
    """Only looked at: the size stands in the plan, in JSON and in words."""
    models.sparse(src / "s.bin", 3 * GIB)
    data = client.json("push", "--dry-run", src, "ns/m")
    assert data["bytes"]["total"] == 3221225472
    assert "3.22 GB" in client.ok("push", "--dry-run", src, "ns/m").out


@pytest.mark.parametrize("size", AROUND)
def test_b35_sizes_in_listings(server, client, src, size):
    """Put into the root by other means: no byte of it is read for `ls` and `info`."""
    models.sparse(server.root / "ns" / "big" / "s.bin", size)
    assert listed(client, "ns/big")["bytes"] == size
    (file,) = client.json("info", "ns/big")["files"]
    assert file["bytes"] == size
    models.sparse(server.root / "ns" / "big" / "t.bin", size)
    assert listed(client, "ns/big")["bytes"] == 2 * size


def test_b35_total_beyond_a_tebibyte(server, client):
    for number in range(3):
        models.sparse(server.root / "ns" / "big" / f"s{number}.bin", 2**40 + number)
    assert listed(client, "ns/big")["bytes"] == 3 * 2**40 + 3


@pytest.mark.slow
@pytest.mark.parametrize("size", [2**31 + 1, 2**32 + 5])
def test_b35_b26_transfer_beyond_the_border(server, client, src, dst, size):
    """Marks on both sides of each border arrive at their offsets; one sendfile call moves 2 GiB at most."""
    marks = [(at, b"%12d" % at) for at in (2**31 - 6, 2**32 - 6) if at + 12 <= size] + [(size - 5, b"end!!")]
    models.sparse(src / "s.bin", size, marks)
    result = client.ok("--json", "--progress", "json", "push", src, "ns/m", "-n", "2", timeout=180)
    assert result.data["bytes"]["total"] == result.data["bytes"]["sent"] == size
    assert result.progress[-1]["bytes"] == result.progress[-1]["total"] == size
    models.assert_same(src, server.model("ns/m"))
    pull(client, dst, "ns/m", timeout=180)
    models.assert_same(src, dst)
    assert push(client, src)["bytes"] == {"total": size, "sent": 0, "resumed": 0, "skipped": size}
