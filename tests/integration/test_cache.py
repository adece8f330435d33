"""The local tier: get, run and cache (docs/local-tier.md)."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

import cproxy
import harness
import models
from harness import MIB, push, wait_until

SIZE = 400_000  # of a model here: stands for 400 GB
BUDGET = "1M"   # two of them fit, three do not


class Tier:
    """A client with a cache of its own."""

    def __init__(self, client, work, name="cache"):
        self.client, self.path = client, work / name
        self.env = {"MSTORE_CACHE": self.path}

    def run(self, *args, **how):
        return self.client.run(*args, env=self.env, **how)

    def start(self, *args, **how):
        return self.client.start(*args, env=self.env, **how)

    def ok(self, *args, **how):
        return self.client.ok(*args, env=self.env, **how)

    def fails(self, status, *args, **how):
        return self.client.fails(status, *args, env=self.env, **how)

    def local(self, *args, **how):
        """A command that asks no server."""
        return self.ok(*args, address=None, **how)

    def get(self, model, *options, **how):
        """The path, which must be all that is on standard output."""
        result = self.ok("get", model, *options, **how)
        assert re.fullmatch(r"/[^\n]+\n", result.out), result
        return result.out[:-1]

    def data(self, model, *options, **how):
        return self.ok("--json", "get", model, *options, **how).data

    def ls(self):
        return {m["name"]: m for m in self.local("--json", "cache", "ls").data["models"]}

    def names(self):
        return {name for name, m in self.ls().items() if m["state"] == "complete"}

    def tree(self):
        """All that lies there, for a failure."""
        return "\n".join(sorted(f"{os.lstat(p).st_ino} {os.lstat(p).st_size} {p.relative_to(self.path)}"
                                for p in self.path.rglob("*") if not p.is_dir()))

    def used(self):
        """Bytes of all files below, each once however many names it has."""
        found = {}
        for folder, _, names in os.walk(self.path / "models"):
            for name in names:
                st = os.lstat(os.path.join(folder, name))
                found[st.st_ino] = st.st_size
        return sum(found.values())


@pytest.fixture
def tier(client, work):
    return Tier(client, work)


@pytest.fixture
def store(client, work):
    """store(name, seed) pushes a model of SIZE bytes in two files; its source folder."""

    def make(name, seed=0, size=SIZE):
        folder = work / "sources" / name
        models.rnd(folder / "model.safetensors", size - 1000, seed=seed)
        if not (folder / "sub" / "config.json").exists():
            models.rnd(folder / "sub" / "config.json", 1000, seed=1)
        push(client, folder, name)
        return folder

    return make


# -- get --

@pytest.mark.sanitize
def test_get_prints_the_path_alone_and_the_model_is_there(tier, store):
    src = store("ns/m")
    path = tier.get("ns/m")
    models.assert_same(src, path)
    assert path.startswith(str(tier.path))


@pytest.mark.sanitize
def test_get_again_moves_nothing(tier, store):
    store("ns/m")
    first = tier.data("ns/m")
    assert (first["bytes"], first["bytes_received"], first["current"]) == (SIZE, SIZE, True)
    again = tier.data("ns/m")
    assert (again["path"], again["bytes_received"], again["current"]) == (first["path"], 0, True)


def test_getting_a_current_model_takes_one_small_request(tier, store, make_client, make_proxy, server, work):
    store("ns/m")
    tier.get("ns/m")
    proxy = make_proxy(server.address)
    other = Tier(make_client(proxy.address), work)
    other.get("ns/m")
    assert len(proxy.links) == 1 and proxy.bytes("s2c") < 1000


@pytest.mark.sanitize
def test_a_new_version_comes_while_a_reader_of_the_old_goes_on(tier, store, work):
    old_src = store("ns/m", seed=1)
    old = tier.get("ns/m")
    with open(os.path.join(old, "model.safetensors"), "rb") as reader:
        before = (old_src / "model.safetensors").read_bytes()
        assert reader.read(100) == before[:100]
        src = store("ns/m", seed=2)
        new = tier.data("ns/m")
        assert new["bytes_received"] == SIZE - 1000  # the other file has not changed
        models.assert_same(src, new["path"])
        assert reader.read() == before[100:]
    # who was only given the path, and opens file after file, goes on too
    assert (models.Path(old) / "model.safetensors").read_bytes() == before
    assert (tier.path / "models/ns/m/current").resolve() == models.Path(new["path"])


def test_a_copy_with_a_file_lost_changed_or_added_is_made_whole_again(tier, store):
    src = store("ns/m")
    path = models.Path(tier.get("ns/m"))
    damages = [lambda: (path / "sub" / "config.json").unlink(),
               lambda: os.truncate(path / "model.safetensors", 7),
               lambda: (path / "stranger").write_text("x")]
    for damage in damages:
        damage()
        path = models.Path(tier.get("ns/m"))
        models.assert_same(src, path)


JUNK = [".DS_Store", "sub/Thumbs.db", "@eaDir/model.safetensors@SynoEAStream", "sub/.mstore"]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_in_a_copy_is_not_taken_over(tier, store, junk):
    src = store("ns/m", seed=1)
    path = models.Path(tier.get("ns/m"))
    models.rnd(path / junk, 100)
    current = tier.data("ns/m")
    models.assert_same(src, current["path"])
    assert current["bytes_received"] == 0
    models.rnd(models.Path(current["path"]) / junk, 100)
    src = store("ns/m", seed=2)
    new = tier.data("ns/m")
    models.assert_same(src, new["path"])
    assert new["bytes_received"] == SIZE - 1000


def test_junk_in_a_pull_that_was_cut_off_makes_it_begin_anew(tier, store):
    src = store("ns/m", size=40 * MIB)
    running = tier.start("get", "ns/m", "--bwlimit", "16M")
    wait_until(lambda: tier.used() > 0, "something has come")
    running.kill()
    models.rnd(tier.path / "models/ns/m/1/.DS_Store", 100)
    result = tier.data("ns/m")
    models.assert_same(src, result["path"])
    assert result["ok"] and "error" not in result
    assert os.listdir(tier.path / "trash") == []


def test_files_and_folders_that_change_places_between_versions(tier, client, work):
    src = work / "sources" / "m"
    models.rnd(src / "big.bin", 100_000)
    layouts = [["a"], ["a/b"], ["a/b/c", "d"], ["a", "d/e"]]
    for files in layouts + layouts[::-1]:
        for name in ("a", "d"):
            shutil.rmtree(src / name, ignore_errors=True)
            (src / name).unlink(missing_ok=True)
        for name in files:
            models.rnd(src / name, 1000)
        push(client, src, "ns/m")
        models.assert_same(src, tier.get("ns/m"))
    assert os.listdir(tier.path / "trash") == []


def test_what_stands_in_the_place_of_a_version_goes(tier, store, work):
    src = store("ns/m", seed=1)
    path = models.Path(tier.get("ns/m"))
    for in_the_way in (lambda p: p.write_text("x"), lambda p: p.symlink_to(work), os.mkfifo):
        in_the_way(path.with_name(str(int(path.name) + 1)))
        src = store("ns/m", seed=int(path.name) + 1)
        path = models.Path(tier.get("ns/m"))
        models.assert_same(src, path)


def test_no_such_model_is_status_3_and_nothing_on_standard_output(tier, store):
    result = tier.fails(3, "get", "ns/none")
    assert result.out == ""
    assert tier.names() == set()


@pytest.mark.sanitize
def test_with_the_server_away_a_complete_copy_does_and_it_is_said(tier, store, server):
    store("ns/m")
    path = tier.get("ns/m")
    server.stop()
    result = tier.ok("get", "ns/m")
    assert result.out == path + "\n"
    assert "may not be current" in result.err
    assert tier.data("ns/m")["current"] is False
    assert tier.fails(6, "get", "ns/other").out == ""


def test_where_the_cache_lies(client, store, work):
    store("ns/m")
    home = work / "home"
    by_default = client.ok("get", "ns/m").out
    assert by_default.startswith(str(home / ".cache" / "mstore"))
    by_xdg = client.ok("get", "ns/m", env={"XDG_CACHE_HOME": work / "xdg"}).out
    assert by_xdg.startswith(str(work / "xdg" / "mstore"))
    relative = client.ok("get", "ns/m", env={"MSTORE_CACHE": "near"}, cwd=work).out
    assert relative.startswith(str(work / "near"))


RECORDS = ["", "{", "[]", "null", "{}", "\0", "x" * 100_000,
           '{"mstore_cache":2}',
           '{"mstore_cache":1,"folder":0,"bytes":1,"files":1,"mtime":1,"nsec":1,"version":1,"fingerprint":1,'
           '"pinned":true}',
           '{"mstore_cache":1,"folder":999999999999,"bytes":9007199254740991,"files":1,"mtime":1,"nsec":1,'
           '"version":1,"fingerprint":1,"pinned":false}',
           '{"mstore_cache":1,"folder":"../../etc","bytes":1,"files":1,"mtime":1,"nsec":1,"version":1,'
           '"fingerprint":1,"pinned":true}']


@pytest.mark.parametrize("text", RECORDS, ids=range(len(RECORDS)))
def test_a_record_that_is_damaged_counts_as_none(tier, store, text):
    src = store("ns/m")
    tier.get("ns/m")
    record = tier.path / "state" / "ns--m.json"
    record.write_text(text)
    assert tier.names() == set()
    again = tier.data("ns/m")
    models.assert_same(src, again["path"])
    assert again["bytes_received"] == 0 and tier.names() == {"ns/m"}


def test_what_stands_in_the_place_of_a_record_is_not_opened(tier, store, work):
    store("ns/m")
    tier.get("ns/m")
    record = tier.path / "state" / "ns--m.json"
    record.unlink()
    os.mkfifo(record)
    assert tier.names() == set()
    assert tier.data("ns/m")["bytes_received"] == 0


def test_a_model_that_lacks_a_shard_is_status_7_unless_it_may(tier, client, work):
    src = work / "sources" / "cut"
    for number in (1, 3):
        models.rnd(src / f"model-{number:05}-of-00003.safetensors", 1000, seed=number)
    client.ok("push", src, "ns/cut", "--allow-incomplete")
    for _ in range(2):  # what was received does not make it whole
        assert tier.fails(7, "get", "ns/cut").out == ""
        assert tier.names() == set()
    models.assert_same(src, tier.get("ns/cut", "--allow-incomplete"))


def test_a_server_that_is_lost_during_the_pull_is_no_failure_where_a_complete_copy_is(
        tier, store, make_client, make_proxy, server, work):
    store("ns/m", seed=1)
    path = tier.get("ns/m")
    store("ns/m", seed=2)
    data_links = range(3, 1000)  # behind the question, the dry run, and the control connection of the pull
    cut = cproxy.cut(50_000, conn=data_links, dir="s2c")
    other = Tier(make_client(make_proxy(server.address, cut).address), work)
    result = other.ok("get", "ns/m", "--retries", "0")
    assert cut.hit.is_set() and result.out == path + "\n"
    assert "using the copy in the cache" in result.err
    assert other.data("ns/m", "--retries", "0")["current"] is False


# -- what cannot be read --

@pytest.mark.parametrize("folder", ["models", "state", "lock", "trash"])
def test_a_folder_of_the_cache_that_is_none_is_named(tier, store, folder):
    store("ns/m")
    tier.get("ns/m")
    (tier.path / folder).rename(tier.path / "away")
    (tier.path / folder).write_text("")
    result = tier.fails(1, "get", "ns/m")
    assert f"cannot open '{folder}' in the cache '{tier.path}': Not a directory" in result.err


def test_a_folder_of_a_model_that_cannot_be_read_is_said(tier, store, shims):
    """And not taken for one without versions, which would be fetched anew."""
    store("ns/m", seed=1)
    old = tier.get("ns/m")
    store("ns/m", seed=2)
    for when in ("1", "3"):
        shim = {"SHIM_FAIL": f"readdir:EIO:{when}:/models/ns/m"}
        result = tier.fails(1, "get", "ns/m", preload=shims["shim_fail"], shim=shim)
        assert "cannot open the folder of 'ns/m': input/output error" in result.err
    assert os.listdir(tier.path / "models/ns/m") in (["1", "current"], ["current", "1"])
    assert tier.ls()["ns/m"]["path"] == old


def test_a_model_that_cannot_be_counted_is_said(tier, store, shims):
    for name in ("ns/a", "ns/b"):
        store(name)
    tier.get("ns/a")
    shim = {"SHIM_FAIL": "openat2:EIO:1+:/models/ns/a"}
    for words in (["cache", "ls"], ["cache", "prune"], ["get", "ns/b", "--budget", BUDGET]):
        here = {"address": None} if words[0] == "cache" else {}
        result = tier.fails(1, *words, preload=shims["shim_fail"], shim=shim, **here)
        assert f"cannot read '{tier.path}/models/ns/a': input/output error" in result.err
    assert tier.names() == {"ns/a"}  # and prune has not taken its record for one of a version that is gone
    (tier.path / "models" / "lost+found").mkdir()  # of somebody else
    shim = {"SHIM_FAIL": "openat2:EACCES:1+:/lost+found"}
    assert "ns/a" in tier.ok("cache", "ls", address=None, preload=shims["shim_fail"], shim=shim).out


# -- at the same time, and killed --

@pytest.mark.sanitize
def test_concurrent_gets_pull_once(tier, store, server):
    src = store("ns/m", size=8 * MIB)
    running = [tier.start("--json", "get", "ns/m", "--bwlimit", "8M") for _ in range(4)]
    results = [r.wait() for r in running]
    assert [r.status for r in results] == [0] * 4, results
    assert sorted(r.data["bytes_received"] for r in results) == [0, 0, 0, 8 * MIB]
    assert len({r.data["path"] for r in results}) == 1
    models.assert_same(src, results[0].data["path"])
    assert sum("waiting for it" in r.err for r in results) == 3


@pytest.mark.sanitize
def test_a_get_that_is_killed_leaves_nothing_that_counts_and_the_next_one_goes_on(tier, store):
    src = store("ns/m", size=40 * MIB)
    running = tier.start("get", "ns/m", "--bwlimit", "16M")
    wait_until(lambda: tier.used() > 0, "something has come")
    wait_until(lambda: tier.ls()["ns/m"]["state"] == "fetching", "it is seen")
    running.kill()
    assert tier.ls()["ns/m"]["state"] == "incomplete"
    assert tier.local("cache", "paths").out == ""
    models.assert_same(src, tier.get("ns/m"))
    assert os.listdir(tier.path / "models/ns/m/1") == ["model.safetensors", "sub"] or \
        sorted(os.listdir(tier.path / "models/ns/m/1")) == ["model.safetensors", "sub"]
    assert [p for p in (tier.path / "state").iterdir() if p.suffix == ".room"] == []


def test_a_get_that_is_interrupted_ends_with_130_and_its_part_can_be_pruned(tier, store):
    store("ns/m", size=40 * MIB)
    running = tier.start("get", "ns/m", "--bwlimit", "8M")
    wait_until(lambda: tier.used() > 0, "something has come")
    running.signal(signal.SIGINT)
    assert running.wait().status == 130
    tier.local("cache", "prune")
    assert tier.ls() == {} and tier.used() == 0


def test_a_wait_for_another_get_can_be_interrupted(tier, store):
    store("ns/m", size=40 * MIB)
    first = tier.start("get", "ns/m", "--bwlimit", "4M")
    wait_until(lambda: tier.ls().get("ns/m", {}).get("state") == "fetching", "it is being fetched")
    second = tier.start("get", "ns/m")
    wait_until(lambda: len(locks_waiting(second)) > 0, "the second has opened the lock")
    second.signal(signal.SIGTERM)
    assert second.wait(5).status == 143
    first.kill()


def locks_waiting(running):
    """The descriptors of lock files that a client has open."""
    folder, found = f"/proc/{running.process.pid}/fd", []
    for fd in os.listdir(folder) if running.is_running else []:
        try:
            target = os.readlink(f"{folder}/{fd}")
        except OSError:
            continue
        found += [target] if "/lock/ns--m" in target else []
    return found


# -- the budget --

@pytest.mark.sanitize
def test_the_least_recently_used_model_goes(tier, store):
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
    tier.get("ns/a", "--budget", BUDGET)
    tier.get("ns/b", "--budget", BUDGET)
    tier.get("ns/a", "--budget", BUDGET)  # now b was used before a
    tier.get("ns/c", "--budget", BUDGET)
    assert tier.names() == {"ns/a", "ns/c"}
    assert tier.used() <= 1_000_000
    assert os.listdir(tier.path / "trash") == []


def test_the_budget_of_the_configuration_file(tier, store, work):
    config = work / "home" / ".config" / "mstore"
    config.mkdir(parents=True)
    (config / "config").write_text(f"cache-budget = {BUDGET}\n")
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
        tier.get(f"ns/{name}")
    assert tier.names() == {"ns/b", "ns/c"}
    tier.get("ns/a", "--budget", "10M")  # the command line is stronger
    assert tier.names() == {"ns/a", "ns/b", "ns/c"}
    (config / "config").write_text("budget = 1M\n")
    assert "did you mean 'cache-budget'" in tier.fails(2, "get", "ns/a").err


@pytest.mark.sanitize
def test_a_pinned_model_stays_and_goes_when_it_is_unpinned(tier, store):
    for name in "abcd":
        store(f"ns/{name}", seed=ord(name))
    for name in "ab":
        tier.get(f"ns/{name}")
    tier.local("cache", "pin", "ns/a")
    assert tier.ls()["ns/a"]["pinned"] and not tier.ls()["ns/b"]["pinned"]
    tier.get("ns/c", "--budget", BUDGET)
    assert tier.names() == {"ns/a", "ns/c"}
    tier.local("cache", "unpin", "ns/a")
    tier.get("ns/d", "--budget", BUDGET)
    assert tier.names() == {"ns/c", "ns/d"}
    assert tier.fails(3, "cache", "pin", "ns/none", address=None)


def test_a_pin_survives_a_new_version(tier, store):
    store("ns/a", seed=1)
    tier.get("ns/a")
    tier.local("cache", "pin", "ns/a")
    store("ns/a", seed=2)
    assert tier.data("ns/a")["bytes_received"] > 0
    assert tier.ls()["ns/a"]["pinned"]


@pytest.mark.sanitize
def test_where_everything_is_kept_nothing_is_removed_and_there_is_no_room(tier, store):
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
    for name in "ab":
        tier.get(f"ns/{name}")
    tier.local("cache", "pin", "ns/a", "ns/b")
    result = tier.fails(8, "get", "ns/c", "--budget", BUDGET)
    assert "beside 800 kB pinned: raise --budget" in result.err and result.out == ""
    assert tier.names() == {"ns/a", "ns/b"}
    assert tier.fails(8, "get", "ns/c", "--budget", "100K").out == ""


def test_a_changed_file_needs_room_for_itself_only(tier, store, client):
    src = store("ns/a", size=900_000)
    tier.get("ns/a", "--budget", BUDGET)
    (src / "sub" / "config.json").write_text("{}")
    push(client, src, "ns/a")
    again = tier.data("ns/a", "--budget", BUDGET)
    assert again["bytes_received"] == 2
    models.assert_same(src, again["path"])


def test_a_new_version_may_take_the_place_of_the_old_one(tier, store):
    store("ns/a", seed=1, size=900_000)
    tier.get("ns/a", "--budget", BUDGET)
    src = store("ns/a", seed=2, size=900_000)
    models.assert_same(src, tier.get("ns/a", "--budget", BUDGET))
    assert tier.used() <= 1_000_000


def test_prune_goes_down_to_the_budget(tier, store):
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
        tier.get(f"ns/{name}")
    tier.local("cache", "pin", "ns/a")
    result = tier.local("--json", "cache", "prune", "--budget", "900K")
    assert result.data == {"removed": ["ns/b"], "ok": True}
    assert tier.names() == {"ns/a", "ns/c"}
    assert tier.fails(8, "cache", "prune", "--budget", "1K", address=None)
    assert tier.names() == {"ns/a"}


# as client/cache_lock.h has them
PULL, SWITCH = 0, 1
F_OFD_GETLK, F_OFD_SETLK = 36, 37


def flock(kind, byte):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)


@contextlib.contextmanager
def locked(tier, model, byte):
    """The lock is somebody else's meanwhile; yields its file."""
    with open(tier.path / "lock" / model.replace("/", "--"), "r+b") as file:
        fcntl.fcntl(file, F_OFD_SETLK, flock(fcntl.F_WRLCK, byte))
        yield file


