"""The request `host`, from both ends: what a daemon answers, wrong clients, and servers that tell lies."""

import re
import signal
import time

import pytest

from harness import wait_until
from wire import FakeServer, RawClient, accept_hello, frame

pytestmark = pytest.mark.sanitize
NAME = re.compile(r"[a-z0-9_]{1,48}")


def ask(peer, **fields):
    """The answers to `host`, `alive` among them."""
    peer.ask({"type": "host", **fields})
    answers = [peer.message(skip_alive=False)]
    while answers[-1]["type"] not in ("end", "error"):
        answers.append(peer.message(skip_alive=False))
    return answers


# A daemon.

def test_facts_and_then_the_end(server):
    answers = ask(RawClient.control(server.address))
    facts = {a["name"]: a["value"] for a in answers if a["type"] == "fact"}
    assert answers[-1] == {"type": "end"} and len(facts) == len(answers) - 1
    assert all(NAME.fullmatch(name) and len(value.encode()) <= 511 for name, value in facts.items())
    assert {"version", "time_ns", "rmem_max_bytes", "link_mtu_bytes", "disk_bytes"} <= facts.keys()
    assert abs(int(facts["time_ns"]) / 1e9 - time.time()) < 5


@pytest.mark.parametrize("padding", [1, 24, 25, 65535, 65536])
def test_padding_is_as_much_as_was_asked_for(server, padding):
    """In whole messages, all behind the facts."""
    answers = [a["type"] for a in ask(RawClient.control(server.address), padding=padding)]
    behind = answers[len(answers) - 1 - answers[::-1].index("fact") + 1:]
    assert behind == ["alive"] * -(-padding // len(frame({"type": "alive"}))) + ["end"]


def test_a_burst_before_it_is_no_matter(server):
    peer = RawClient.control(server.address)
    peer.send(frame({"type": "alive"}) * 5000)
    assert ask(peer)[-1] == {"type": "end"}
    assert ask(peer)[-1] == {"type": "end"}


@pytest.mark.parametrize("padding", [65537, -1, 1.5, "1", None, 1 << 60])
def test_padding_outside_its_limits_is_refused(server, padding):
    peer = RawClient.control(server.address)
    assert ask(peer, padding=padding)[-1]["code"] == "protocol-error"
    assert peer.is_closed()
    server.assert_idle()


def test_another_request_meanwhile_is_refused(server):
    peer = RawClient.control(server.address)
    peer.send(frame({"type": "host"}) + frame({"type": "list"}))
    assert [m["type"] for m in peer.messages_until("error", "end")][-1] == "error"
    assert peer.is_closed()
    server.assert_idle()


def test_a_client_that_goes_leaves_nothing(server):
    """While the daemon looks, and while it sends more than the client reads."""
    peers = [RawClient.control(server.address) for _ in range(20)]
    for peer in peers:
        peer.ask({"type": "host", "padding": 65536})
    for peer in peers[:10]:
        peer.close()
    for peer in peers[10:]:
        peer.messages_until("fact")
        peer.close()
    server.assert_idle()


def test_the_daemon_ends_meanwhile(make_server):
    server = make_server()
    peer = RawClient.control(server.address)
    peer.ask({"type": "host"})
    server.signal(signal.SIGTERM)
    assert peer.is_closed()
    wait_until(lambda: not server.is_running, "it ends")
    assert server.process.returncode == 0


# A server that tells lies.

@pytest.fixture
def doctor(make_client):
    """doctor(answers) runs the command against a server that answers so, and returns how it ended."""
    servers = []

    def run(answers, *args):
        def script(conn, _):
            accept_hello(conn)
            while conn.message()["type"] != "host":
                pass
            for answer in answers:
                conn.send(frame(answer))
            conn.read(1)
        servers.append(FakeServer(script))
        return make_client(servers[-1].address).run("doctor", *args, "--timeout", "2", "--retries", "0", timeout=30)
    yield run
    for server in servers:
        server.close()
        assert server.problems == []


def fact(name, value):
    """One answer."""
    return {"type": "fact", "name": name, "value": value}


END = {"type": "end"}


def test_a_server_that_tells_nothing_is_no_failure(doctor):
    """The client's own machine is judged all the same."""
    result = doctor([END], "--json")
    assert result.status == 0 and all(f["where"] == "client" for f in result.data["findings"])


@pytest.mark.parametrize("answers", [
    [fact("cpus", "4"), fact("cpus", "4"), END],
    [fact("Cpus", "4"), END],
    [fact("", "4"), END],
    [fact("a" * 49, "4"), END],
    [fact("a/b", "4"), END],
    [fact(f"n{n}", "x") for n in range(257)] + [END],
    [{"type": "model", "name": "ns/m", "bytes": 1, "files": 1, "mtime": 1, "nsec": 0, "state": "complete",
      "present": 1, "warnings": 0}, END],
    [fact("cpus", "x" * 512), END],
    [{"type": "fact", "name": "cpus"}, END],
], ids=["twice", "letters", "empty", "long", "slash", "many", "other", "long value", "no value"])
def test_answers_that_break_a_rule(doctor, answers):
    result = doctor(answers, "--json")
    assert result.status == 1 and result.data["error"]["code"] == "protocol-error", result


def test_words_of_a_server_reach_no_terminal_and_no_command(doctor):
    """Escape sequences are shown as such, and only plain words stand in commands."""
    odd = "\x1b[31mred\x07\u009b; reboot"
    answers = [fact("version", odd), fact("link_congestion", odd), fact("disk_raid_action", "check"),
               fact("disk_device", odd), fact("disk_options", f"rw,sync,{odd}"), fact("disk_number", odd),
               fact("link_duplex", "half"), fact("link_interface", "$(reboot)"), END]
    result = doctor(answers, "-v")
    assert result.status == 0 and r"\x1b[31mred\x07" in result.out, result
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]|\x9b|\u009b", result.out + result.err)
    assert "mount-options" in result.out and "half duplex" in result.out
    for command in re.findall(r"mend: (.*)", result.out):
        assert "reboot" not in command or command == "systemctl reboot"


def test_numbers_of_a_server_are_only_numbers(doctor):
    """Whatever they are, it ends well."""
    names = ["uptime_s", "time_ns", "load_percent", "cpus", "cpu_busy_percent", "memory_bytes", "swap_bytes",
             "memory_available_bytes", "swap_used_bytes", "rmem_max_bytes", "rcvbuf_granted_bytes", "link_mtu_bytes",
             "link_speed_mbit", "link_speed_max_mbit", "link_path_mtu_bytes", "disk_bytes", "disk_free_bytes",
             "disk_read_ahead_kb", "disk_busy_percent"]
    for value in ("0", "1", "18446744073709551615", "-1", "", "nan", "99999999999999999999999"):
        result = doctor([fact(name, value) for name in names] + [END], "--json")
        assert result.status == 0 and isinstance(result.data["findings"], list), (value, result)
