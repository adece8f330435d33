"""What a push or pull should take: said before, held against what it took, and remembered for the next one."""

import json
import os
import re
import signal
import stat

import pytest

import cproxy
import models
from harness import MIB, pull, push, wait_until

SIZE = 96 * MIB  # counts: 64 MB and more do
RATE = 40_000_000


def history_file(client, command):
    """Where the runs of a client are kept."""
    return client.work / "home" / ".local" / "state" / "mstore" / f"{command}-{client.address}"


def history(client, command):
    """The runs that are remembered."""
    path = history_file(client, command)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def plant(client, command, runs=7, rate=RATE):
    """Makes the client remember runs of 4 s and more at this rate."""
    path = history_file(client, command)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"bytes": rate * n, "ms": 1000 * n}) + "\n" for n in range(4, runs + 4)))
    return path.read_text()


def said(result):
    """What the client said about time before it began."""
    found = re.findall(r"(?m)^mstore: (about .*)$", result.err)
    assert len(found) <= 1, result
    return found[0] if found else None


@pytest.fixture
def large(src):
    """A source folder that is worth a prediction."""
    models.rnd(src / "w.bin", SIZE, seed=1)
    return src


def test_a_pull_into_the_local_tier_is_predicted_and_remembered_too(server, client, large):
    push(client, large, "ns/a")
    first = client.ok("get", "ns/a")
    (run,) = history(client, "pull")
    assert run["bytes"] == client.json("get", "ns/a")["bytes"] and said(first) is None
    models.rnd(large / "w.bin", SIZE, seed=2)
    push(client, large, "ns/a")
    assert said(client.ok("get", "ns/a")).endswith(f"by the last pull from {client.address}")
    assert len(history(client, "pull")) == 2


@pytest.mark.sanitize
@pytest.mark.parametrize("command", ["push", "pull"])
def test_the_second_is_predicted_by_the_first(server, client, large, work, command):
    args = {"push": lambda n: ["push", large, f"ns/m{n}"], "pull": lambda n: ["pull", "ns/stored", work / f"dst{n}"]}[command]
    if command == "pull":
        push(client, large, "ns/stored")
    first = client.ok("--json", *args(1))
    assert first.data["predicted_seconds"] is None and said(first) is None
    (run,) = history(client, command)
    assert run["bytes"] == SIZE and run["ms"] >= 1000 * first.data["seconds"] - 1
    second = client.ok("--json", *args(2))
    assert second.data["predicted_seconds"] == pytest.approx(run["ms"] / 1000, rel=1e-6)
    words = {"push": "push to", "pull": "pull from"}[command]
    assert re.fullmatch(rf"about \S+ s by the last {words} {re.escape(server.address)}", said(second)), second
    assert len(history(client, command)) == 2
    other = {"push": "pull", "pull": "push"}[command]
    assert len(history(client, other)) == (1 if command == "pull" else 0)


def test_the_files_are_for_the_user_alone(server, client, large):
    push(client, large)
    path = history_file(client, "push")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    assert os.listdir(path.parent) == [path.name]


def test_text_before_and_after(server, client, large, dst):
    plant(client, "push")
    result = client.ok("push", large, "ns/m")
    assert said(result) == f"about 2.5 s by the last 7 pushes to {server.address}"
    assert re.search(r"(?m)^  predicted 2\.5 s, (\d+ % too (little|much)|right to 1 %)$", result.out), result
    plant(client, "pull", runs=20)
    assert said(client.ok("pull", "ns/m", dst)) == f"about 2.5 s by the last 10 pulls from {server.address}"


def test_how_far_off_it_was(server, client, make_client, make_proxy, large):
    """A link of 40 MB/s over which 80 MB/s were remembered takes twice as long."""
    slow = make_client(make_proxy(server.address, cproxy.rate(10e6)).address)
    plant(slow, "push", rate=80_000_000)
    result = slow.ok("push", large, "ns/m")
    assert 35 < int(re.search(r"predicted 1\.3 s, (\d+) % too little", result.out)[1]) < 65, result


def test_only_what_moves_is_predicted(server, client, large):
    models.rnd(large / "there.bin", SIZE, seed=2)
    push(client, large)
    models.rnd(large / "new.bin", 80 * MIB, seed=3)
    plant(client, "push")
    assert push(client, large)["predicted_seconds"] == pytest.approx(80 * MIB / RATE, rel=1e-6)
    assert history(client, "push")[-1]["bytes"] == 80 * MIB