def is_locked_by_others(file, byte):
    found = fcntl.fcntl(file, F_OFD_GETLK, flock(fcntl.F_WRLCK, byte))
    return struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK


@pytest.fixture
def replaced(tier, store):
    """A model with a leftover; SIZE and SIZE - 1000 bytes."""
    store("ns/a", seed=1)
    tier.get("ns/a")
    store("ns/a", seed=2)
    return tier.get("ns/a")


def test_leftovers_of_a_model_that_is_being_fetched_stay_and_others_make_room(tier, store, replaced):
    for name in "bc":
        store(f"ns/{name}", seed=ord(name))
    tier.get("ns/b")
    with locked(tier, "ns/a", PULL):
        tier.get("ns/c", "--budget", "1250K")
        assert set(tier.ls()) == {"ns/a", "ns/c"} and tier.used() == 3 * SIZE - 1000
        result = tier.fails(8, "cache", "prune", "--budget", "500K", address=None)
        assert "stays at 799 kB, above its budget of 500 kB: 799 kB being fetched" in result.err
        assert set(tier.ls()) == {"ns/a"}
    tier.local("cache", "prune", "--budget", "500K")
    assert tier.names() == {"ns/a"} and tier.used() == SIZE


def test_prune_says_what_keeps_the_cache_above_its_budget(tier, store):
    for name in "ab":
        store(f"ns/{name}", seed=ord(name))
        tier.get(f"ns/{name}")
    tier.local("cache", "pin", "ns/a")
    process, _ = start_holder(tier, "ns/b")
    try:
        result = tier.fails(8, "--json", "cache", "prune", "--budget", "100K", address=None)
        assert "stays at 800 kB, above its budget of 100 kB: 400 kB pinned, 400 kB in use" in result.err
        assert result.data["ok"] is False and result.data["error"]["code"] == "no-space"
    finally:
        end_holder(process)


