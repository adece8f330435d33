"""Options, arguments, environment and configuration files: what is wrong ends with 2, nothing is ignored."""

import os
import re
import socket
import subprocess

import pytest

import models
from harness import BUILD, clean_environment, command_line, push

WRONG = {
    "no command": [],
    "unknown command": ["psuh", "x", "ns/m"],
    "unknown long option": ["--steams", "8", "ls"],
    "unknown long option behind": ["ls", "--steams=8"],
    "unknown short option": ["-Z", "ls"],
    "too low a --bwlimit": ["--bwlimit", "0", "pull", "ns/m", "dst"],
    "--bwlimit without a number": ["--bwlimit", "fast", "pull", "ns/m", "dst"],
    "--token-file that is none": ["--token-file", "/dev/null", "ls"],
    "-n 0": ["-n", "0", "pull", "ns/m", "dst"],
    "-n -1": ["-n", "-1", "pull", "ns/m", "dst"],
    "-n 65": ["-n", "65", "pull", "ns/m", "dst"],
    "-n 4x": ["-n", "4x", "pull", "ns/m", "dst"],
    "-n 0x4": ["-n", "0x4", "pull", "ns/m", "dst"],
    "-n ' 4'": ["-n", " 4", "pull", "ns/m", "dst"],
    "-n ''": ["-n", "", "pull", "ns/m", "dst"],
    "-n 99999999999": ["-n", "99999999999", "pull", "ns/m", "dst"],
    "-n without a value": ["pull", "ns/m", "dst", "-n"],
    "--streams=": ["--streams=", "pull", "ns/m", "dst"],
    "-n twice": ["-n", "4", "-n", "8", "pull", "ns/m", "dst"],
    "--retries -1": ["--retries", "-1", "ls"],
    "--retries 1001": ["--retries", "1001", "ls"],
    "--timeout 0": ["--timeout", "0", "ls"],
    "--timeout 3601": ["--timeout", "3601", "ls"],
    "--timeout soon": ["--timeout", "soon", "ls"],
    "--progress nice": ["--progress", "nice", "pull", "ns/m", "dst"],
    "--io fast": ["--io", "fast", "pull", "ns/m", "dst"],
    "--json with a value": ["--json=yes", "ls"],
    "-q and -v": ["-q", "-v", "ls"],
    "empty glob": ["--include", "", "pull", "ns/m", "dst"],
    "-n for ls": ["ls", "-n", "4"],
    "--add for pull": ["pull", "--add", "ns/m", "dst"],
    "--dry-run for rm": ["rm", "--dry-run", "ns/m"],
    "-y for push": ["push", "-y", "src", "ns/m"],
    "--include for info": ["info", "--include", "*", "ns/m"],
    "push without model": ["push", "src"],
    "push with one more": ["push", "src", "ns/m", "extra"],
    "pull without folder": ["pull", "ns/m"],
    "pull with one more": ["pull", "ns/m", "dst", "extra"],
    "ls with two": ["ls", "a", "b"],
    "info without model": ["info"],
    "info with two": ["info", "ns/m", "ns/n"],
    "rm without model": ["rm", "-y"],
    "verify without model": ["verify"],
    "status with one": ["status", "ns/m"],
    "--load-cost for ls": ["ls", "--load-cost", "1"],
    "--load-cost -1": ["info", "ns/m", "--load-cost", "-1"],
    "--local-rate 0": ["info", "ns/m", "--local-rate", "0"],
    "--local-rate for pull": ["pull", "--local-rate", "1G", "ns/m", "dst"],
    "verify with one more": ["verify", "ns/m", "dst", "extra"],
    "doctor with an argument": ["doctor", "nas"],
    "-n for doctor": ["doctor", "-n", "4"],
    "wrong server": ["-s", "host:port", "ls"],
    "server port too large": ["-s", "127.0.0.1:65536", "ls"],
    "server empty": ["-s", "", "ls"],
    "wrong option beside --json": ["--json", "-n", "0", "pull", "ns/m", "dst"],
}


def test_b101_wrong_usage_ends_with_2(server, make_client, make_proxy, small_model, work):
    """And before anything is connected to or made."""
    proxy = make_proxy(server.address)
    for name, args in WRONG.items():
        address = None if "-s" in args else proxy.address
        result = make_client(address).fails(2, *args, cwd=work)
        assert len(proxy.links) == 0 and not (work / "dst").exists(), name
        assert result.err.startswith("mstore:") or "--json" in args, result


