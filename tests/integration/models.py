"""Model folders for tests, and the comparison of two of them byte by byte."""

import ctypes
import hashlib
import os
import random
import subprocess
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20
BLOCK = 8 * MIB
POOL = 16 * MIB
_pools = {}


def _pool(seed):
    """Random bytes to cut pieces from: generating gigabytes takes longer than moving them."""
    if seed not in _pools:
        _pools.clear()
        _pools[seed] = memoryview(random.Random(seed).randbytes(POOL))
    return _pools[seed]


def rnd(path, size, seed=0):
    """A file of `size` random bytes; equal size and seed give equal bytes. Returns the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    choose = random.Random(f"{seed} {size}")
    with open(path, "wb") as file:
        if size <= MIB:
            file.write(choose.randbytes(size))
            return path
        pool = _pool("pool")
        for start in range(0, size, MIB):
            at = choose.randrange(POOL - MIB)
            file.write(pool[at:at + min(MIB, size - start)])
    return path


def sparse(path, size, marks=()):
    """A file of zeros without blocks on disk, with bytes at some offsets: [(offset, bytes)]."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        for offset, data in marks:
            file.seek(offset)
            file.write(data)
        file.truncate(size)
    return path


def mixed(folder, largest=300 * MIB, count=12, seed=7):
    """`count` files from `largest` down to 1 KB, each about a third of the one before."""
    size = largest
    for number in range(count):
        rnd(folder / ("shards" if number % 3 else ".") / f"file-{number:02}.bin", size, seed + number)
        size = max(KIB, size * 10 // 31)
    return folder


def many(folder, count, seed=3):
    """`count` files of 0 to 10 bytes in nested folders."""
    choose = random.Random(seed)
    for number in range(count):
        place = folder / f"a{number % 7}" / f"b{number // 7 % 11}" / f"c{number // 77 % 20}"
        if number < 2000:
            place.mkdir(parents=True, exist_ok=True)
        with open(place / f"f{number}", "wb") as file:
            file.write(choose.randbytes(choose.randrange(11)))
    return folder


def edges(folder):
    """Sizes around nothing and around a block."""
    for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1):
        rnd(folder / f"size-{size}", size, seed=size)
    return folder


ODD_NAMES = [
    b"with space", b" leading", b"trailing ", b"new\nline", b"tab\tcr\resc\x1b[31m", b"colon:back\\slash",
    b"?*\"|<>", b"dot.", b"-rf", b"%20", b"CON", "\U0001f600.bin".encode(), "한글모델.bin".encode(),
    b"\xff\xfe.bin", b"mixed-\xed\x95\x9c-\xe9", b"a" * 255, "한".encode() * 85, b"'quote'", b"$HOME`id`",
    b".hidden", b"..almost", b"...",
]


def odd_names(folder):
    """One file for each odd name, and one below a folder with an odd name."""
    top = os.fsencode(folder)
    for number, name in enumerate(ODD_NAMES):
        Path(os.fsdecode(os.path.join(top, name))).write_bytes(b"%d:" % number + name)
    below = os.path.join(top, b"dir \xff\n")
    os.makedirs(below)
    Path(os.fsdecode(os.path.join(below, b"in\x01side"))).write_bytes(b"inside")
    return folder


def hf_cache(hub, repo="models--o--m", revision="0123456789abcdef0123456789abcdef01234567"):
    """A Hugging Face cache with one snapshot of links; returns the snapshot's folder."""
    top = Path(hub) / repo
    snapshot = top / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (top / "refs").mkdir()
    (top / "refs" / "main").write_text(revision)
    for number, name in enumerate(("config.json", "model.safetensors", "nested/part.bin")):
        blob = rnd(top / "blobs" / hashlib.sha256(name.encode()).hexdigest(), MIB + number, seed=40 + number)
        _link(snapshot / name, blob)
    shared = rnd(Path(hub) / "blobs" / "ab" / ("ab" + "1" * 62), 5000, seed=50)
    _link(snapshot / "tokenizer.json", shared)
    return snapshot


def _link(place, target):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(target, place.parent))


def files(folder, skip=()):
    """What is below a folder and is not a folder: {relative path in bytes: full path in bytes}."""
    top, found = os.fsencode(folder), {}
    skip = {os.fsencode(name) for name in skip}
    for place, folders, names in os.walk(top):
        if place == top:
            folders[:] = [f for f in folders if f not in skip]
        linked = [f for f in folders if os.path.islink(os.path.join(place, f))]
        for name in names + linked:
            full = os.path.join(place, name)
            found[os.path.relpath(full, top)] = full
    return found


def thash(folder, skip=()):
    """One hash of all names, types, sizes and contents."""
    whole = hashlib.sha256()
    for name, full in sorted(files(folder, skip).items()):
        kind = "l" if os.path.islink(full) else "f"
        whole.update(b"%s\0%s%d%s" % (name, kind.encode(), os.path.getsize(full), file_hash(full).encode()))
    return whole.hexdigest()


def file_hash(path):
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _equal(a, b):
    return subprocess.run(["cmp", "-s", "--", a, b], check=False).returncode == 0


def same_bytes(a, b):
    """Whether two files are equal."""
    if os.path.getsize(a) != os.path.getsize(b):
        return False
    if os.path.getsize(a) > BLOCK:
        return _equal(a, b)
    with open(a, "rb") as file_a, open(b, "rb") as file_b:
        return file_a.read() == file_b.read()


def differences(a, b, skip_a=(), skip_b=()):
    """What differs between two folders, by name; links count as what they point to in `a` only."""
    left, right = files(a, skip_a), files(b, skip_b)
    found = [f"only in {a}: {name!r}" for name in sorted(left.keys() - right.keys())]
    found += [f"only in {b}: {name!r}" for name in sorted(right.keys() - left.keys())]
    for name in sorted(left.keys() & right.keys()):
        if os.path.islink(right[name]):
            found.append(f"a link in {b}: {name!r}")
        elif not same_bytes(left[name], right[name]):
            found.append(f"other bytes: {name!r}")
    return found


def assert_same(a, b, skip_a=(), skip_b=()):
    """Both folders hold the same files, byte for byte, and nothing else."""
    found = differences(a, b, skip_a, skip_b)
    assert not found, "\n".join(found[:20])


def flip_byte(path, offset):
    """Inverts a bit on disk and puts the times back: what bit rot looks like."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh128(data):
    """XXH3-128 with seed 0, canonical form (what proto and common compute)."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = _Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    value = library.XXH3_128bits(bytes(data), len(data))
    return value.high.to_bytes(8, "big") + value.low.to_bytes(8, "big")


def block_hashes(path):
    """The hash of each block of a file; an empty file has one block of length 0."""
    hashes = []
    with open(path, "rb") as file:
        while (data := file.read(BLOCK)) or not hashes:
            hashes.append(xxh128(data))
    return hashes


def file_hash_of_protocol(path):
    """The file hash of docs/protocol.md, in hexadecimal."""
    return xxh128(b"".join(block_hashes(path)) + os.path.getsize(path).to_bytes(8, "little")).hex()