def test_a_model_that_is_asked_for_after_the_choice_stays(tier, store):
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
    for name in "ab":
        tier.get(f"ns/{name}")
    with locked(tier, "ns/a", SWITCH) as lock:
        running = tier.start("get", "ns/c", "--budget", BUDGET)
        wait_until(lambda: is_locked_by_others(lock, PULL), "a has been chosen")
        os.utime(tier.path / "state" / "ns--a.json")  # as a get does that finds it current
    assert running.wait().status == 0
    assert tier.names() == {"ns/a", "ns/c"}


def test_prune_removes_a_replaced_version(tier, store):
    store("ns/a", seed=1)
    old = tier.get("ns/a")
    store("ns/a", seed=2)
    new = tier.get("ns/a")
    assert os.path.exists(old)
    tier.local("cache", "prune")
    assert not os.path.exists(old) and os.path.exists(new)
    assert tier.used() == SIZE


# -- run --

@pytest.mark.sanitize
def test_run_puts_the_path_in_and_gives_back_the_status(tier, store):
    store("ns/m")
    path = tier.get("ns/m")
    result = tier.run("run", "ns/m", "--", "sh", "-c", 'echo "$1|$2|$3"; exit 42', "sh", "{}", "--x={}/a:{}/b", "")
    assert (result.out, result.status) == (f"{path}|--x={path}/a:{path}/b|\n", 42)
    assert tier.run("run", "ns/m", "--", "true").status == 0
    assert tier.run("run", "ns/m", "--", "/none/such").status == 127
    assert tier.run("run", "ns/m", "--", path + "/model.safetensors").status == 126
    assert tier.run("run", "ns/m", "--", "sh", "-c", "kill -9 $$").status in (-9, 137)
    assert tier.run("run", "ns/none", "--", "true").status == 3
    assert tier.run("run", "ns/m").status == 2
    assert tier.run("--json", "run", "ns/m", "--", "true").status == 2


