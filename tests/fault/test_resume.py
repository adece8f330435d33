"""A transfer that was interrupted goes on from where it was, and never onto bytes of something else (kind B)."""

import os
import shutil

import pytest

import cproxy
import faults
import models
from harness import BLOCK, MIB, listed, pull, push, wait_until
from wire import FakeServer, ServedModel, block

MODEL = "ns/m"
WAYS = ("link cut", "daemon killed", "client killed")
SLOW = pytest.mark.slow
OVERHEAD = 256 << 10  # listings, headers, hashes


class Line:
    """A push or a pull of `src` that can be interrupted and run again, with its bytes counted."""

    def __init__(self, command, server, make_client, make_proxy, src, dst):
        self.command, self.server, self.src, self.dst = command, server, src, dst
        self.make_client, self.make_proxy = make_client, make_proxy
        self.direct = make_client(server.address)
        self.way = "c2s" if command == "push" else "s2c"
        self.args = ["push", src, MODEL] if command == "push" else ["pull", MODEL, dst]

    @property
    def place(self):
        """Where the files arrive."""
        return self.server.model(MODEL) if self.command == "push" else self.dst

    @property
    def staging(self):
        """Where they wait."""
        return (self.server.root / ".mstore" / "staging" / MODEL if self.command == "push"
                else next(iter(p for p in sorted((self.dst / ".mstore").iterdir()) if p.is_dir())))

    def provide(self):
        """What a pull needs on the server."""
        if self.command == "pull":
            push(self.direct, self.src)

    def interrupt(self, at, how="link cut", rate=40e6, streams="2"):
        """Runs until `at` bytes have passed, then the fault; nothing may have a final name."""
        proxy = self.make_proxy(self.server.address, cproxy.rate(rate))
        running = self.make_client(proxy.address).start(*self.args, "-n", streams, "--retries", "0")
        wait_until(lambda: proxy.bytes(self.way) >= at or not running.is_running, f"{at} bytes passed", 120)
        assert running.is_running, running.wait()
        if how == "daemon killed":
            self.server.kill()
        elif how == "client killed":
            running.kill()
        proxy.cut()
        if how != "client killed":
            result = running.wait()
            assert result.status == 6 and "again" in result.err, result
        proxy.close()
        if how == "daemon killed":
            self.server.start(check_idle=False)
        assert not self.place.exists() or models.files(self.place, skip=faults.OWN) == {}, "I1"

    def again(self):
        """The same command undisturbed; its summary and the bytes that passed."""
        proxy = self.make_proxy(self.server.address)
        summary = (push(self.make_client(proxy.address), self.src, timeout=120) if self.command == "push"
                   else pull(self.make_client(proxy.address), self.dst, timeout=120))
        models.assert_same(self.src, self.place)
        if self.command == "push":
            faults.assert_clean(self.server)
        else:
            assert not (self.dst / ".mstore").exists() and faults.temporaries(self.dst) == []
        return summary, proxy.bytes(self.way)

    def parts(self):
        """The unfinished files."""
        return [p for p in (self.staging / "tree").rglob("*") if p.is_file()]


@pytest.fixture(params=["push", "pull"])
def line(request, server, make_client, make_proxy, src, dst):
    """A Line in each direction."""
    return Line(request.param, server, make_client, make_proxy, src, dst)


# One large file, cut at 90 %: the rest and little more travels again.

