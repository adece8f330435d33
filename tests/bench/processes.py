"""Starting programs on one side (a group, a network), timing them, and ending them by their numbers.

Each program is started in the foreground, in a session of its own and with the parent-death signal, so that
none outlives the bench. A program counts as ended when its pidfd says so: no polling, no rounding.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000


class Failed(Exception):
    """Something did not work that the measurement needs; the text says what."""


@dataclass
class Ended:
    """How a program ended."""
    status: int
    cpu_seconds: float  # its own and that of the children it waited for


def environment(home, extra=None):
    """What programs see: nothing of the user's settings, a home of the bench's."""
    env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
           "LANG": "C.UTF-8"}
    env.update(extra or {})
    return env


def spawn(words, group, namespace, log, env, stdout=None, cwd=None):
    """Starts a program in a group and a network namespace (a descriptor, or None for this one)."""
    def enter():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if namespace is not None and LIBC.setns(namespace, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        group.join()
    with open(log, "ab") as errors:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=stdout or errors,
                                   stderr=errors, env=env, cwd=cwd, start_new_session=True,
                                   preexec_fn=enter)  # pylint: disable=subprocess-popen-preexec-fn
    group.started(process.pid)
    return process


def wait(process, timeout):
    """Waits for a spawned program and reaps it; kills it when it takes too long or the bench is interrupted."""
    watch = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        in_time = bool(poll.poll(timeout * 1000))
    except BaseException:
        end(process)
        raise
    finally:
        os.close(watch)
    if not in_time:
        end(process)
        raise Failed(f"{process.args[0]} took more than {timeout} s")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Ended(process.returncode, usage.ru_utime + usage.ru_stime)


def end(process, patience=5.0):
    """SIGTERM to the program, then SIGKILL to what is left of its session."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_all(pids):
    """SIGKILL to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(condition, what, timeout=10.0):
    """Polls until the condition holds; its value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"still not so after {timeout:.0f} s: {what}")
        time.sleep(0.005)


def tail(log, lines=3):
    """The end of a log, for a message."""
    try:
        return " | ".join(log.read_text(errors="replace").strip().splitlines()[-lines:])[-400:]
    except OSError:
        return ""
