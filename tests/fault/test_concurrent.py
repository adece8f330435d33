"""Two actors on one model or one destination (kind C)."""

import os

import pytest

import cproxy
import faults
import models
from harness import MIB, pull, push, wait_until


@pytest.fixture
def two(work):
    """Two contents under one name."""
    return [models.rnd(work / name / "w.bin", 12 * MIB, seed=n).parent for n, name in enumerate("ab")]


def race(server, make_client, make_proxy, two, rate, **how):
    """Two pushes at once: exactly A or exactly B is stored, the statuses tell which, the loser can come again."""
    client = make_client(make_proxy(server.address, cproxy.rate(rate)).address)
    running = [client.start("push", src, "ns/m", "--retries", "0", **how) for src in two]
    results = [r.wait() for r in running]
    stored = faults.which(server.model("ns/m"), two)
    assert stored is not None and results[stored].status == 0, results
    assert results[1 - stored].status in (0, 9), results
    for result in results:
        if result.status == 9:
            assert "another push" in result.err and "since" in result.err, result
    faults.assert_clean(server)
    loser = 1 - stored
    push(make_client(server.address), two[loser])
    assert faults.which(server.model("ns/m"), two) == loser
    return results


def test_b14_two_pushes_of_one_model(server, make_client, make_proxy, two):
    for _ in range(2):
        race(server, make_client, make_proxy, two, 8e6)


@pytest.mark.slow
def test_b14_two_pushes_of_one_model_20_times(server, make_client, make_proxy, two):
    for number in range(20):
        race(server, make_client, make_proxy, two, (8e6, 30e6, 1e9)[number % 3])


def test_b14_flock_that_locks_nothing(make_server, make_client, make_proxy, shims, two):
    """On some network file systems flock() says yes to everybody. Nothing rests on it."""
    server = make_server(preload=shims["shim_fail"], shim={"SHIM_FAIL": "flock:ZERO:1+"})
    race(server, make_client, make_proxy, two, 8e6)


def test_b14_pushes_of_different_models_do_not_wait(server, make_client, make_proxy, two):
    client = make_client(make_proxy(server.address, cproxy.rate(8e6)).address)
    running = [client.start("push", src, f"ns/m{n}", "--retries", "0") for n, src in enumerate(two)]
    assert [r.wait().status for r in running] == [0, 0]
    assert [faults.which(server.model(f"ns/m{n}"), two) for n in range(2)] == [0, 1]


@pytest.mark.parametrize("shim", [None, "flock:ZERO:1+"])
def test_b16_pulls_into_one_destination(server, client, shims, src, dst, shim):
    """Each ends with 0 and a right tree, or says that another one is at work."""
    for number in range(8):
        models.rnd(src / f"f{number}", 2 * MIB, seed=number)
    push(client, src)
    how = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": shim}} if shim else {}
    for _ in range(2):
        results = [r.wait() for r in [client.start("pull", "ns/m", dst, **how) for _ in range(4)]]
        assert any(r.status == 0 for r in results), results
        for result in results:
            assert result.status == 0 or result.status == 9 and "another pull" in result.err, result
        models.assert_same(src, dst)
        assert not (dst / ".mstore").exists() and faults.temporaries(dst) == []
        models.subprocess.run(["rm", "-r", dst], check=True)


def test_b16_pulls_of_two_models_into_one_destination(server, client, make_client, make_proxy, two, dst):
    """Both have a file of one name. Each file is one of the two, whole."""
    os.rename(two[1] / "w.bin", two[1] / "v.bin")
    for n, src in enumerate(two):
        models.rnd(src / "both.bin", MIB, seed=10 + n)
        push(client, src, f"ns/m{n}")
    slow = make_client(make_proxy(server.address, cproxy.rate(10e6)).address)
    results = [r.wait() for r in [slow.start("pull", f"ns/m{n}", dst) for n in range(2)]]
    assert [r.status in (0, 9) for r in results] == [True, True] and 0 in [r.status for r in results], results
    faults.assert_whole_files(dst, two)
    for n in range(2):
        pull(client, dst, f"ns/m{n}")
    faults.assert_whole_files(dst, two)


def test_b16_killed_pull_does_not_lock_the_destination(server, client, make_client, make_proxy, two, dst):
    push(client, two[0])
    proxy = make_proxy(server.address, cproxy.hole(2 * MIB, conn=range(1, 9), dir="s2c"))
    running = make_client(proxy.address).start("pull", "ns/m", dst)
    assert proxy.rules[0].hit.wait(20)
    result = client.fails(9, "pull", "ns/m", dst)
    assert "another pull" in result.err
    running.kill()
    pull(client, dst)
    models.assert_same(two[0], dst)


def test_b18_many_pushes_of_one_model(server, client, work):
    """The lock file stays one and the same file; whoever got 0 had the model alone, so the last one is whole.
    (The lock itself among threads and processes: unit/test_store_locks.)"""
    sources = [models.rnd(work / f"s{n}" / "w.bin", MIB + n, seed=n).parent for n in range(12)]
    push(client, sources[0])
    lock = server.root / ".mstore" / "lock" / "ns" / "m"
    inode = lock.stat().st_ino
    for _ in range(2):
        results = [r.wait() for r in [client.start("push", s, "ns/m", "--retries", "0") for s in sources]]
        assert all(r.status in (0, 9) for r in results) and any(r.status == 0 for r in results), results
        stored = faults.which(server.model("ns/m"), sources)
        assert results[stored].status == 0
    client.ok("rm", "-y", "ns/m")
    push(client, sources[1])
    assert lock.stat().st_ino == inode
    faults.assert_clean(server)


def test_b14_rm_during_a_push(server, client, make_client, make_proxy, two):
    """A push in progress owns its staging: rm is told so or waits; nothing is half gone."""
    push(client, two[0])
    proxy = make_proxy(server.address, cproxy.rate(3e6))
    running = make_client(proxy.address).start("push", two[1], "ns/m", "-n", "1", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") > 5 * MIB, "the push is under way")
    removed = client.run("rm", "-y", "ns/m")
    assert removed.status in (0, 9), removed
    result = running.wait()
    stored = faults.which(server.model("ns/m"), two)
    allowed = {(0, 0): [1, None], (9, 0): [1], (0, 6): [None], (9, 6): [0]}  # the one after the other, either way
    assert stored in allowed[removed.status, result.status], (removed, result, stored)
    faults.assert_listed(server, client)


def test_b14_two_daemons_on_one_root(make_server, make_client, make_proxy, two):
    """All that decides lies in the root: two daemons exclude one another and see each other's models."""
    servers = [make_server()]
    servers.append(make_server(root=servers[0].root))
    slow = [make_client(make_proxy(s.address, cproxy.rate(8e6)).address) for s in servers]
    results = [r.wait() for r in [c.start("push", src, "ns/m", "--retries", "0") for c, src in zip(slow, two)]]
    stored = faults.which(servers[0].model("ns/m"), two)
    assert stored is not None and results[stored].status == 0, results
    assert results[1 - stored].status in (0, 9), results
    for n, server in enumerate(servers):
        client = make_client(server.address)
        faults.assert_listed(server, client)
        pull(client, server.work / f"copy{n}")
        models.assert_same(two[stored], server.work / f"copy{n}")
    faults.assert_clean(servers[0])