def resume_at_90(line, size, how, rate):
    """Interrupts at 90 % and goes on; what was there is told as resumed, and the speed is that of the rest."""
    models.rnd(line.src / "w.bin", size, seed=1)
    line.provide()
    line.interrupt(size * 9 // 10, how, rate)
    summary, passed = line.again()
    assert passed <= size // 10 + 64 * MIB + OVERHEAD, f"{passed / 1e6:.1f} MB passed"
    amount = summary["bytes"]
    assert amount["resumed"] >= size - passed and amount["sent"] <= passed
    assert summary["bytes_per_second"] * summary["seconds"] <= 1.05 * amount["sent"] + 1


@pytest.mark.parametrize("how", WAYS)
def test_b13_200_mb_at_90_percent(line, how):
    """In the fast set, too: it is the promise that users count on."""
    resume_at_90(line, 200_000_000, how, 50e6)


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_b13_2_gb_at_90_percent(line, how):
    """On a link like that of a fast Wi-Fi, or a gigabit with other guests."""
    resume_at_90(line, 2_000_000_000, how, 32e6)


def test_b13_after_a_restart_of_the_daemon(server, make_client, make_proxy, src, dst):
    """SIGTERM records all that arrived: after a reboot at 60 % only the rest travels, less than one block a stream
    apart. What the start-up tidies up is not this."""
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 64 * MIB, seed=1)
    proxy = make_proxy(server.address, cproxy.rate(20e6))
    running = make_client(proxy.address).start(*line.args, "-n", "2", "--retries", "0")
    wait_until(lambda: proxy.bytes("c2s") >= 40 * MIB, "40 MB passed")
    server.stop()
    assert running.wait().status == 6
    server.start(check_idle=False)
    entry = listed(line.direct, MODEL)
    assert entry["state"] == "incomplete" and entry["bytes_present"] >= 40 * MIB - 2 * BLOCK
    _, passed = line.again()
    assert passed <= 24 * MIB + 2 * BLOCK + OVERHEAD, f"{passed / 1e6:.1f} MB passed"


@SLOW
def test_b13_interrupted_many_times(line):
    """Each run adds something, and the last one needs little."""
    models.rnd(line.src / "w.bin", 80 * MIB, seed=1)
    models.rnd(line.src / "b.bin", 9 * MIB, seed=2)
    line.provide()
    for how in ("link cut", "client killed", "link cut", "link cut"):
        line.interrupt(18 * MIB, how, 40e6)
    summary, passed = line.again()
    assert summary["bytes"]["resumed"] >= 30 * MIB and passed <= 60 * MIB


# B07: another source of the same name, size and mtime between two runs.

def put_in_place(path, other, way):
    """Another content under the same name, size and mtime."""
    before = path.stat()
    if way == "written over":
        shutil.copyfile(other, path)
    else:
        replacement = path.with_name(".replacement")
        shutil.copyfile(other, replacement)
        os.replace(replacement, path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("way", ["written over", "renamed over"])
def test_b07_push_of_a_replaced_source(server, make_client, make_proxy, src, dst, work, way):
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    other = models.rnd(work / "other.bin", 24 * MIB, seed=2)
    line.interrupt(20 * MIB, rate=12e6)
    wait_until(lambda: (listed(line.direct, MODEL) or {"bytes_present": 0})["bytes_present"] >= BLOCK, "it is recorded")
    put_in_place(src / "w.bin", other, way)
    summary, _ = line.again()
    assert models.same_bytes(other, server.model(MODEL) / "w.bin") and summary["bytes"]["resumed"] == 0
    pull(line.direct, dst)
    assert models.same_bytes(other, dst / "w.bin")


def test_b07_push_of_a_copied_source_goes_on(server, make_client, make_proxy, src, dst):
    """The same bytes in another file: there is doubt, and the hashes of the blocks settle it."""
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    line.interrupt(18 * MIB, rate=12e6)
    put_in_place(src / "w.bin", models.rnd(dst.parent / "copy.bin", 24 * MIB, seed=1), "renamed over")
    summary, _ = line.again()
    assert summary["bytes"]["resumed"] >= BLOCK


def test_b07_one_block_differs(server, make_client, make_proxy, src, dst, work):
    """Equal at the head and at the tail: what was replaced is in the middle."""
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 40 * MIB, seed=1)
    line.interrupt(30 * MIB, rate=20e6, streams="1")
    other = work / "other.bin"
    shutil.copyfile(src / "w.bin", other)
    models.flip_byte(other, BLOCK + 4711)
    put_in_place(src / "w.bin", other, "renamed over")
    line.again()
    assert models.same_bytes(other, server.model(MODEL) / "w.bin")


