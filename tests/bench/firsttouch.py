"""Memory that the machine really has: touched right before a run, for every peer alike.

A virtual machine gets a page of memory from its host when it is first touched, and a balloon may hand free pages
back within seconds. The first touch costs more than a transfer (here 0.8 GB/s against 5), so who comes after
a pause would be slower for no reason of its own. As many free pages as a run will fill are touched and given
back right before it.
"""

import mmap

import machine

PIECE = 64 << 20
SPARE = 512 << 20  # left free, for other programs
MADV_POPULATE_WRITE = 23  # Linux 5.14


def _touched_piece():
    piece = mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece.madvise(mmap.MADV_HUGEPAGE)
    try:
        piece.madvise(MADV_POPULATE_WRITE)
    except OSError:
        for offset in range(0, PIECE, mmap.PAGESIZE):
            piece[offset] = 1
    return piece


def touch(size):
    """Touches so many bytes of free memory, or what there is, and frees them."""
    room = machine.memory("MemFree") - SPARE
    pieces = [_touched_piece() for _ in range(max(0, min(size, room)) // PIECE)]
    for piece in pieces:
        piece.close()
