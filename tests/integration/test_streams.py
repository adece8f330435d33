"""Streams: as many as asked for, each with its share, and a sick one does not hold up the end."""

import pytest

import cproxy
import models
from harness import MIB, pull, push, roundtrip

GIB = 1 << 30


def shares(summary):
    """Each stream's part of all bytes."""
    return [stream["bytes"] / summary["bytes"]["total"] for stream in summary["streams"]]


def test_every_stream_carries_its_share(server, client, src, dst):
    models.rnd(src / "model.gguf", 256 * MIB, seed=1)
    for summary in roundtrip(server, client, src, dst, "-n", "4", "--bwlimit", "300M"):  # else it is over at once
        assert len(summary["streams"]) == 4 and min(shares(summary)) >= 0.10, shares(summary)


@pytest.mark.slow
def test_every_stream_carries_its_share_of_3_gb(server, client, src, dst):
    models.rnd(src / "model.gguf", 3 * GIB, seed=1)
    for summary in roundtrip(server, client, src, dst, "-n", "4", timeout=120):
        assert len(summary["streams"]) == 4 and min(shares(summary)) >= 0.10, shares(summary)


def seconds_of(make_proxy, make_client, address, rules, run, streams):
    """How long run(client, "-n", streams) takes behind a proxy with these rules."""
    proxy = make_proxy(address, *rules)
    return run(make_client(proxy.address), "-n", streams)["seconds"]


@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_slow_stream_does_not_hold_up_the_end(server, client, make_client, make_proxy, src, work, command):
    """Links of 40 MB/s, so that the good ones bind: the fourth, of 1 MB/s, would need 8 s for a block."""
    models.rnd(src / "model.gguf", 192 * MIB, seed=2)
    good = cproxy.rate(40e6, conn=(1, 2, 3))
    slow = cproxy.rate(1e6, conn=4)
    push(client, src, "ns/stored")
    runs = {"push": lambda c, *o: push(c, src, "ns/m" + o[1], *o),
            "pull": lambda c, *o: pull(c, work / ("dst" + o[1]), "ns/stored", *o)}
    three = seconds_of(make_proxy, make_client, server.address, [good], runs[command], "3")
    four = seconds_of(make_proxy, make_client, server.address, [good, slow], runs[command], "4")
    assert three > 1.2, "the proxy did not bind"
    assert four < 2 * three, (three, four)
    models.assert_same(src, server.model("ns/m4") if command == "push" else work / "dst4")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_slow_stream_with_3_gb(server, client, make_client, make_proxy, src, work, command):
    models.rnd(src / "model.gguf", 3 * GIB, seed=2)
    push(client, src, "ns/stored", timeout=120)
    runs = {"push": lambda c, *o: push(c, src, "ns/m" + o[1], *o, timeout=200),
            "pull": lambda c, *o: pull(c, work / ("dst" + o[1]), "ns/stored", *o, timeout=200)}
    three = seconds_of(make_proxy, make_client, server.address, [], runs[command], "3")
    four = seconds_of(make_proxy, make_client, server.address, [cproxy.rate(1e6, conn=4)], runs[command], "4")
    assert four < 2 * three, (three, four)
    models.assert_same(src, server.model("ns/m4") if command == "push" else work / "dst4")


@pytest.mark.sanitize
@pytest.mark.parametrize("streams", [1, 2, 8])
def test_b101_as_many_connections_as_asked(server, make_client, make_proxy, src, dst, streams):
    """Counted from outside, and the summary says the same. So slow that each one has something to do."""
    models.rnd(src / "model.gguf", 10 * 8 * MIB, seed=3)
    for command in ("push", "pull"):
        proxy = make_proxy(server.address, cproxy.rate(160e6 / streams, conn=range(1, 9)))
        client = make_client(proxy.address)
        summary = (push(client, src, "ns/m", "-n", str(streams)) if command == "push"
                   else pull(client, dst, "ns/m", "-n", str(streams)))
        assert len(proxy.links) == 1 + streams
        assert len(summary["streams"]) == streams
        assert all(stream["bytes"] > 0 for stream in summary["streams"])


@pytest.mark.parametrize("sizes, pieces", [
    ([], 0), ([10], 1), ([0], 1), ([10, 20, 30], 3), ([8 * MIB], 1), ([8 * MIB + 1], 2), ([20 * MIB, 1], 4),
])
def test_b102_no_more_connections_than_pieces(server, client, make_client, make_proxy, src, dst, sizes, pieces):
    """Beside a file that is there already and needs none."""
    models.rnd(src / "there", 1000, seed=99)
    push(client, src)
    pull(client, dst)
    for number, size in enumerate(sizes):
        models.rnd(src / f"file{number}", size, seed=number)
    for command in ("push", "pull"):
        proxy = make_proxy(server.address)
        through = make_client(proxy.address)
        summary = (push(through, src, "ns/m", "-n", "16") if command == "push"
                   else pull(through, dst, "ns/m", "-n", "16"))
        assert (command, len(proxy.links)) == (command, 1 + pieces)
        assert len(summary["streams"]) == pieces
    models.assert_same(src, dst)


@pytest.mark.sanitize
def test_a_32_mb_file_uses_more_than_one_stream(server, client, src, dst):
    models.rnd(src / "model.gguf", 32 * MIB, seed=3)
    for summary in roundtrip(server, client, src, dst, "-n", "4"):
        assert sum(stream["bytes"] > 0 for stream in summary["streams"]) > 1


@pytest.mark.sanitize
def test_fewer_stream_slots_than_streams(make_server, make_client, src, work):
    """--max-streams makes streams wait; no one is turned away."""
    models.rnd(src / "model.gguf", 48 * MIB, seed=4)
    server = make_server(options=["--max-streams", "2"])
    client = make_client(server.address)
    push(client, src)
    pulls = [client.start("pull", "ns/m", work / f"dst{i}", "-n", "4") for i in range(4)]
    for i, running in enumerate(pulls):
        assert running.wait().status == 0
        models.assert_same(src, work / f"dst{i}")


def test_summary_shows_what_was_in_force(server, client, src, dst):
    models.rnd(src / "model.gguf", 64 * MIB, seed=5)
    for summary in roundtrip(server, client, src, dst, "-n", "2"):
        for stream in summary["streams"]:
            assert stream["send"] in ("sendfile", "copy")
            assert stream["seconds"] > 0 and stream["rcvbuf"] > 0 and stream["sndbuf"] > 0
        expected = sum(s["bytes"] for s in summary["streams"]) / summary["seconds"]
        assert summary["bytes_per_second"] == pytest.approx(expected, rel=0.05)


@pytest.mark.sanitize
@pytest.mark.parametrize("shape", ["one file", "small files"])
def test_bwlimit_holds_over_all_streams(server, client, src, dst, shape):
    """In both directions; what a stream waits for the rate is no silence."""
    if shape == "one file":
        models.rnd(src / "model.gguf", 8 * MIB, seed=6)
    else:
        for number in range(128):
            models.rnd(src / f"file{number}", 64 * 1024, seed=number)
    push(client, src, "ns/other")
    for summary in (push(client, src, "ns/m", "--bwlimit", "6M", "-n", "4"),
                    pull(client, dst, "ns/m", "--bwlimit", "6M", "-n", "4")):
        assert 1.2 < summary["seconds"] < 3, summary["seconds"]
        assert summary["bytes_per_second"] < 7e6
    models.assert_same(src, dst)