def signal_sets(status):
    """Which signals are blocked, ignored and caught, by the text of /proc/PID/status."""
    masks = [int(re.search(name + r":\s*(\w+)", status)[1], 16) for name in ("SigBlk", "SigIgn", "SigCgt")]
    return [{n for n in range(1, 32) if mask & 1 << (n - 1)} for mask in masks]


def ignoring(signals):
    """A prefix that starts the program as a shell does with these in its background, or nohup."""
    code = "import os, signal, sys\nfor n in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(n, signal.SIG_DFL)\n"
    code += f"for n in {[int(n) for n in signals]}: signal.signal(n, signal.SIG_IGN)\nos.execvp(sys.argv[1], sys.argv[1:])"
    return ["/usr/bin/python3", "-ISc", code]


@pytest.mark.parametrize("ignored", [set(), {signal.SIGINT}, {signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE}])
def test_a_command_that_is_run_has_the_signals_that_it_would_have_without_us(tier, store, ignored):
    store("ns/m")
    result = tier.ok("run", "ns/m", "--", "cat", "/proc/self/status", prefix=ignoring(ignored))
    assert signal_sets(result.out) == [set(), ignored, set()]


def test_a_signal_that_is_ignored_does_not_end_a_get(tier, store):
    store("ns/m", size=8 * MIB)
    running = tier.start("get", "ns/m", "--bwlimit", "8M", prefix=ignoring({signal.SIGINT}))
    wait_until(lambda: tier.used() > 0, "something has come")
    running.signal(signal.SIGINT)
    assert running.wait().status == 0


