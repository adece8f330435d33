"""Progress: each mode, on a terminal and without one, and numbers that never lie (kind S)."""

import json
import re
import time

import pytest

import cproxy
import models
from harness import BLOCK, MIB, push, wait_until
from terminal import Terminal, visible


@pytest.fixture
def slow_link(server, make_proxy):
    """A link of 40 MB/s on 4 streams."""
    return make_proxy(server.address, cproxy.rate(10e6))


@pytest.fixture
def slow_client(slow_link, make_client):
    """A client behind the slow link."""
    return make_client(slow_link.address)


def check_numbers(lines, total):
    """Never backwards, never beyond the total, exactly the total at the end."""
    amounts = [line["bytes"] for line in lines]
    assert amounts == sorted(amounts) and 0 <= amounts[0] and amounts[-1] == total
    for line in lines:
        assert line.keys() == {"bytes", "total", "bytes_per_second", "eta_seconds"}
        assert line["total"] == total and line["bytes_per_second"] >= 0
        assert line["eta_seconds"] is None or line["eta_seconds"] >= 0


@pytest.mark.parametrize("command", ["push", "pull"])
def test_b98_json_progress(server, client, slow_client, src, dst, command):
    models.rnd(src / "w.bin", 120 * MIB, seed=1)
    push(client, src, "ns/stored")
    args = {"push": ["push", src, "ns/m"], "pull": ["pull", "ns/stored", dst]}[command]
    result = slow_client.ok("--json", "--progress", "json", *args)
    check_numbers(result.progress, 120 * MIB)
    assert abs(len(result.progress) - result.data["seconds"]) <= 2, "one line a second"
    middle = result.progress[len(result.progress) // 2]
    assert middle["bytes_per_second"] == pytest.approx(40e6, rel=0.4)
    assert middle["eta_seconds"] == pytest.approx((middle["total"] - middle["bytes"]) / 40e6, abs=2)


def test_b98_block_sent_twice_counts_once(server, client, make_client, make_proxy, src):
    """A flipped bit makes a block travel again; the numbers do not show it twice."""
    models.rnd(src / "w.bin", 4 * BLOCK, seed=1)
    proxy = make_proxy(server.address, cproxy.flip(MIB, conn=1, dir="c2s"))
    result = make_client(proxy.address).ok("--json", "--progress", "json", "push", src, "ns/m")
    check_numbers(result.progress, 4 * BLOCK)
    assert proxy.rules[0].hits == 1 and proxy.bytes("c2s") > 5 * BLOCK
    assert result.data["bytes"]["total"] == 4 * BLOCK
    models.assert_same(src, server.model("ns/m"))


def test_the_speed_is_true_after_another_attempt(server, make_client, make_proxy, src):
    """All connections break when some of it has moved: what the next attempt counts begins at 0 again. (What was not
    a whole block yet is lost, so the numbers may go back then.)"""
    models.rnd(src / "w.bin", 48 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(2e6))
    running = make_client(proxy.address).start("--json", "--progress", "json", "push", src, "ns/m")
    wait_until(lambda: proxy.bytes("c2s") > 44 * MIB or not running.is_running, "it is under way")
    proxy.cut()
    result = running.wait()
    assert result.status == 0 and "trying again" in result.err, result
    assert result.progress[-1]["bytes"] == result.progress[-1]["total"] == 48 * MIB
    rates = [line["bytes_per_second"] for line in result.progress]
    assert len(rates) >= 5 and max(rates) < 30e6 and 2e6 < rates[-1], rates


def test_skipped_bytes_are_not_speed(server, client, slow_client, src):
    """60 MiB that are there already and 8 MiB to move: the rate is that of the 8."""
    models.rnd(src / "there.bin", 60 * MIB, seed=1)
    push(client, src)
    models.rnd(src / "new.bin", 8 * MIB, seed=2)
    result = slow_client.ok("--json", "--progress", "json", "push", src, "ns/m")
    assert result.data["bytes"]["skipped"] == 60 * MIB and result.data["bytes"]["sent"] == 8 * MIB
    assert result.data["bytes_per_second"] < 12e6
    assert max(line["bytes_per_second"] for line in result.progress) < 15e6
    assert result.progress[-1]["bytes"] == result.progress[-1]["total"]


@pytest.fixture
def hours(src):
    """A file that takes long to hash, and no disk."""
    src.mkdir(exist_ok=True)
    with open(src / "notes.txt", "wb") as file:
        file.truncate(500_000_000_000)
    return src


@pytest.mark.parametrize("mode, line", [("bar", r"\r\x1b\[Kreading what is here: [1-9][0-9.]* [MG]B  [1-9][0-9.]* [MG]B/s"),
                                        ("plain", r"push: reading what is here: [1-9][0-9.]* [MG]B  [1-9][0-9.]* [MG]B/s\r\n")])
def test_what_is_read_before_anything_moves_is_shown(server, client, hours, mode, line):
    terminal = Terminal(client, ["push", hours, "ns/m", "--sha256", "--progress", mode],
                        enough=lambda text: re.search(line, text))
    assert terminal.status == 130 and re.search(line, terminal.text), terminal.text


def test_json_progress_says_that_nothing_moves_while_it_reads(server, client, hours):
    terminal = Terminal(client, ["push", hours, "ns/m", "--sha256", "--progress", "json"],
                        enough=lambda text: text.count("}") == 2)
    lines = [json.loads(line) for line in terminal.text.splitlines() if line.startswith("{")]
    assert terminal.status == 130 and len(lines) >= 2
    for line in lines[:2]:
        assert line == {"bytes": 0, "total": 500_000_000_000, "bytes_per_second": 0, "eta_seconds": None}


def test_progress_of_empty_files_ends(server, client, src):
    models.rnd(src / "empty", 0)
    result = client.ok("--json", "--progress", "json", "push", src, "ns/m")
    assert result.progress == [] or result.progress[-1]["bytes"] == 0


def test_b100_no_bar_in_a_log(server, client, slow_client, src, dst):
    """auto without a terminal is a line every 10 s: none or few, and no carriage return."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    result = slow_client.ok("push", src, "ns/m")
    assert "\r" not in result.err + result.out and "\x1b" not in result.err + result.out
    assert len(result.err) < 1000


def test_plain_lines(server, client, slow_client, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    result = slow_client.ok("push", "--progress", "plain", src, "ns/m")
    assert "\r" not in result.err and "\x1b" not in result.err


@pytest.mark.slow
def test_plain_line_every_10_seconds(server, make_client, make_proxy, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(300e3))
    result = make_client(proxy.address).ok("push", src, "ns/m", timeout=120)
    lines = [line for line in result.err.splitlines() if "%" in line]
    assert len(lines) in (2, 3) and len(result.err) < 4096, result


def test_no_progress(server, client, slow_client, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    result = slow_client.ok("--json", "push", "--progress", "none", src, "ns/m")
    assert result.err == ""


@pytest.mark.parametrize("width", [80, 20, 200])
def test_bar_on_a_terminal(server, slow_client, src, width):
    """Redraws at most 10 times a second, never wraps, leaves no rubbish behind."""
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    started = time.monotonic()
    terminal = Terminal(slow_client, ["push", src, "ns/m"], width)
    seconds = time.monotonic() - started
    assert terminal.status == 0, terminal.text
    redraws = terminal.text.replace("\r\n", "\n").count("\r")
    assert 5 <= redraws <= 10 * seconds + 5, (redraws, seconds)
    frames = [visible(frame) for frame in re.split(r"[\r\n]", terminal.text) if "%" in frame and "limited by" not in frame]
    assert len(frames) >= 5 and max(map(len, frames)) <= width, frames
    assert [line for line in terminal.screen().lines if "%" in line and not line.startswith("  ")] == []


def test_bar_shows_rate_eta_and_files(server, slow_client, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    models.rnd(src / "x.bin", 2 * MIB, seed=2)
    terminal = Terminal(slow_client, ["push", src, "ns/m"])
    frames = [f for f in re.split(r"[\r\n]", terminal.text) if "%" in f]
    middle = frames[len(frames) // 2]
    assert re.search(r"\d+(\.\d+)? ?[kMG]B/s", middle) and re.search(r"\b[0-2]/2\b", middle), middle


@pytest.mark.parametrize("env, progress", [
    ({"TERM": "dumb"}, []), ({"TERM": None}, []), ({}, ["--progress", "plain"]), ({}, ["--progress", "none"]),
])
def test_b100_no_bar_on_a_terminal_that_cannot(server, slow_client, src, env, progress):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    terminal = Terminal(slow_client, ["push", src, "ns/m"] + progress, env=env)
    assert terminal.status == 0
    assert "\r" not in terminal.text.replace("\r\n", "\n") and "\x1b" not in terminal.text


def test_no_color_is_obeyed(server, slow_client, client, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    terminal = Terminal(slow_client, ["push", src, "ns/m"], env={"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.text)
    assert not re.search(r"\x1b\[[0-9;]*m", Terminal(client, ["ls"], env={"NO_COLOR": "1"}).text)


def test_b100_terminal_of_width_0(server, slow_client, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    assert Terminal(slow_client, ["push", src, "ns/m"], width=0).status == 0


@pytest.mark.parametrize("answer, gone", [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_rm_asks_on_a_terminal(server, client, small_model, answer, gone):
    push(client, small_model)
    terminal = Terminal(client, ["rm", "ns/m"], answer=answer)
    assert "ns/m" in terminal.text and "?" in terminal.text
    assert server.model("ns/m").exists() is not gone
    assert (terminal.status == 0) is gone or answer != b"y\n"


def test_error_after_a_bar_stands_on_its_own_line(server, make_client, make_proxy, src):
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(10e6), cproxy.cut(6 * MIB, dir="c2s"))
    terminal = Terminal(make_client(proxy.address), ["push", src, "ns/m", "--retries", "0"])
    assert terminal.status == 6
    lines = [line for line in terminal.screen().lines if line.strip()]
    assert any(line.startswith("mstore:") for line in lines), lines
