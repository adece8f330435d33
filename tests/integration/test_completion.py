"""Completion in bash, zsh and fish: commands, options, choices, files. The scripts are made from the table of options."""

import os
import pty
import re
import select
import shlex
import subprocess
import time

import pytest

from harness import BUILD, SLOWNESS

COMPLETION = BUILD / "completion"
COMMANDS = {"push", "pull", "ls", "info", "rm", "verify", "doctor", "status", "bench", "bench read", "bench report",
            "get", "run", "cache ls", "cache rm", "cache pin", "cache unpin", "cache prune", "cache paths"}

# What is typed, and what completes its last word. Shells show letters and what is no candidate differently: these
# hold in all of them. Folders have a slash in some.
CASES = [
    ("mstore p", {"push", "pull"}),
    ("mstore -s nas ver", {"verify"}),
    ("mstore --server nas -n 8 --json v", {"verify"}),
    ("mstore pull --io ", {"auto", "buffered", "direct"}),
    ("mstore --io d", {"direct"}),
    ("mstore push --progress p", {"plain"}),
    ("mstore push --ti", {"--timeout"}),
    ("mstore pull --ch", {"--checksum"}),
    ("mstore push --i", {"--include"}),
    ("mstore rm --y", {"--yes"}),
    ("mstore push fo", {"folder"}),
    ("mstore push fi", {"file one.gguf", "file two.gguf"}),
    ("mstore pull ns/m f", {"folder"}),
    ("mstore verify -q ns/m fo", {"folder"}),
    ("mstore -n 4 pull ns/m fo", {"folder"}),
    ("mstore be", {"bench"}),
    ("mstore --json bench ", {"read", "report"}),
    ("mstore bench --rounds 3 rep", {"report"}),
    ("mstore bench read fo", {"folder"}),
    ("mstore bench read folder fi", {"file one.gguf", "file two.gguf"}),
    ("mstore bench read --mode m", {"mmap"}),
    ("mstore bench read --ca", {"--cache"}),
    ("mstore bench report folder --ch", {"--chart"}),
    ("mstore bench report --chart file\\ o", {"file one.gguf"}),
    ("mstore cache pr", {"prune"}),
    ("mstore cache paths --co", {"--comfyui"}),
    ("mstored --lo", {"--log-level"}),
    ("mstored --log-level w", {"warn"}),
    ("mstored --root f", {"folder"}),
    ("mstored --read-only --config file\\ o", {"file one.gguf"}),
]
# What offers nothing.
EMPTY = ["mstore bench read --chart", "mstore bench x y", "mstore push file ns", "mstore ls x", "mstore -s ", "mstored --listen "]


@pytest.fixture
def here(work):
    (work / "here" / "folder").mkdir(parents=True)
    (work / "here" / "file one.gguf").touch()
    (work / "here" / "file two.gguf").touch()
    return work / "here"


