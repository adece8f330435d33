"""Success is said only when every byte has arrived and was published (kinds H and R), over links that fail."""

import signal

import pytest

import cproxy
import models
from harness import BLOCK, MIB, listed, pull, push, wait_until

pytestmark = pytest.mark.sanitize


def check_truth(result, src, place):
    """I2: status 0 if and only if both sides are equal; I1: whatever has its final name is whole."""
    equal = place.exists() and not models.differences(src, place, skip_b=(".mstore",))
    assert (result.status == 0) is equal, result
    if result.status != 0 and place.exists():
        assert sorted(models.files(place, skip=(".mstore",))) == []


@pytest.mark.parametrize("streams", ["1", "4"])
def test_b49_all_but_ten_bytes(through, server, client, src, streams):
    """They were handed to the kernel, and the link went silent before they arrived."""
    models.rnd(src / "w.bin", MIB, seed=1)
    slow, proxy = through(cproxy.hole(48 + 32 + MIB + 24 - 10, conn=1, dir="c2s"))
    result = slow.fails(6, "--json", "push", src, "ns/m", "-n", streams, "--timeout", "2", "--retries", "0")
    assert proxy.rules[0].hits == 1 and 1.5 < result.seconds < 30
    assert result.data["ok"] is False and result.data["verified"] is False
    check_truth(result, src, server.model("ns/m"))
    push(client, src)


def test_b49_daemon_killed_before_its_last_reply(through, server, src):
    """Everything was sent and even published, but the client cannot know."""
    models.rnd(src / "w.bin", MIB, seed=1)
    gate = cproxy.hold(b'"published"', conn=0, dir="s2c")
    slow, proxy = through(gate)
    running = slow.start("--json", "push", src, "ns/m", "--retries", "0")
    assert gate.hit.wait(20)
    server.kill()
    proxy.cut()
    result = running.wait()
    assert result.status == 6 and result.data["ok"] is False, result
    models.assert_same(src, server.model("ns/m"))
    proxy.clear()
    server.start()
    assert push(slow, src)["bytes"]["sent"] == 0


def test_b49_reply_lost_and_asked_for_again(through, server, src):
    """With retries the client finds out that it was published."""
    models.rnd(src / "w.bin", MIB, seed=1)
    gate = cproxy.hold(b'"published"', conn=0, dir="s2c")
    slow, proxy = through(gate)
    running = slow.start("--json", "push", src, "ns/m", "--retries", "3")
    assert gate.hit.wait(20)
    proxy.cut()
    proxy.clear()
    result = running.wait()
    assert result.status == 0, result
    models.assert_same(src, server.model("ns/m"))


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b50_three_of_four_data_connections_die(through, server, client, src, dst, command):
    """29 files; the work is done by what is left and what is opened anew."""
    for number in range(29):
        models.rnd(src / f"f{number:02}", MIB + number, seed=number)
    push(client, src, "ns/stored")
    slow, proxy = through(cproxy.cut(100_000, conn=1), cproxy.cut(200_000, conn=2), cproxy.cut(3 * MIB, conn=3))
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = slow.ok("--json", *args, "-n", "4")
    assert [rule.hits for rule in proxy.rules] == [1, 1, 1]
    assert result.data["files"]["sent"] == 29 and result.data["files"]["failed"] == 0
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b50_three_of_four_die_and_no_retry_is_allowed(through, server, client, src, dst, command):
    for number in range(29):
        models.rnd(src / f"f{number:02}", MIB + number, seed=number)
    push(client, src, "ns/stored")
    slow, _ = through(*[cproxy.cut(100_000 * k, conn=k) for k in (1, 2, 3)])
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = slow.run(*args, "-n", "4", "--retries", "0")
    check_truth(result, src, server.model("ns/m") if command == "push" else dst)


