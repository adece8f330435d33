"""What a transfer costs: system calls and memory of each side. Bounds, not timings."""

import re
import sys

import pytest

import formats
import models
from harness import BLOCK, MIB, SANITIZER, pull, push, wait_until

# Runs a command and appends the peak of its resident memory in KiB to a file.
PEAK = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[2:]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=open(sys.argv[1], 'a')); sys.exit(code)")


def calls_of(path):
    """The total of `strace -c`, which writes it after the end of the program."""
    total = re.compile(r"^100\.00 +\S+ +(?:\S+ +)?(\d+)(?: +\d+)? total$", re.MULTILINE)
    return int(wait_until(lambda: path.exists() and total.search(path.read_text()), "the trace has its total")[1])


@pytest.fixture
def counted(make_server, make_client, work):
    """Runs one command against a daemon; the system calls of (client, daemon), start and end included."""
    def run(name, *args, root=None):
        logs = work / f"{name}.client", work / f"{name}.server"
        how = {"root": root} if root else {}
        trace = ["strace", "-D", "-f", "-c", "-o"]  # -D: the program is our child, not strace's
        server = make_server(prefix=trace + [logs[1]], check_idle=False, **how)
        make_client(server.address).ok(*args, prefix=trace + [logs[0]])
        server.stop()
        return calls_of(logs[0]), calls_of(logs[1]), server
    return run


def test_b105_system_calls_of_64_mb(counted, src, dst):
    """The pieces are large and there is no call for each of anything small."""
    models.rnd(src / "w.bin", 64 * MIB, seed=1)
    client, daemon, server = counted("push", "push", src, "ns/m")
    assert max(client, daemon) < 1000, (client, daemon)
    client, daemon, _ = counted("pull", "pull", "ns/m", dst, root=server.root)
    assert max(client, daemon) < 1000, (client, daemon)
    models.assert_same(src, dst)


def peak_of(server):
    """The most memory that the daemon has had, in bytes."""
    return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{server.pid}/status", encoding="ascii").read())[1]) * 1024


def client_peak(client, work, function, *args):
    """The same of a client that runs one command."""
    path = work / "peak"
    path.unlink(missing_ok=True)
    function(client, *args, prefix=[sys.executable, "-c", PEAK, path], timeout=300)
    return int(path.read_text()) * 1024


@pytest.mark.parametrize("streams", [1, 4, 16])
def test_memory_of_a_large_file(server, client, src, dst, work, streams):
    """20 MB and two buffers for each live stream, on both sides."""
    models.rnd(src / "w.bin", 640 * MIB, seed=1)
    most = 20 * MIB + 2 * BLOCK * streams
    assert client_peak(client, work, push, src, "ns/m", "-n", str(streams)) < most
    assert client_peak(client, work, pull, dst, "ns/m", "-n", str(streams)) < most
    assert peak_of(server) < most


@pytest.mark.parametrize("count", [20_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_memory_of_many_files(server, client, src, dst, work, count):
    """1 KB a file: 200 000 files take at most 200 MB on either side."""
    models.many(src, count)
    most = min(200 * MIB, 80 * MIB + count * 1000)
    assert client_peak(client, work, push, src, "ns/m") < most
    assert client_peak(client, work, pull, dst, "ns/m") < most
    assert peak_of(server) < most


def test_info_on_an_index_of_60_mb(server, client, src, work):
    """Both sides under 50 MB; 2 s from the start of the client to its end."""
    if SANITIZER:
        pytest.skip("bounds are for the program as it is used")
    names = [f"model.layers.{n // 100:06}.mlp.experts.{n:06}.gate_up_projection.weight_scale_inv" for n in range(520_000)]
    src.mkdir(exist_ok=True)
    formats.index(src / "model.safetensors.index.json", ["model-00001-of-00002.safetensors"], names)
    assert (src / "model.safetensors.index.json").stat().st_size > 60_000_000
    client.ok("push", src, "ns/m", "--allow-incomplete")
    server.stop()
    server.start()
    told = []
    client.address = server.address
    assert client_peak(client, work, lambda c, *args, **how: told.append(c.run(*args, **how)), "--json", "info", "ns/m") < 50e6
    assert peak_of(server) < 50e6
    assert told[0].status == 0 and told[0].seconds < 2, told[0]
    assert [f["kind"] for f in told[0].data["metadata"]["findings"]] == ["missing-shard"]