def bash(typed, here):
    """What the completion function answers, called as bash calls it: words also end at `=`."""
    words = []
    for word in shlex.split(typed) + ([""] if typed.endswith(" ") else []):
        words += [part for part in re.split("(=)", word) if part] if "=" in word else [word]
    program = words[0]
    script = f"""
        source {shlex.quote(str(COMPLETION / program))}.bash || exit
        COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}
        _{program}
        [[ ${{#COMPREPLY[@]}} = 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return run(["bash", "--norc", "-c", script], here)


def fish(typed, here):
    """Without what only resembles the word: fish has that for the case that nothing else fits, or always."""
    program, last = typed.split()[0], "" if typed.endswith(" ") else shlex.split(typed)[-1]
    script = f"source {COMPLETION / program}.fish; complete -C {shlex.quote(typed)}"
    lines = run(["fish", "--no-config", "-c", script], here)
    return {line.split("\t")[0] for line in lines if line.startswith(last)}


def run(argv, here):
    done = subprocess.run(argv, cwd=here, capture_output=True, text=True, timeout=30, check=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(here), "LANG": "C.UTF-8"})
    assert done.stderr == "", done
    return set(done.stdout.splitlines())


@pytest.mark.parametrize("shell", [bash, fish])
@pytest.mark.parametrize("typed, expected", CASES)
def test_candidates(shell, here, typed, expected):
    assert {found.rstrip("/") for found in shell(typed, here)} == expected


@pytest.mark.parametrize("shell", [bash, fish])
@pytest.mark.parametrize("typed", EMPTY)
def test_nothing_where_the_shell_can_know_nothing(shell, here, typed):
    assert shell(typed, here) == set()


@pytest.mark.parametrize("typed, expected", [("mstore pull --io=", {"auto", "buffered", "direct"}),
                                             ("mstore pull --io=d", {"direct"}), ("mstore --io=auto pus", {"push"})])
def test_bash_takes_an_equals_sign_for_a_word(here, typed, expected):
    assert bash(typed, here) == expected


def long_options(text):
    return set(re.findall(r"(?m)^  (?:-\w, |    )(--[\w-]+)", text))


@pytest.mark.parametrize("words", [["mstored"], ["mstore"], *(["mstore", *command.split()] for command in sorted(COMMANDS))])
def test_bash_offers_what_help_shows(here, words):
    shown = subprocess.run([BUILD / words[0], *words[1:], "--help"], capture_output=True, text=True, timeout=10, check=True)
    assert bash(" ".join(words) + " --", here) == long_options(shown.stdout)
    if words == ["mstore"]:
        assert bash("mstore ", here) == {command.split()[0] for command in COMMANDS}


@pytest.mark.parametrize("typed, expected", [
    ("mstore pus", "push "), ("mstore -s nas veri", "verify "), ("mstore pull --chec", "--checksum "),
    ("mstore pull --io=dir", "--io=direct "), ("mstore push fold", "folder/"), ("mstore pull ns/m fold", "folder/"),
    ("mstore benc", "bench "), ("mstore bench rea", "read "), ("mstore bench read --mod", "--mode="),
    ("mstore bench report folde", "folder/"), ("mstore bench read --mode=mm", "--mode=mmap "),
    ("mstore rm --js", "--json "), ("mstored --log-level=war", "--log-level=warn "), ("mstored --roo", "--root=")])
def test_zsh(here, typed, expected):
    """Typed at a terminal: the one candidate is put into the line."""
    program = typed.split()[0]
    (here / f"_{program}").write_text((COMPLETION / f"{program}.zsh").read_text())
    setup = f"PROMPT=; fpath=({here} $fpath); autoload -Uz compinit; compinit -u -D; print rea''dy\n"
    master, slave = pty.openpty()
    env = {"PATH": os.environ["PATH"], "HOME": str(here), "LANG": "C.UTF-8", "TERM": "vt100"}
    with subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=env, cwd=here,
                          start_new_session=True) as shell:
        try:
            os.write(master, setup.encode())
            read_until(master, "ready\r\n")
            os.write(master, (typed + "\t").encode())
            read_until(master, " ".join(typed.split()[:-1]) + " " + expected)
        finally:
            shell.kill()
            os.close(master)
            os.close(slave)


def read_until(fd, text):
    seen, end = "", time.monotonic() + 10 * SLOWNESS
    while text not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x00\x08]", "", seen):
        left = end - time.monotonic()
        assert left > 0 and select.select([fd], [], [], left)[0], f"{text!r} not in {seen!r}"
        seen += os.read(fd, 4096).decode()


@pytest.mark.parametrize("program", ["mstore", "mstored"])
def test_scripts_are_good_scripts(program):
    for shell in ("bash", "zsh", "fish"):
        subprocess.run([shell, "-n", COMPLETION / f"{program}.{shell}"], timeout=10, check=True)
    subprocess.run(["shellcheck", "--shell=bash", "--format=gcc", COMPLETION / f"{program}.bash"], timeout=60, check=True)