@pytest.mark.parametrize("command", ["push", "pull"])
@pytest.mark.parametrize("after", [0, 20, 48, 60, 100_000])
def test_b95_streams_that_end_at_once(through, server, client, src, dst, command, after):
    """A clean end at each place of a data connection is no empty file; the next ones are good."""
    models.rnd(src / "w.bin", MIB, seed=1)
    models.rnd(src / "x.bin", 3 * BLOCK, seed=2)
    push(client, src, "ns/stored")
    direction = "c2s" if command == "push" else "s2c"
    slow, proxy = through(cproxy.fin(after, conn=(1, 2, 3, 4), dir=direction))
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = slow.run(*args, "-n", "4")
    assert proxy.rules[0].hits >= 2
    check_truth(result, src, server.model("ns/m") if command == "push" else dst)
    assert result.status == 0, result


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b95_every_stream_ends_at_once(through, server, client, src, dst, command):
    """No stream ever works: 6 after the retries, and no file of length 0."""
    models.rnd(src / "w.bin", MIB, seed=1)
    push(client, src, "ns/stored")
    slow, _ = through(cproxy.fin(48, conn=range(1, 1000), dir="c2s" if command == "push" else "s2c"))
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = slow.fails(6, *args, "--retries", "1")
    check_truth(result, src, server.model("ns/m") if command == "push" else dst)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_control_connection_cut_in_the_middle(through, server, client, src, dst, command):
    """The session ends; the same command goes on by itself."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src, "ns/stored")
    gate = cproxy.hole(3 * MIB, conn=(1, 2, 3, 4))
    slow, proxy = through(gate)
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    running = slow.start("--json", *args, "--retries", "3")
    assert gate.hit.wait(20)
    proxy.links[0].end("cut")
    proxy.clear()
    result = running.wait()
    assert result.status == 0, result
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)
    server.assert_no_leftovers()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("streams", ["1", "4"])
def test_b01_b03_killed_push_leaves_no_final_name(through, server, client, src, number, streams):
    models.rnd(src / "a.safetensors", 32 * MIB, seed=1)
    gate = cproxy.hole(2 * MIB, conn=range(1, 5), dir="c2s")
    slow, proxy = through(gate)
    running = slow.start("push", src, "ns/m", "-n", streams)
    assert gate.hit.wait(20)
    running.signal(number)
    assert running.wait(5).status == {signal.SIGKILL: -9, signal.SIGINT: 130}[number]
    assert not server.model("ns/m").exists()
    wait_until(lambda: (listed(client, "ns/m") or {"state": "incomplete"})["state"] == "incomplete", "not complete")
    push(client, src)
    models.assert_same(src, server.model("ns/m"))
    server.assert_no_leftovers()


def test_b04_pull_killed_and_run_again(through, server, client, src, dst):
    """SIGKILL of the client: nothing in DST has a final name; the next pull is right and tidies up."""
    models.rnd(src / "a.safetensors", 32 * MIB, seed=1)
    push(client, src)
    gate = cproxy.hole(2 * MIB, conn=range(1, 5), dir="s2c")
    slow, _ = through(gate)
    running = slow.start("pull", "ns/m", dst)
    assert gate.hit.wait(20)
    running.signal(signal.SIGKILL)
    running.wait(5)
    assert sorted(models.files(dst, skip=(".mstore",))) == [] if dst.exists() else True
    pull(client, dst)
    models.assert_same(src, dst)


def test_b06_pull_killed_at_random_moments(server, client, src, dst):
    """Fewer rounds here, as many as it takes in the slow set of the next one."""
    kill_rounds(server, client, src, dst, rounds=6)


@pytest.mark.slow
def test_b06_pull_killed_at_20_random_moments(server, client, src, dst):
    kill_rounds(server, client, src, dst, rounds=20)


def kill_rounds(server, client, src, dst, rounds):
    """Starts pulls and kills each after a random while; I1 holds each time, I4 at the end."""
    choose = models.random.Random(6)
    for number in range(30):
        models.rnd(src / f"f{number:02}", MIB, seed=number)
    push(client, src)
    for _ in range(rounds):
        running = client.start("pull", "ns/m", dst)
        try:
            running.process.wait(choose.uniform(0.005, 0.15))
        except models.subprocess.TimeoutExpired:
            running.signal(signal.SIGKILL)
        running.wait(5)
        if dst.exists():
            for name, full in models.files(dst, skip=(".mstore",)).items():
                assert models.same_bytes(full, models.os.path.join(models.os.fsencode(src), name)), name
    pull(client, dst)
    models.assert_same(src, dst)


def test_stalled_link_is_given_up_in_time(through, server, client, src, dst):
    """B52: silence, not an end; within the time-out and a little."""
    models.rnd(src / "w.bin", 32 * MIB, seed=1)
    push(client, src)
    slow, _ = through(cproxy.hole(MIB, conn=range(0, 100), dir="s2c"))
    result = slow.fails(6, "pull", "ns/m", dst, "--timeout", "2", "--retries", "0")
    assert 1.5 < result.seconds < 6
    assert sorted(models.files(dst, skip=(".mstore",))) == [] if dst.exists() else True


@pytest.mark.parametrize("command", ["push", "pull"])
def test_daemon_that_is_killed_and_comes_back(through, server, client, src, dst, command):
    """Restarted in the middle of the transfer; the same command goes on by itself."""
    models.rnd(src / "w.bin", 64 * MIB, seed=1)
    push(client, src, "ns/stored")
    gate = cproxy.hole(3 * MIB, conn=(1, 2, 3, 4))
    slow, proxy = through(gate)
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    running = slow.start("--json", *args, "--retries", "10")
    assert gate.hit.wait(20)
    server.kill()
    proxy.clear()
    server.start()
    result = running.wait()
    assert result.status == 0, result
    models.assert_same(src, server.model("ns/m") if command == "push" else dst)
