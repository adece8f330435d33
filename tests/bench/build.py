"""The programs under test: where they are, and how they are built when they are not there yet."""

import atexit
import shutil
import subprocess
import tempfile
from pathlib import Path

import processes

REPO = Path(__file__).resolve().parents[2]


def ensure(folder):
    """The release preset is brought up to date; another folder has to hold both programs."""
    if folder.resolve() != REPO / "build" / "release":
        if all((folder / name).exists() for name in ("mstore", "mstored")):
            return
        raise processes.Failed(f"no mstore and mstored in '{folder}'")
    steps = [["cmake", "--build", "build/release", "--target", "mstore", "mstored"]]
    if not (folder / "CMakeCache.txt").exists():
        steps = [["sh", "tests/setup.sh"], ["cmake", "--preset", "release"], *steps]
    for words in steps:
        print("bench:", " ".join(words), flush=True)
        done = subprocess.run(words, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise processes.Failed(f"{' '.join(words)} failed:\n{done.stdout.decode(errors='replace')[-2000:]}")


_patched = {}


def patched(name, folder):
    """The programs of `folder`; with the name of a patch, a clone of this commit is built with it, once a run."""
    if not name:
        return folder
    if name not in _patched:
        place = Path(tempfile.mkdtemp(prefix=f"mstore-{name}-"))
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        for words in (["git", "clone", "--quiet", "--shared", REPO, place],
                      ["git", "-C", place, "apply", REPO / "tests" / "bench" / "patches" / f"{name}.patch"],
                      ["cmake", "--preset", "release", "-S", place, "-B", place / "build"],
                      ["cmake", "--build", place / "build", "--target", "mstore", "mstored"]):
            done = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                raise processes.Failed(f"{' '.join(map(str, words))} failed:\n"
                                       f"{done.stdout.decode(errors='replace')[-2000:]}")
        _patched[name] = place / "build"
    return _patched[name]


def commit():
    """The commit that the sources stand at, with a + when they have been changed; "" outside of git."""
    def git(*words):
        done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=REPO, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout.decode().strip()
    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
