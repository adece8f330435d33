"""The two programs under test as objects: start them, talk to them, end them, and what must hold then.

Nothing here knows pytest; fixtures.py makes fixtures of it. Each process that is started here is ended
here, by its own number. Waiting means: until a condition holds, with a deadline.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import models

REPO = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MSTORE_BUILD", REPO / "build" / "dev")).resolve()
NOBODY = 65534
MIB = 1 << 20
BLOCK = 8 * MIB


def _sanitizer():
    """Which sanitizer the daemon was built with: "asan", "tsan" or ""."""
    try:
        image = (BUILD / "mstored").read_bytes()
    except OSError:
        return ""
    return "tsan" if b"__tsan_init" in image else "asan" if b"__asan_init" in image else ""


SANITIZER = _sanitizer()
SLOWNESS = {"": 1, "asan": 4, "tsan": 10}[SANITIZER]  # by what deadlines grow


def wait_until(condition, what, timeout=10.0):
    """Polls until condition() is true and returns its value; fails with `what` after the deadline."""
    deadline = time.monotonic() + timeout * SLOWNESS
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"still not so after {timeout * SLOWNESS:.0f} s: {what}"
        time.sleep(0.005)


def clean_environment(work, extra=None):
    """What a program sees: a home of its own, no MSTORE_ variable of ours, sanitizer logs under `work`."""
    log = Path(work) / "sanitizer" / "log"
    log.parent.mkdir(exist_ok=True)
    log.parent.chmod(0o1777)
    common = f"log_path={log}:exitcode=99"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(Path(work) / "home"),
        "XDG_CONFIG_HOME": str(Path(work) / "home" / ".config"),
        "XDG_STATE_HOME": str(Path(work) / "home" / ".local" / "state"),
        "LANG": "C.UTF-8",
        "ASAN_OPTIONS": common + ":detect_leaks=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": common + ":print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": common + f":second_deadlock_stack=1:suppressions={Path(__file__).parents[1] / 'tsan.supp'}",
    }
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def sanitizer_reports(work):
    """The texts of all sanitizer logs under `work`."""
    return [p.read_text(errors="replace") for p in sorted((Path(work) / "sanitizer").glob("log*"))]


def command_line(program, args, preload=None, limits=None, user=None, shim=None, prefix=()):
    """The words to run: wrappers from util-linux and coreutils exec the program, so its pid is ours."""
    words = list(prefix)
    if user is not None:
        words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    if limits:
        words += ["prlimit"] + [f"--{name}={value}" for name, value in limits.items()]
    if preload is not None:
        words += ["env", f"LD_PRELOAD={preload}"] + [f"{k}={v}" for k, v in (shim or {}).items()]
    return words + [str(program)] + [os.fspath(a) if isinstance(a, os.PathLike) else a for a in args]


class Server:
    """One daemon: `with Server(work) as server:` or start() and stop()."""

    def __init__(self, work, root=None, options=(), env=None, preload=None, shim=None, limits=None,
                 user=None, prefix=(), name="mstored"):
        self.work = Path(work)
        self.root = Path(root) if root is not None else self.work / "root"
        self.options, self.env = list(options), env
        self.wrap = {"preload": preload, "shim": shim, "limits": limits, "user": user, "prefix": prefix}
        self.log_path = self.work / f"{name}.log"
        self.process = None
        self.address = None
        self.port = 0
        self.base = None  # descriptors and threads when idle

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self, check_idle=True):
        """Starts the daemon and waits for its ready line; after a stop, on the same port."""
        self.root.mkdir(parents=True, exist_ok=True)
        options = ["--root", self.root] + self.options
        if "--listen" not in self.options:
            options += ["--listen", f"127.0.0.1:{self.port}"]
        if "--log-level" not in self.options:
            options += ["--log-level", "debug"]
        prefix = ["setpriv", "--pdeathsig", "KILL"] + list(self.wrap["prefix"])
        words = command_line(BUILD / "mstored", options, **dict(self.wrap, prefix=prefix))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            env=clean_environment(self.work, self.env))
        line = self._first_line(10 * SLOWNESS)
        found = re.fullmatch(r"mstored ready (\S+):(\d+)\n", line)
        if not found:
            self.kill()
            raise AssertionError(f"no ready line but {line!r}; log:\n{self.log()}")
        self.address, self.port = f"{found[1]}:{found[2]}", int(found[2])
        self.base = self._warm_base() if check_idle else None
        return self

    def _first_line(self, timeout):
        line, deadline = b"", time.monotonic() + timeout
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            byte = os.read(self.process.stdout.fileno(), 1) if ready else b""
            if not byte:
                break
            line += byte
        return line.decode(errors="replace")

    def _warm_base(self):
        """Descriptors and threads after a first request, which starts what is started lazily."""
        client = self._own_client()
        client.run("ls")
        client.run("info", "warm/up")
        return wait_until(self._settled, "the daemon is idle after its first request")

    def _own_client(self):
        """One that no configuration of the test reaches."""
        return Client(self.work, self.address, env={"XDG_CONFIG_HOME": "/nonexistent"})

    def _settled(self):
        before = self.usage()
        time.sleep(0.01)
        return before if self.usage() == before else None

    @property
    def pid(self):
        """The daemon's process number."""
        return self.process.pid

    @property
    def is_running(self):
        """Whether the process lives."""
        return self.process is not None and self.process.poll() is None

    def fds(self):
        """What its descriptors are, sorted."""
        places = []
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                place = os.readlink(f"/proc/{self.pid}/fd/{fd}")
            except OSError:
                continue
            places.append(re.sub(r"\[\d+\]", "", place))
        return sorted(places)

    def usage(self):
        """Number of descriptors and of threads."""
        return len(os.listdir(f"/proc/{self.pid}/fd")), len(os.listdir(f"/proc/{self.pid}/task"))

    def rss(self):
        """Resident memory in bytes."""
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())[1]) * 1024

    def bytes_read(self):
        """Bytes that its system calls read so far, from wherever."""
        return int(re.search(r"rchar: (\d+)", Path(f"/proc/{self.pid}/io").read_text())[1])

    def cpu_seconds(self):
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log(self):
        """All that it wrote to standard error."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def hashed_bytes(self):
        """The counter at the end of each transfer so far, in order."""
        return [int(n) for n in re.findall(r"hashed_bytes=(\d+)", self.log())]

    def assert_idle(self):
        """No descriptor and no thread more than before the first transfer, and `ls` is answered (I3)."""
        if self.base is None:
            return
        try:
            wait_until(self._is_at_base, "idle", 5)
        except AssertionError:
            raise AssertionError(f"leaked: (descriptors, threads) {self.usage()} after {self.base} at the start; "
                                 f"open: {self.fds()}") from None
        assert self._own_client().run("ls").status == 0

    def _is_at_base(self):
        fds, threads = self.usage()
        return fds <= self.base[0] and threads <= self.base[1]

    def signal(self, number):
        """Sends a signal to the daemon."""
        self.process.send_signal(number)

    def stop(self, timeout=5.0):
        """SIGTERM, then status 0 in time and nothing more on standard output."""
        self.signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout * max(1, SLOWNESS / 4))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the daemon did not end within {timeout} s of SIGTERM") from None
        rest = self.process.stdout.read()
        self.process.stdout.close()
        assert status == 0, f"the daemon ended with {status}; log:\n{self.log()[-4000:]}"
        assert rest == b"", f"more than the ready line on standard output: {rest!r}"

    def kill(self):
        """SIGKILL, and wait."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        if self.process is not None and not self.process.stdout.closed:
            self.process.stdout.close()

    def restart(self):
        """Ends what runs (SIGTERM unless it is dead already) and starts on the same port."""
        if self.is_running:
            self.stop()
        self.kill()
        return self.start()

    def model(self, name):
        """The live folder of a model."""
        return self.root / name

    def staged(self, name=None):
        """Files under the staging area, of one model or all."""
        top = self.root / ".mstore" / "staging" / (name or "")
        return [p for p in top.rglob("*") if not p.is_dir()]

    def assert_no_leftovers(self):
        """No unfinished push is left, and the trash empties."""
        assert self.staged() == []
        trash = self.root / ".mstore" / "trash"
        wait_until(lambda: not trash.exists() or not any(trash.iterdir()), "the trash is emptied")