def is_stopped(running):
    return re.search(r"State:\s*T", models.Path(f"/proc/{running.process.pid}/status").read_text())


def test_a_signal_just_before_the_command_is_run_is_not_lost(tier, store, shims, work):
    store("ns/m")
    running = tier.start("run", "ns/m", "--", "touch", work / "ran", preload=shims["shim_fail"],
                         shim={"SHIM_FAIL": "execvp:STOP:1:touch"})
    wait_until(lambda: is_stopped(running), "it is about to run")
    running.signal(signal.SIGINT)
    running.signal(signal.SIGCONT)
    assert running.wait().status in (-signal.SIGINT, 130)
    assert not (work / "ran").exists()


def start_holder(tier, model):
    """A command that is run with the model, and waits for its standard input; the process itself."""
    words = tier.client.words(["run", model, "--", "sh", "-c", "echo {}; read line"], tier.client.address, None)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=harness.clean_environment(tier.client.work, tier.env))
    return process, process.stdout.readline().decode().strip()


def end_holder(process):
    process.stdin.close()
    process.stdout.close()
    process.wait(10)


@pytest.mark.sanitize
def test_a_model_that_is_run_is_never_evicted(tier, store):
    for name in "abc":
        store(f"ns/{name}", seed=ord(name))
    process, path = start_holder(tier, "ns/a")
    try:
        assert tier.ls()["ns/a"]["in_use"]
        tier.get("ns/b", "--budget", BUDGET)
        tier.get("ns/c", "--budget", BUDGET)
        assert tier.names() == {"ns/a", "ns/c"} and os.path.exists(path)
        tier.fails(9, "cache", "rm", "ns/a", address=None)
        tier.fails(8, "cache", "prune", "--budget", "1K", address=None)
        assert tier.names() == {"ns/a"}
    finally:
        end_holder(process)
    assert not tier.ls()["ns/a"]["in_use"]
    tier.local("cache", "prune", "--budget", "1K")
    assert tier.names() == set()