@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_dry_run_predicts_and_remembers_nothing(server, client, large, dst, command):
    push(client, large, "ns/stored")
    before = plant(client, command)
    args = {"push": ["push", large, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = client.ok("--json", "--dry-run", *args)
    assert result.data["predicted_seconds"] == pytest.approx(SIZE / RATE, rel=1e-6)
    assert said(result).startswith("about 2.5 s by the last 7 ")
    assert history_file(client, command).read_text() == before


def test_quiet_says_nothing(server, client, large):
    plant(client, "push")
    result = client.ok("-q", "push", large, "ns/m")
    assert result.err == "" and result.out == ""
    assert len(history(client, "push")) == 8


def test_small_transfers_are_neither_predicted_nor_remembered(server, client, small_model, dst):
    before = plant(client, "push"), plant(client, "pull")
    assert push(client, small_model)["predicted_seconds"] is None
    assert pull(client, dst)["predicted_seconds"] is None
    assert push(client, small_model)["predicted_seconds"] is None  # nothing to send
    assert (history_file(client, "push").read_text(), history_file(client, "pull").read_text()) == before


def test_a_limit_is_predicted_and_not_remembered(server, client, src):
    models.rnd(src / "w.bin", 64 * MIB, seed=1)
    before = plant(client, "push")
    data = push(client, src, "ns/m", "--bwlimit", "32M")
    assert data["predicted_seconds"] == pytest.approx(64 * MIB / 32e6, rel=1e-6)
    assert history_file(client, "push").read_text() == before
    data = client.json("push", src, "ns/n", "--dry-run", "--bwlimit", "1G")
    assert data["predicted_seconds"] == pytest.approx(64 * MIB / RATE, rel=1e-6)


def test_what_was_interrupted_or_failed_is_not_remembered(server, client, make_client, make_proxy, large):
    proxy = make_proxy(server.address, cproxy.rate(10e6))
    slow = make_client(proxy.address)
    running = slow.start("push", large, "ns/m", "--progress", "json")
    wait_until(lambda: proxy.bytes("c2s") > 65e6, "enough to count")
    running.signal(signal.SIGTERM)
    assert running.wait().status == 143
    proxy = make_proxy(server.address, cproxy.cut(20 * MIB, dir="c2s"))
    cut_off = make_client(proxy.address)
    assert cut_off.run("push", large, "ns/n", "--retries", "0").status == 6
    assert history(slow, "push") == history(cut_off, "push") == []


@pytest.mark.parametrize("rubbish", [b"", b"\0" * 100, b"{" * 100_000, b"[]\nnull\n\"\"\n", b"\xff\xfe\n",
                                     b'{"bytes":1e999,"ms":1}\n', b'{"bytes":9007199254740993,"ms":1}\n',
                                     b'{"bytes":100000000,"ms":0}\n', b'{"bytes":100000000,"ms":1000'], ids=range(9))
def test_rubbish_is_ignored_and_replaced(server, client, large, rubbish):
    path = history_file(client, "push")
    path.parent.mkdir(parents=True)
    path.write_bytes(rubbish)
    assert push(client, large)["predicted_seconds"] is None
    assert [run["bytes"] for run in history(client, "push")] == [SIZE]


def test_a_fifo_is_not_waited_for(server, client, large):
    path = history_file(client, "push")
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    push(client, large)
    assert len(history(client, "push")) == 1


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nowhere", "relative", None])
def test_where_nothing_can_be_remembered_nothing_fails(server, client, large, work, place):
    result = client.ok("push", large, "ns/m", env={"XDG_STATE_HOME": place, "HOME": "/dev/null"}, cwd=work)
    assert "state" not in result.err and not (work / "relative").exists()


def test_two_that_end_together(server, client, large):
    running = [client.start("push", large, f"ns/m{n}") for n in range(3)]
    assert [r.wait().status for r in running] == [0, 0, 0]
    assert 1 <= len(history(client, "push")) <= 3
    assert os.listdir(history_file(client, "push").parent) == [history_file(client, "push").name]


# Load time.

@pytest.mark.sanitize
def test_load_time_in_info(server, client, small_model):
    models.sparse(small_model / "w.bin", 200 * MIB)
    push(client, small_model)
    size = client.json("info", "ns/m")["bytes"]
    unknown = client.json("info", "ns/m", "--load-cost", "13")
    assert unknown["load_seconds"] == {"server": None, "local": None}
    assert "loading" not in client.ok("info", "ns/m").out
    plant(client, "pull", rate=20_000_000)
    plant(client, "push", rate=90_000_000)  # does not matter
    assert client.json("info", "ns/m")["load_seconds"] == {"server": pytest.approx(size / 20e6), "local": None}
    both = client.json("info", "ns/m", "--load-cost", "13", "--local-rate", "100M")["load_seconds"]
    assert both == {"server": pytest.approx(size / 20e6 + 13), "local": pytest.approx(size / 100e6 + 13)}


def test_load_time_in_words(server, client, small_model):
    models.sparse(small_model / "w.bin", 199 * MIB)
    push(client, small_model)

    def line(*options):
        return re.search(r"(?m)^loading +(.*)$", client.ok("info", "ns/m", *options).out)[1]
    assert line("--local-rate", "100M") == "about 2.1 s from a local disk"
    plant(client, "pull", runs=1, rate=20_000_000)
    assert line() == "about 10 s from the server (by the last pull)"
    plant(client, "pull", rate=20_000_000)
    assert line("--local-rate", "100M", "--load-cost", "13") == (
        "about 23 s from the server (by the last 7 pulls), 15 s from a local disk; 13 s of it beside reading")