class Result:
    """How a client ended: status, standard output and error, and how long it took."""

    def __init__(self, words, status, out, err, seconds):
        self.words, self.status, self.seconds = words, status, seconds
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")
        self.out_bytes, self.err_bytes = out, err

    def __repr__(self):
        return (f"<{' '.join(map(str, self.words))}\n status {self.status} after {self.seconds:.2f} s\n"
                f" out: {self.out[-3000:]}\n err: {self.err[-3000:]}>")

    @property
    def data(self):
        """Standard output, which must be one JSON object on one or more lines and nothing else."""
        data = json.loads(self.out_bytes)
        assert isinstance(data, dict), self
        return data

    @property
    def progress(self):
        """The lines of --progress json."""
        return [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]


class Running:
    """A client that runs beside the test."""

    def __init__(self, words, env, cwd=None):
        self.words = words
        self.began = time.monotonic()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=env, cwd=cwd)
        self.result = None

    @property
    def is_running(self):
        """Whether the process lives."""
        return self.process.poll() is None

    def signal(self, number):
        """Sends a signal to the client."""
        self.process.send_signal(number)

    def wait(self, timeout=60):
        """Its Result; a client that takes longer is killed, and the test fails."""
        if self.result is None:
            try:
                out, err = self.process.communicate(timeout=timeout * SLOWNESS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                out, err = self.process.communicate()
                result = Result(self.words, "killed", out, err, time.monotonic() - self.began)
                raise AssertionError(f"still running after {timeout * SLOWNESS} s: {result}") from None
            self.result = Result(self.words, self.process.returncode, out, err, time.monotonic() - self.began)
        return self.result

    def kill(self):
        """SIGKILL, and wait."""
        if self.result is None:
            self.process.kill()
            self.process.communicate()


class Client:
    """Runs mstore against one address."""

    def __init__(self, work, address, env=None, prefix=()):
        self.work, self.address, self.env, self.prefix = Path(work), address, env, prefix
        self.started = []
        (self.work / "home").mkdir(exist_ok=True)

    def words(self, args, address, user, **wrap):
        """The command line."""
        program = BUILD / "mstore"
        if user is not None:
            program = shutil.copy(program, self.work / "mstore-for-others")
        where = [] if address is None else ["-s", address]
        return command_line(program, where + list(args), user=user, **wrap)

    def start(self, *args, env=None, address="", user=None, cwd=None, **wrap):
        """A client beside the test. address None leaves -s out, "" is the server's."""
        address = self.address if address == "" else address
        words = self.words(args, address, user, **{"prefix": self.prefix, **wrap})
        running = Running(words, clean_environment(self.work, dict(self.env or {}, **(env or {}))), cwd)
        self.started.append(running)
        return running

    def run(self, *args, timeout=60, **how):
        """A client to its end, whatever that is."""
        return self.start(*args, **how).wait(timeout)

    def ok(self, *args, **how):
        """A client that must end with 0."""
        result = self.run(*args, **how)
        assert result.status == 0, result
        return result

    def fails(self, status, *args, **how):
        """A client that must end with this status and say why."""
        result = self.run(*args, **how)
        assert result.status == status, result
        assert result.err.strip(), f"failed without a word: {result}"
        return result

    def json(self, *args, **how):
        """A client that must end with 0; its JSON."""
        return self.ok("--json", *args, **how).data

    def end(self):
        """Kills what still runs."""
        for running in self.started:
            running.kill()


SUMMARY_KEYS = {"command", "model", "server", "ok", "files", "bytes", "seconds", "bytes_per_second", "source_cached",
                "predicted_seconds", "streams", "verified", "durable", "failed", "warnings"}
STREAM_KEYS = {"bytes", "seconds", "rcvbuf", "sndbuf", "send", "limited_by"}


def check_summary(data, command, model="ns/m"):
    """What holds for the summary of every push and pull that did all it was asked for."""
    assert SUMMARY_KEYS <= data.keys()
    assert (data["command"], data["model"], data["ok"]) == (command, model, True)
    assert data["verified"] is True and data["durable"] is True and data["failed"] == []
    files, amount = data["files"], data["bytes"]
    assert files["sent"] + files["skipped"] == files["total"] and files["failed"] == 0
    assert amount["sent"] + amount["resumed"] + amount["skipped"] == amount["total"]
    carried = sum(stream["bytes"] for stream in data["streams"])  # a block may travel twice
    assert amount["sent"] <= carried <= amount["sent"] + (len(data["streams"]) + 1) * BLOCK
    return data


def push(client, src, model="ns/m", *options, **how):
    """A push that must succeed; its summary, checked."""
    return check_summary(client.json("push", src, model, *options, **how), "push", model)


def pull(client, dst, model="ns/m", *options, **how):
    """A pull that must succeed; its summary, checked."""
    return check_summary(client.json("pull", model, dst, *options, **how), "pull", model)


def roundtrip(server, client, src, dst, *options, model="ns/m", timeout=60):
    """Pushes and pulls, compares all three places byte by byte; the two summaries."""
    pushed = push(client, src, model, *options, timeout=timeout)
    models.assert_same(src, server.model(model))
    pulled = pull(client, dst, model, *options, timeout=timeout)
    models.assert_same(src, dst)
    server.assert_no_leftovers()
    return pushed, pulled


def listed(client, name):
    """The entry of one model in `ls`, or None."""
    return next((m for m in client.json("ls")["models"] if m["name"] == name), None)