def test_an_old_version_that_is_run_stays_when_a_new_one_comes(tier, store):
    store("ns/a", seed=1)
    process, old = start_holder(tier, "ns/a")
    try:
        store("ns/a", seed=2)
        new = tier.get("ns/a")
        tier.local("cache", "prune")
        assert os.path.exists(old) and new != old
    finally:
        end_holder(process)
    tier.local("cache", "prune")
    assert not os.path.exists(old)


def test_a_model_stays_in_use_by_a_child_that_outlives_the_command(tier, store):
    store("ns/a")
    reader, writer = os.pipe()
    words = tier.client.words(["run", "ns/a", "--", "sh", "-c", "exec 3<&0; (read line <&3) & exit 0"],
                              tier.client.address, None)
    try:
        status = subprocess.run(words, env=harness.clean_environment(tier.client.work, tier.env),
                                stdin=reader, stdout=subprocess.DEVNULL, timeout=60).returncode
        assert status == 0 and tier.ls()["ns/a"]["in_use"]
    finally:
        os.close(writer)
        os.close(reader)
    wait_until(lambda: not tier.ls()["ns/a"]["in_use"], "the child has ended")


# -- cache --

@pytest.mark.sanitize
def test_cache_ls_and_rm(tier, store):
    store("ns/a")
    path = tier.get("ns/a")
    entry = tier.ls()["ns/a"]
    assert {k: entry[k] for k in ("bytes", "state", "pinned", "in_use", "path")} == {
        "bytes": SIZE, "state": "complete", "pinned": False, "in_use": False, "path": path}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["last_used"])
    text = tier.local("cache", "ls", "--budget", "2M").out
    assert "ns/a" in text and "complete" in text and "of a budget of 2.00 MB" in text
    result = tier.fails(3, "--json", "cache", "rm", "ns/none", "ns/a", address=None)
    assert result.data["removed"] == ["ns/a"] and result.data["ok"] is False
    assert tier.ls() == {} and tier.used() == 0
    assert not (tier.path / "models" / "ns").exists()


