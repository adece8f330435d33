"""A pull into the Hugging Face cache whose calls fail, the 1st, 2nd, 3rd … time: what readers of the cache see is whole
all the while, and the same command goes on."""

import hashlib
import os
import shutil

import pytest

import faults
from harness import push
from test_hf_layout import COMMIT, OTHER, REPO, git_blob, make_cache, snapshot_of, to_cache

#        call         errors of which one is taken in turn
CALLS = {"symlinkat": ["EIO", "ENOSPC", "EPERM"], "renameat": ["EIO", "ENOSPC", "EROFS"]}
SLOW_CALLS = {"mkdirat": ["ENOSPC", "EACCES"], "syncfs": ["EIO"], "fdatasync": ["EIO", "ENOSPC"], "pwrite": ["ENOSPC"],
              "unlinkat": ["EIO", "EACCES"], "openat": ["EIO", "EMFILE"], "openat2": ["EIO", "EMFILE"]}
MOST = 200


class Place:
    """A cache that has a snapshot of the commit before, and may have a part of the new one."""

    def __init__(self, client, work, begun):
        hub = work / "hub"
        hub.mkdir()
        client.env = {"HF_HUB_CACHE": hub}
        self.client, self.work, self.before = client, work, work / "before"
        make_cache(hub, 50_000, OTHER)
        push(client, f"hf:org/tiny@{OTHER}", "org/tiny")
        to_cache(client, self.before)
        make_cache(hub, 60_000, COMMIT)
        push(client, f"hf:org/tiny@{COMMIT}", "org/tiny")
        if begun:
            to_cache(client, self.before, "org/tiny", "--include", "onnx/*")
        shutil.copytree(self.before, work / "after", symlinks=True)
        to_cache(client, work / "after")
        self.old, self.new = self.look(self.before), self.look(work / "after")
        assert set(self.old) < set(self.new)

    def check(self, seen):
        """Blobs are what their names say; a link leads to its blob; what refs/main names is all there."""
        refs = {self.old["refs/main"], self.new["refs/main"]}
        for path, (link, data) in seen.items():
            if path.startswith("blobs/"):
                assert path[6:] in (hashlib.sha256(data).hexdigest(), git_blob(data)), path
            else:
                assert (link, data) == self.new[path] or (path == "refs/main" and (link, data) in refs), path
        assert all(seen.get(path) == self.old[path] for path in self.old if path != "refs/main")
        old, new, there = (self.snapshot(files) for files in (self.old, self.new, seen))
        if seen["refs/main"] == self.new["refs/main"] != self.old["refs/main"]:
            assert there == new, f"refs/main is ahead of {new - there}"
        assert old or there in (set(), new), "the snapshot appeared in parts"

    @staticmethod
    def snapshot(seen):
        """The files of the new snapshot."""
        return {path for path in seen if path.startswith(f"snapshots/{COMMIT}/")}

    def trial(self, shim, rule):
        """One pull with this rule, then one without; whether the rule struck."""
        cache, log = self.work / "cache", self.work / "log"
        shutil.copytree(self.before, cache, symlinks=True)
        words = ["pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", cache, "--retries", "0"]
        result = self.client.run(*words, preload=shim, shim=faults.logging(rule, log))
        struck = faults.struck(log, rule)
        seen = self.look(cache)
        self.check(seen)
        faults.assert_truth(result, seen == self.new)
        assert result.status in (0, 1, 7, 8), result
        to_cache(self.client, cache)
        assert self.look(cache) == self.new, "the same command did not go on"
        shutil.rmtree(cache)
        log.unlink(missing_ok=True)
        return struck

    @staticmethod
    def look(cache):
        """What readers see, by path."""
        return {os.fsdecode(path): value for path, value in snapshot_of(cache / REPO).items()}


@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
@pytest.mark.parametrize("call, errors", list(CALLS.items()) +
                         [pytest.param(*c, marks=pytest.mark.slow) for c in SLOW_CALLS.items()])
def test_every_call_fails(server, client, shims, work, call, errors, begun):
    place = Place(client, work, begun)
    for number in range(1, MOST):
        rule = f"{call}:{errors[number % len(errors)]}:{number}:{work}/cache"
        try:
            if not place.trial(shims["shim_fail"], rule):
                assert number > 1, "none is made"
                return
        except AssertionError as e:
            raise AssertionError(f"with {rule}: {e}") from None
    raise AssertionError(f"the {MOST}th {call} still struck")


def test_a_link_that_cannot_be_made_is_named(server, client, shims, work):
    place = Place(client, work, False)
    result = client.run("--json", "pull", "org/tiny", "--layout", "hf-cache", "--cache-dir", place.before,
                        preload=shims["shim_fail"], shim={"SHIM_FAIL": "symlinkat:EPERM:1"})
    assert result.status == 7 and "config.json" in result.err and "not permitted" in result.err, result