def test_b07_pull_of_a_replaced_model(server, make_client, make_proxy, src, dst, work):
    """On the server the model was republished with files of equal size and mtime."""
    line = Line("pull", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    line.provide()
    line.interrupt(18 * MIB, rate=12e6)
    put_in_place(src / "w.bin", models.rnd(work / "other.bin", 24 * MIB, seed=2), "renamed over")
    push(line.direct, src, MODEL, "--checksum")
    summary, _ = line.again()
    assert summary["bytes"]["resumed"] == 0


def test_b07_pull_of_a_model_replaced_by_hand(server, make_client, make_proxy, src, dst, work):
    """The same, by somebody who copied into the root."""
    line = Line("pull", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    line.provide()
    line.interrupt(18 * MIB, rate=12e6)
    other = models.rnd(work / "other.bin", 24 * MIB, seed=2)
    for place in (src / "w.bin", server.model(MODEL) / "w.bin"):
        put_in_place(place, other, "renamed over")
        os.utime(place, ns=(0, 1_650_000_000_123_456_789))
    line.again()


# B08: data for another place than was asked for.

@pytest.mark.parametrize("shift", [-BLOCK, pytest.param(-100, marks=SLOW), pytest.param(100, marks=SLOW)])
def test_b08_data_for_another_offset(programs, server, make_client, make_proxy, src, dst, shift):
    """A pull goes on at block 1; what comes instead says another offset, or comes from another one."""
    data = models.rnd(src / "w.bin", 3 * BLOCK, seed=1).read_bytes()
    os.utime(src / "w.bin", (1_700_000_000, 1_700_000_000))
    line = Line("pull", server, make_client, make_proxy, src, dst)
    line.provide()
    line.interrupt(2 * BLOCK + MIB, rate=20e6, streams="1")

    def on_want(conn, file, offset, piece):
        moved = data[max(0, offset + shift):][:len(piece)].ljust(len(piece), b"\0")
        if wants % 2:
            conn.send(block(file, offset + shift, piece))
        else:
            conn.send(block(file, offset, moved))
    for wants in range(2):
        with FakeServer(ServedModel({"w.bin": data}, on_want=on_want)) as fake:
            result = make_client(fake.address).run("pull", MODEL, dst, "--retries", "0", "--timeout", "5")
            assert result.status not in (0, 130, 143) and result.err, result
            assert not (dst / "w.bin").exists()
    line.again()


# B10: a partial that is already complete, or longer than its source.

@pytest.mark.parametrize("side, rule", [("push", "renameat2:KILL:1:/root/ns/m"), ("push", "renameat2:KILL:1:w.bin"),
                                        ("pull", "renameat:KILL:1:dst/w.bin"), ("pull", "renameat2:KILL:1:w.bin")])
def test_b10_complete_partial(server, make_client, make_proxy, shims, src, dst, side, rule):
    """Killed with the last byte written and nothing shown."""
    line = Line(side, server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    line.provide()
    kill = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": rule}}
    if side == "push":
        server.stop()
        server.wrap.update(kill)
        server.start(check_idle=False)
        assert line.direct.run(*line.args, "--retries", "0").status == 6
        wait_until(lambda: not server.is_running, "the daemon is dead")
        server.kill()
        server.wrap.update(preload=None, shim=None)
        server.start(check_idle=False)
    else:
        result = line.direct.run(*line.args, **kill)
        assert result.status == -9, result
    assert not (line.place / "w.bin").exists()
    line.again()


@pytest.mark.parametrize("side, rule", [("push", "renameat2:EIO:1:/root/ns/m"), ("pull", "renameat:EIO:1:dst/w.bin")])
def test_b10_last_rename_fails(server, make_client, make_proxy, shims, src, dst, side, rule):
    """All is there and flushed, only the name is missing: the next run sends nothing of it."""
    line = Line(side, server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 20 * MIB, seed=1)
    line.provide()
    shim = {"preload": shims["shim_fail"], "shim": {"SHIM_FAIL": rule}}
    if side == "push":
        server.stop()
        server.wrap.update(shim)
        server.start(check_idle=False)
    result = line.direct.run(*line.args, "--retries", "0", **(shim if side == "pull" else {}))
    assert result.status in (1, 7) and "nput/output" in result.err, result
    assert not (line.place / "w.bin").exists()
    summary, passed = line.again()
    assert summary["bytes"]["sent"] == 0 and passed < OVERHEAD


def test_b10_partial_longer_than_it_should_be(line):
    """Ten bytes behind the end of what waits: one run is enough, and no byte more is there than announced."""
    models.rnd(line.src / "w.bin", 24 * MIB, seed=1)
    line.provide()
    line.interrupt(18 * MIB, rate=12e6)
    for part in line.parts():
        with open(part, "r+b") as file:
            file.truncate(24 * MIB)
            file.seek(0, os.SEEK_END)
            file.write(b"0123456789")
    line.again()


@pytest.mark.parametrize("size", [0, pytest.param(1, marks=SLOW), pytest.param(BLOCK, marks=SLOW), BLOCK + 1])
def test_b10_source_shrinks_below_the_partial(server, make_client, make_proxy, src, dst, size):
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    line.interrupt(18 * MIB, rate=12e6)
    os.truncate(src / "w.bin", size)
    summary, _ = line.again()
    assert summary["bytes"]["total"] == size


# B12: bytes that change on the disk between two runs.

def test_b12_bit_flipped_in_the_partial(line):
    """The block that holds it travels again, the others do not."""
    models.rnd(line.src / "w.bin", 40 * MIB, seed=1)
    line.provide()
    line.interrupt(34 * MIB, rate=20e6, streams="1")
    part, = line.parts()
    models.flip_byte(part, 1000)
    summary, passed = line.again()
    assert summary["bytes"]["resumed"] >= BLOCK and passed >= BLOCK


def test_b12_bit_flipped_in_a_finished_file_that_waits(line):
    """A file that is whole, but not shown yet: its hash is held against it before it is shown, or the damage is
    found by `verify`. Size and mtime say that nobody touched it."""
    models.rnd(line.src / "a.bin", 64 * MIB, seed=1)
    models.rnd(line.src / "b.bin", 5 * MIB, seed=2)
    os.utime(line.src / "b.bin", (1_700_000_000, 1_700_000_000))
    line.provide()
    line.interrupt(60 * MIB, rate=20e6, streams="2")
    part = next((p for p in line.parts() if p.name == "b.bin"), None)
    if part is None:
        pytest.skip("the small file was not finished first")
    part.write_bytes(bytes(5 * MIB))  # another mtime: somebody touched it
    line.again()


# Journals that are damaged or somebody else's are as none.

def rubbish(path):
    path.write_bytes(b"\xff\0rubbish" * 1000)


def torn(path):
    data = path.read_bytes()
    path.write_bytes(data[:len(data) - 7])


def bit_in_the_middle(path):
    models.flip_byte(path, path.stat().st_size // 2)


def emptied(path):
    path.write_bytes(b"")


def gone(path):
    path.unlink()


def a_link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


def a_folder(path):
    path.unlink()
    for folder in (path, path.with_name(".journal.new")):
        (folder / "inside").mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("damage", [rubbish, torn, a_folder] + [pytest.param(f, marks=SLOW) for f in
                                                      (bit_in_the_middle, emptied, gone, a_link)],
                         ids=lambda f: f.__name__)
def test_b10_damaged_journal(line, damage):
    models.rnd(line.src / "w.bin", 24 * MIB, seed=1)
    line.provide()
    line.interrupt(18 * MIB, rate=20e6)
    journal = line.staging / "journal"
    assert journal.stat().st_size > 0
    damage(journal)
    line.again()


def test_b07_journal_of_another_model(server, make_client, make_proxy, src, dst, work):
    """Somebody renamed the staging of one model to that of another with the same file names."""
    line = Line("push", server, make_client, make_proxy, src, dst)
    models.rnd(src / "w.bin", 24 * MIB, seed=1)
    line.interrupt(18 * MIB, rate=20e6)
    top = server.root / ".mstore" / "staging" / "ns"
    os.rename(top / "m", top / "other")
    other = models.rnd(work / "other" / "w.bin", 24 * MIB, seed=2).parent
    os.utime(other / "w.bin", ns=(0, (src / "w.bin").stat().st_mtime_ns))
    push(line.direct, other, "ns/other")
    models.assert_same(other, server.model("ns/other"))