def test_cache_rm_removes_a_pinned_model(tier, store):
    store("ns/a")
    tier.get("ns/a")
    tier.local("cache", "pin", "ns/a")
    tier.local("cache", "rm", "ns/a")
    tier.get("ns/a")
    assert not tier.ls()["ns/a"]["pinned"]


def test_the_section_for_comfyui_names_the_category_folders(tier, client, work):
    yaml = pytest.importorskip("yaml")
    src = work / "comfy"
    for path in ("checkpoints/sd.safetensors", "models/loras/l.safetensors", "split_files/vae/v.safetensors",
                 "other/x.bin", "deep/er/checkpoints/no.safetensors"):
        models.rnd(src / path, 1000)
    push(client, src, "ns/one")
    push(client, src, "ns/two")
    for name in ("ns/one", "ns/two"):
        tier.get(name)
    data = yaml.safe_load(tier.local("cache", "paths", "--comfyui").out)
    section = data.pop("mstore")
    assert data == {}
    base = section.pop("base_path")
    assert section.keys() == {"checkpoints", "loras", "vae"}
    found = {key: [os.path.join(base, line) for line in lines.split("\n") if line]
             for key, lines in section.items()}  # as ComfyUI puts them together
    assert [os.listdir(p) for p in found["checkpoints"]] == [["sd.safetensors"]] * 2
    assert os.listdir(found["loras"][0]) == ["l.safetensors"]
    assert os.listdir(found["vae"][1]) == ["v.safetensors"]


# -- warm --

def test_get_and_pull_warm_say_how_much_is_resident(tier, store, client, dst):
    store("ns/m", size=3 * MIB)
    result = tier.ok("--json", "get", "ns/m", "--warm")
    assert result.data["warm"] == {"bytes": 3 * MIB, "resident": 3 * MIB}
    assert "are in the page cache" in result.err
    pulled = client.json("pull", "ns/m", dst, "--warm", "--include", "*.json", "--io", "direct")
    assert pulled["warm"] == {"bytes": 1000, "resident": 1000}
    assert "in the page cache" in client.ok("pull", "ns/m", dst, "--warm").out
    assert "warm" not in client.json("pull", "ns/m", dst)
