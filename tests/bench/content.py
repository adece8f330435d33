"""The workloads: random files (nothing can compress them), made once and kept for the next run; and comparing."""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pagecache

PIECE = 8 << 20
SHARDS = 6
SMALL_PER_FOLDER = 500


@dataclass(frozen=True)
class Content:
    """A folder of files."""
    name: str
    path: Path
    files: int
    size: int

    def text(self):
        """For a title."""
        return f"{self.name} ({self.files} file{'s' * (self.files != 1)}, {self.size / 1e6:,.0f} MB)"


def single(size):
    """One file."""
    return [("model.gguf", size)]


def model(size):
    """Shards and twenty small files beside and below them."""
    small = [(f"{'tokenizer/' * (i % 2)}config-{i:02}.json", 700 * (i + 1) ** 2) for i in range(20)]
    rest = max(SHARDS, size - sum(bytes_ for _, bytes_ in small))
    sizes = [rest // SHARDS] * (SHARDS - 1) + [rest - rest // SHARDS * (SHARDS - 1)]
    return [(f"model-{i + 1:05}-of-{SHARDS:05}.safetensors", bytes_) for i, bytes_ in enumerate(sizes)] + small


def small(count):
    """Files of 4 to 64 KB; always the same sizes for the same count."""
    dice = random.Random(count)
    return [(f"{i // SMALL_PER_FOLDER:03}/{i:06}.bin", dice.randint(4_000, 64_000)) for i in range(count)]


def tiny(count):
    """Files of 1 KB, very many."""
    return [(f"{i // 1000:04}/{i:07}.bin", 1000) for i in range(count)]


def write_random(path, size):
    """A file of random bytes."""
    with open(path, "wb", buffering=0) as file:
        for offset in range(0, size, PIECE):
            file.write(os.urandom(min(PIECE, size - offset)))


def make(folder, name, plan):
    """The planned files in folder/name, which is there as a whole or made now."""
    path = folder / name
    if not path.exists():
        print(f"bench: making {name}", flush=True)
        new = folder / f"{name}.new"
        shutil.rmtree(new, ignore_errors=True)
        for where, size in plan:
            (new / where).parent.mkdir(parents=True, exist_ok=True)
            write_random(new / where, size)
        new.rename(path)
    return Content(name.partition("-")[0], path, len(plan), sum(size for _, size in plan))


def workload(folder, work, size, files):
    """The content of a workload by its name."""
    if work == "small":
        return make(folder, f"small-{files}", small(files))
    return make(folder, f"{work}-{size}", {"single": single, "model": model}[work](size))


def put(content, path):
    """The same files at another place: linked on the same file system, else copied."""
    def link(source, target):
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)
    shutil.copytree(content.path, path, copy_function=link)
    return Content(content.name, path, content.files, content.size)


def difference(left, right):
    """What is not the same in two folders, as text, or None: names, sizes, and every byte."""
    names = [sorted(os.path.relpath(path, top) for path in pagecache.files_below(top)) for top in (left, right)]
    if names[0] != names[1]:
        odd = set(names[0]).symmetric_difference(names[1])
        return f"{len(odd)} names differ, such as {min(odd)}"
    return next((f"{name} differs" for name in names[0] if not _same_bytes(left / name, right / name)), None)


def _same_bytes(left, right):
    with open(left, "rb", buffering=0) as one, open(right, "rb", buffering=0) as other:
        if os.fstat(one.fileno()).st_size != os.fstat(other.fileno()).st_size:
            return False
        while True:
            piece = one.read(PIECE)
            if piece != other.read(PIECE):
                return False
            if not piece:
                return True