@pytest.mark.parametrize("args", [["-n8"], ["-n", "8"], ["--streams=8"], ["--streams", "8"]])
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
def test_b101_spellings_of_an_option(server, client, src, args, behind):
    for number in range(9):
        models.rnd(src / f"file{number}", 10, seed=number)
    words = ["push", src, "ns/m"]
    summary = client.json(*(words + args if behind else args + words))
    assert len(summary["streams"]) == 8


def test_double_dash_ends_the_options(server, client, work):
    models.rnd(work / "-n" / "w.bin", 100, seed=1)
    push_result = client.ok("push", "--", "-n", "ns/m", cwd=work)
    assert push_result.status == 0
    models.assert_same(work / "-n", server.model("ns/m"))


@pytest.mark.parametrize("args", [["--help"], ["-h"], ["push", "--help"], ["ls", "-h"]])
def test_help_goes_to_standard_output(server, client, args):
    result = client.ok(*args, address=None)
    assert "usage: mstore" in result.out and result.err == ""


def test_help_names_every_command_and_option_of_the_contract(server, client):
    text = client.ok("--help", address=None).out
    for word in ("push", "pull", "ls", "info", "rm", "verify", "doctor", "--server", "--streams", "--include", "--exclude",
                 "--all", "--io", "--checksum", "--dry-run", "--timeout", "--retries", "--progress", "--json",
                 "--version"):
        assert word in text, word


@pytest.mark.parametrize("program", ["mstore", "mstored"])
def test_version(programs, work, program):
    done = subprocess.run([BUILD / program, "--version"], capture_output=True, text=True, check=True, timeout=10,
                          env=clean_environment(work))
    assert re.fullmatch(program + r" \d+\.\d+\.\d+\S*\n", done.stdout) and done.stderr == ""


def test_wrong_usage_in_json(server, client):
    data = client.fails(2, "--json", "push", "nowhere", "not a model").data
    assert data["error"]["code"] == "usage" and data["error"]["message"]


# Where the server's address comes from.

def write_config(work, text):
    """The client's configuration file."""
    place = work / "home" / ".config" / "mstore" / "config"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


NOWHERE = "127.0.0.1:1"


def test_server_from_the_config_file(server, make_client, work):
    client = make_client(None)
    write_config(work, f"server = {server.address}\n")
    client.ok("ls")


def test_server_from_the_environment_beats_the_file(server, make_client, work):
    write_config(work, f"server = {NOWHERE}\n")
    client = make_client(None)
    client.ok("ls", env={"MSTORE_SERVER": server.address})
    client.fails(6, "ls", "--retries", "0")


def test_server_from_the_command_line_beats_all(server, client, work):
    write_config(work, f"server = {NOWHERE}\n")
    client.ok("ls", env={"MSTORE_SERVER": NOWHERE})


def test_config_without_xdg_variable_lies_below_home(server, make_client, work):
    write_config(work, f"# a comment\nserver={server.address}\n")
    make_client(None).ok("ls", env={"XDG_CONFIG_HOME": None})


@pytest.mark.parametrize("text", ["sever = x\n", "server\n", "server = host:port\n", "streams = 0\n"])
def test_mistakes_in_the_config_file_are_errors(server, make_client, work, text):
    write_config(work, text)
    assert "config" in make_client(None).fails(2, "ls").err


# The daemon.

def start_wrong(work, *args, env=None):
    """A daemon that must refuse to start."""
    words = command_line(BUILD / "mstored", args)
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, env=clean_environment(work, env))
    assert "ready" not in done.stdout
    return done


@pytest.mark.parametrize("args", [
    [], ["--root"], ["--root", ""], ["--rot", "/tmp"], ["--root", "{work}", "--listen", "127.0.0.1:99999"],
    ["--root", "{work}", "--max-streams", "0"], ["--root", "{work}", "--timeout", "1h"],
    ["--root", "{work}", "--io", "fast"], ["--root", "{work}", "--log-level", "loud"],
    ["--root", "{work}", "--staging-days", "-1"], ["--root", "{work}", "--allow", "10.0.0.0/33"],
    ["--root", "{work}", "extra"], ["--root", "{work}", "--config", "{work}/none"],
    ["--root", "{work}", "--token-file", "/dev/null"],
])
def test_daemon_wrong_usage_ends_with_2(programs, work, args):
    done = start_wrong(work, *[a.format(work=work) for a in args])
    assert done.returncode == 2 and done.stderr.strip(), done


