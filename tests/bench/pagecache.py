"""The page cache and a source: how much of it is there (measured), putting it there, taking it away."""

import ctypes
import os

from processes import LIBC

CACHESTAT = 451  # the same number on all architectures; Linux 6.5
PAGE = os.sysconf("SC_PAGE_SIZE")
PIECE = 1 << 20
PROT_READ, MAP_SHARED = 1, 1

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def _pages_by_cachestat(fd):
    """Cached pages of a file, or None where the kernel does not have the call."""
    span, answer = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    failed = LIBC.syscall(ctypes.c_long(CACHESTAT), ctypes.c_uint(fd), span, answer, ctypes.c_uint(0)) != 0
    return None if failed else answer[0]


def _pages_by_mincore(fd, size):
    """The same by a mapping."""
    address = LIBC.mmap(None, size, PROT_READ, MAP_SHARED, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        return 0
    marks = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
    LIBC.mincore(address, size, marks)
    LIBC.munmap(address, size)
    return sum(1 for mark in marks.raw[:(size + PAGE - 1) // PAGE] if mark & 1)


def files_below(folder):
    """All files, as paths, in a stable order."""
    return [os.path.join(top, name) for top, folders, names in os.walk(folder) if folders.sort() or True
            for name in sorted(names)]


def share(folder):
    """Which part of the bytes of a folder's files is in the cache, 0.0 to 1.0."""
    cached = pages = 0
    for path in files_below(folder):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                continue
            found = _pages_by_cachestat(file.fileno())
            cached += found if found is not None else _pages_by_mincore(file.fileno(), size)
            pages += (size + PAGE - 1) // PAGE
    return round(min(1.0, cached / pages), 4) if pages else 1.0


def warm(folder):
    """Reads each file that is not wholly in the cache."""
    if share(folder) == 1.0:
        return
    buffer = bytearray(PIECE)
    for path in files_below(folder):
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def drop(folder):
    """Writes back and drops each file's pages."""
    for path in files_below(folder):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
