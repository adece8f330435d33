"""The preload shims themselves, with Python as the program: a shim that does nothing would pass every test."""

import subprocess
import sys

import pytest


@pytest.fixture
def preloaded(shims, tmp_path):
    """Runs a piece of Python under a shim: preloaded("shim_fail", code, VARIABLE=value) → its output."""
    data = tmp_path / "data.bin"
    data.write_bytes(b"0123456789" * 100)

    def run(shim, code, **variables):
        prelude = f"import os, socket, fcntl, signal\npath = {str(data)!r}\nfd = os.open(path, os.O_RDWR)\n"
        words = ["env", f"LD_PRELOAD={shims[shim]}"] + [f"{k}={v}" for k, v in variables.items()]
        return subprocess.run(words + [sys.executable, "-ISc", prelude + code], capture_output=True, text=True,
                              timeout=20, check=False)
    return run


def test_short_counts(preloaded):
    code = """
a, b = socket.socketpair()
print(len(os.pread(fd, 1000, 0)), os.pwrite(fd, b'x' * 500, 0), os.sendfile(a.fileno(), fd, 0, 1000),
      len(b.recv(1000)), os.writev(fd, [b'ab', b'cd', b'ef']), len(os.read(fd, 1000)))
"""
    done = preloaded("shim_short", code, SHIM_SHORT="pread:7,pwrite:3,sendfile:11,recv:2,writev:3")
    assert done.stdout.split() == ["7", "3", "11", "2", "3", "997"], done


def test_short_leaves_event_descriptors_alone(preloaded):
    code = "e = os.eventfd(5)\nprint(os.eventfd_read(e))\nr, w = os.pipe()\nprint(os.write(w, b'abc'))"
    done = preloaded("shim_short", code, SHIM_SHORT="all:1")
    assert done.stdout.split() == ["5", "3"], done


def test_every_third_call_is_interrupted(preloaded):
    """Python tries again after EINTR, so the calls are counted from below by libc itself."""
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(10)
for _ in range(6):
    print(libc.pread(fd, buf, 10, 0), ctypes.get_errno() if ctypes.set_errno(0) else 0)
"""
    done = preloaded("shim_short", code, SHIM_EINTR="pread:3")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["10", "10", "-1", "10", "10", "-1"], done


def test_eagain_only_with_a_receive_timeout(preloaded):
    code = """
a, b = socket.socketpair()
a.send(b'xx')
print(len(b.recv(1)))
b.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, b'\\x01' + b'\\0' * 15)
try:
    b.recv(1)
except BlockingIOError:
    print('again')
"""
    done = preloaded("shim_short", code, SHIM_EAGAIN="recv:1")
    assert done.stdout.split() == ["1", "again"], done


TRY = """
def attempt(call, *args):
    try:
        print(call(*args))
    except OSError as e:
        print(e.strerror)
"""


@pytest.mark.parametrize("when, expected", [("2", "ok no ok ok"), ("3+", "ok ok no no"), ("*2", "ok no ok no")])
def test_when_a_call_fails(preloaded, when, expected):
    code = TRY + "for i in range(4): attempt(os.fsync, fd)"
    done = preloaded("shim_fail", code, SHIM_FAIL=f"fsync:EIO:{when}:data.bin")
    assert done.stdout.replace("None", "ok").replace("Input/output error", "no").split() == expected.split(), done


def test_calls_that_fail_by_name(preloaded):
    code = TRY + """
attempt(os.rename, path, path + '2')
attempt(os.pwrite, fd, b'x', 0)
attempt(os.posix_fadvise, fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
attempt(fcntl.lockf, fd, fcntl.LOCK_EX)
attempt(fcntl.flock, fd, fcntl.LOCK_EX)
attempt(os.close, fd)
attempt(os.fstat, fd)
"""
    done = preloaded("shim_fail", code, SHIM_FAIL="rename:EROFS:1,pwrite:ENOSPC:1,posix_fadvise:ESPIPE:1,"
                     "fcntl_lock:ENOLCK:1,flock:ZERO:1,close:EDQUOT:1:data.bin")
    assert done.stdout.splitlines() == [
        "Read-only file system", "No space left on device", "Illegal seek", "No locks available", "None",
        "Disk quota exceeded", "Bad file descriptor"], done


def test_kill_in_place_of_a_call(preloaded):
    done = preloaded("shim_fail", "print('before', flush=True)\nos.fsync(fd)\nprint('after')", SHIM_FAIL="fsync:KILL:1")
    assert done.stdout == "before\n" and done.returncode == -9


def test_a_link_is_known_by_its_own_name(preloaded, tmp_path):
    code = TRY + """
folder = os.open(os.path.dirname(path), os.O_RDONLY)
attempt(lambda: os.symlink('one', 'two', dir_fd=folder))
attempt(lambda: os.symlink('two', 'one', dir_fd=folder))
"""
    done = preloaded("shim_fail", code, SHIM_FAIL=f"symlinkat:EIO:1:{tmp_path}/two")
    assert done.stdout.splitlines() == ["Input/output error", "None"], done


def test_calls_through_syscall(preloaded):
    """renameat2 (316) and openat2 (437) have no wrapper in older C libraries."""
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(ctypes.c_long(316), ctypes.c_long(-100), path.encode(), ctypes.c_long(-100), b'/nowhere/x', 0)
print(ctypes.get_errno())
"""
    assert preloaded("shim_fail", code, SHIM_FAIL="renameat2:EXDEV:1").stdout.split() == ["18"]


def test_order_in_the_log(preloaded, tmp_path):
    code = """
os.pwrite(fd, b'data', 0); os.fdatasync(fd); os.rename(path, path + '.final')
a, b = socket.socketpair()
a.send(b'say published now')
"""
    log = tmp_path / "log"
    done = preloaded("shim_fail", code, SHIM_LOG=log, SHIM_LOG_CALLS="pwrite,fdatasync,rename,send",
                     SHIM_LOG_MATCH="published")
    assert done.returncode == 0, done
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [line[3] for line in lines] == ["pwrite", "fdatasync", "rename", "send"]
    assert all(int(a[1]) < int(b[0]) for a, b in zip(lines, lines[1:]))
    assert lines[0][4] == "4" and lines[0][6].endswith("data.bin") and lines[2][6].endswith(".final")
    assert lines[3][6] == "match"


def test_tally(preloaded, tmp_path):
    preloaded("shim_fail", "for i in range(5): os.fsync(fd)", SHIM_TALLY=tmp_path / "tally")
    counts = dict(line.split() for line in (tmp_path / "tally").read_text().splitlines())
    assert counts["fsync"] == "5" and int(counts["read"]) > 0


@pytest.mark.parametrize("variable, value", [("SHIM_FAIL", "fsync:EWHAT:1"), ("SHIM_FAIL", "fsync:EIO"),
                                             ("SHIM_FAIL", "fsync:EIO:0")])
def test_rules_that_are_not_understood(preloaded, variable, value):
    assert preloaded("shim_fail", "", **{variable: value}).returncode == 99


def test_a_folder_that_cannot_be_read_to_its_end(preloaded, tmp_path):
    code = TRY + "attempt(os.listdir, os.path.dirname(path))\n" * 2
    done = preloaded("shim_fail", code, SHIM_FAIL=f"readdir:EIO:1:{tmp_path}")
    assert done.stdout.splitlines() == ["Input/output error", "['data.bin']"], done