def test_daemon_needs_its_root(programs, work):
    (work / "file").touch()
    for root in (work / "none", work / "file"):
        done = start_wrong(work, "--root", root, "--listen", "127.0.0.1:0")
        assert done.returncode != 0 and str(root) in done.stderr, done


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_daemon_refuses_an_open_address_and_says_the_ways_out(programs, work, address):
    done = start_wrong(work, "--root", work, "--listen", address)
    assert done.returncode == 2 and "--no-auth" in done.stderr and "--token-file" in done.stderr, done


def test_daemon_serves_an_open_address_when_told(make_server, make_client):
    server = make_server(options=["--listen", "0.0.0.0:0", "--no-auth"], check_idle=False)
    make_client(f"127.0.0.1:{server.port}").ok("ls")


def test_daemon_on_ipv6_and_by_name(make_server, make_client):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    server = make_server(options=["--listen", "[::1]:0"])
    assert server.address.startswith("[::1]:")
    make_client(server.address).ok("ls")
    named = make_server(options=["--listen", "localhost:0"])
    make_client(f"localhost:{named.port}").ok("ls")


def test_daemon_config_file_and_environment(programs, make_server, make_client, work):
    """Command line beats environment beats file: the file's root is wrong, the environment's as well."""
    config = work / "mstored.conf"
    config.write_text("root = /nonexistent/file\nread-only = true\ntimeout = 30\nlog-level = error\n")
    server = make_server(options=["--config", config], env={"MSTORED_ROOT": "/nonexistent/environment"})
    source = models.rnd(work / "src" / "w", 10, seed=1).parent
    make_client(server.address).fails(4, "push", source, "ns/m")


def test_daemon_root_from_the_environment(programs, work):
    """Without --root the environment's is taken, and without that the file's."""
    config = work / "mstored.conf"
    config.write_text("root = /nonexistent/file\n")
    done = start_wrong(work, "--config", config, "--listen", "127.0.0.1:0",
                       env={"MSTORED_ROOT": "/nonexistent/environment"})
    assert "/nonexistent/environment" in done.stderr
    done = start_wrong(work, "--config", config, "--listen", "127.0.0.1:0")
    assert "/nonexistent/file" in done.stderr


@pytest.mark.parametrize("line", ["rot = x", "timeout = never", "read-only = perhaps"])
def test_daemon_mistakes_in_the_config_file(programs, work, line):
    config = work / "mstored.conf"
    config.write_text(f"root = {work}\n{line}\n")
    done = start_wrong(work, "--config", config, "--listen", "127.0.0.1:0")
    assert done.returncode == 2 and "mstored.conf" in done.stderr, done


# Model ids and exchanged arguments.

def test_b87_ids_of_the_hub_are_kept_as_they_are(server, client, small_model):
    names = ["1/2", "A/b", "Qwen/Qwen2.5-0.5B_x", "_a/b_", "a.b/c-d", "a/b", "n" * 96 + "/" + "m" * 96]
    for name in names:
        push(client, small_model, name)
        models.assert_same(small_model, server.root / name)
    assert sorted(m["name"] for m in client.json("ls")["models"]) == names


OTHER_IDS = [
    "m", "/m", "ns/", "ns//m", "a/b/c", "../../x", "ns/..", "ns/.", "./m", "/abs/x", "-rf/x", "ns/-m", "a--b/c",
    "ns/a..b", "ns/m.git", "n" * 97 + "/m", "ns/" + "m" * 255, "ns/a b", "ns/a\nb", "ns/é", "ns/m/", ".mstore/m",
    "ns/.m", "ns/m.", "ns\\m", "ns/m:x", "", "ns/@eaDir",
]


@pytest.mark.parametrize("words", [["push", "src", "ID"], ["pull", "ID", "dst"], ["info", "ID"], ["rm", "-y", "ID"]],
                         ids=lambda words: words[0])
def test_b87_other_ids_are_refused(server, client, small_model, work, words):
    before = sorted(server.root.rglob("*"))
    for name in OTHER_IDS:
        if words[0] == "pull" and name == "a/b/c":  # one file of a/b
            continue
        args = [words[0], "--"] + [name if word == "ID" else word for word in words[1:] if word != "-y"]
        client.fails(2, *args, cwd=work)
    assert sorted(server.root.rglob("*")) == before and not (work / "dst").exists()


def test_b87_exchanged_arguments_are_seen(server, client, small_model, work):
    result = client.fails(2, "push", "o/m", "src", cwd=work)
    assert "did you mean" in result.err and "push" in result.err
    result = client.fails(2, "pull", "./src", "o/m", cwd=work)
    assert "did you mean" in result.err
    assert not os.path.exists(work / "o")
