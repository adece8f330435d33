"""bench read and bench report: a figure is called what was measured, reports compare like with like, charts are good files."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import models
from harness import MIB, REPO, wait_until

sys.path.append(str(REPO / "tests" / "bench"))
import pagecache  # noqa: E402  (from the folder just named)

SIZE = 64 * MIB
KEYS = ["label", "mode", "bytes", "seconds", "bytes_per_second", "cached_before", "cache", "conditions"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def client(programs, make_client):
    """mstore without a server."""
    return make_client(None)


@pytest.fixture
def folder(work):
    """A folder on a disk, in which files can be dropped from the cache."""
    for base in (work, REPO / "build"):
        place = Path(tempfile.mkdtemp(prefix="mstore-bench-", dir=base))
        probe = models.rnd(place / "probe", MIB, seed=1)
        pagecache.drop(place)
        if pagecache.share(place) == 0:
            probe.unlink()
            yield place
            shutil.rmtree(place)
            return
        shutil.rmtree(place)
    pytest.skip("no file system here from which pages can be dropped")


@pytest.fixture
def model(folder):
    """One file, just written."""
    return models.rnd(folder / "w.bin", SIZE, seed=1)


def measure(client, *args, **how):
    """The JSON lines of a bench read that must succeed."""
    return [json.loads(line) for line in client.ok("--json", "bench", "read", *args, **how).out.splitlines()]


# What a round is called.

def test_a_file_just_written_reads_warm(client, model):
    rounds = measure(client, model)
    assert len(rounds) == 3  # the default
    for line in rounds:
        assert (line["cache"], line["cached_before"], line["bytes"]) == ("warm", 1, SIZE)
        assert "dropped_by" not in line["conditions"]


@pytest.mark.parametrize("mode", ["read", "mmap"])
def test_dropped_it_reads_cold_each_round_and_is_cached_afterwards(client, folder, model, mode):
    for line in measure(client, "--cache", "cold", "--mode", mode, "--rounds", "2", folder):
        assert (line["cache"], line["mode"]) == ("cold", mode)
        assert line["cached_before"] <= 0.05
        assert line["conditions"]["dropped_by"] == "fadvise"
    assert pagecache.share(folder) == 1.0


def test_half_of_it_cached_is_mixed_and_then_warm(client, folder, model):
    pagecache.drop(folder)
    with open(model, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)  # no read-ahead behind the half
        subprocess.run(["dd", "of=/dev/null", "bs=1M", f"count={SIZE // MIB // 2}", "status=none"], stdin=file, check=True)
    share = pagecache.share(folder)
    assert share == pytest.approx(0.5, abs=0.1)
    first, second = measure(client, "--rounds", "2", model)
    assert first["cache"] == "mixed" and first["cached_before"] == pytest.approx(share, abs=0.02)
    assert second["cache"] == "warm"


def test_warm_is_read_before_the_round(client, folder, model):
    pagecache.drop(folder)
    [line] = measure(client, "--cache", "warm", "--rounds", "1", model)
    assert line["cache"] == "warm"


def test_what_does_not_drop_is_not_called_cold(client, work):
    """A file system in memory: asked for cold, told that it is not."""
    place = next((p for p in (Path("/dev/shm"), work) if os.access(p, os.W_OK) and is_memory(p)), None)
    if place is None:
        pytest.skip("no file system in memory here")
    with tempfile.TemporaryDirectory(dir=place) as name:
        file = models.rnd(Path(name) / "w.bin", MIB, seed=1)
        result = client.ok("--json", "bench", "read", "--cache", "cold", "--rounds", "1", file)
        line = json.loads(result.out)
        assert line["conditions"]["dropped_by"] == "fadvise"  # emptying the machine's cache would not help
        assert line["cache"] == "warm" and "not cold as asked for" in result.err


def is_memory(path):
    done = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True)
    return done.stdout.strip() in ("tmpfs", "ramfs")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_strangers_file_is_not_called_warm(client, folder, model):
    """The kernel calls all pages of such a file cached; that is no measurement."""
    folder.chmod(0o755)
    model.chmod(0o644)
    result = client.ok("--json", "bench", "read", "--rounds", "1", model, user=65534)
    line = json.loads(result.out)
    assert line["cache"] == "mixed" and line["cached_before"] is None
    assert line["conditions"]["hidden_cache"] is False


# What a line holds.

def test_a_line_has_the_fields_of_the_contract(client, folder, model):
    pagecache.drop(folder)
    [line] = measure(client, "--rounds", "1", "--label", "my place", model)
    assert list(line) == KEYS
    assert line["label"] == "my place" and line["mode"] == "read"
    assert line["bytes_per_second"] == pytest.approx(line["bytes"] / line["seconds"], rel=1e-6)
    seen = line["conditions"]
    assert seen["paths"] == [str(model)] and seen["files"] == 1
    assert seen["kernel"] == os.uname().release and len(seen["load"]) == 3
    assert seen["uptime_seconds"] == pytest.approx(float(Path("/proc/uptime").read_text().split()[0]), abs=5)
    assert 0 < seen["memory_free"] < seen["memory_total"]


def mount_of(path):
    done = subprocess.run(["findmnt", "-n", "-r", "-o", "TARGET,FSTYPE,SOURCE,OPTIONS", "-T", path], capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


def test_conditions_tell_the_mount_and_the_device(client, folder, model):
    pagecache.drop(folder)
    [line] = measure(client, "--rounds", "1", model)
    target, fstype, _, options = mount_of(model)
    mount, number = line["conditions"]["mount"], os.stat(model).st_dev
    assert (mount["point"], mount["type"]) == (target, fstype)
    assert set(mount["options"].split(",")) <= set(options.split(","))
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        pytest.skip("the file is not directly on a block device")
    assert line["conditions"]["device"]["name"] == device.resolve().name
    queue = next(q for q in (device / "queue", device.resolve().parent / "queue") if q.is_dir())
    assert line["conditions"]["read_ahead_kb"] == int((queue / "read_ahead_kb").read_text())
    assert line["conditions"]["device"]["rotational"] == ((queue / "rotational").read_text().strip() == "1")


def test_what_the_disks_delivered_is_counted(client, folder, model):
    pagecache.drop(folder)
    cold, warm = measure(client, "--rounds", "2", model)
    if "disks" not in cold["conditions"]:
        pytest.skip("the file is not on a block device")
    assert cold["conditions"]["disks"][0]["bytes_read"] >= SIZE * 0.99
    assert cold["conditions"]["hidden_cache"] is False
    assert warm["conditions"]["disks"][0]["bytes_read"] < SIZE / 2
    assert warm["conditions"]["hidden_cache"] is False  # nothing was expected from it


def test_folders_without_junk_each_file_once(client, folder):
    models.rnd(folder / "a" / "one.bin", 1000, seed=1)
    models.rnd(folder / "a" / ".git" / "junk", 5000, seed=2)
    models.rnd(folder / "two.bin", 300, seed=3)
    (folder / "link.bin").symlink_to("a/one.bin")
    [line] = measure(client, "--rounds", "1", folder, folder / "two.bin")
    assert line["bytes"] == 1300 and line["conditions"]["files"] == 2


# Text, --out, errors.

def test_text_has_a_line_a_round_and_a_summary(client, model):
    text = client.ok("bench", "read", "--load-cost", "13", model).out
    assert text.startswith(mount_of(model)[0] + ": ")
    assert len(re.findall(r"(?m)^round \d +\S+ [MG]B/s  warm ", text)) == 3
    assert re.search(r"MEDIAN +MIN +MAX", text) and re.search(r"warm +3 ", text)
    assert re.search(r"13 s$", text.splitlines()[-2]), text  # next to nothing, plus 13


def test_out_appends_lines_beside_the_text(client, model, work):
    out = work / "r.jsonl"
    for label in ("a", "b"):
        result = client.ok("bench", "read", "--rounds", "2", "--label", label, "--out", out, model)
        assert "round 2" in result.out
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["label"] for line in lines] == ["a", "a", "b", "b"]
    assert client.fails(7, "bench", "read", "--out", work / "none" / "r", model).out == ""


def test_a_full_disk_behind_out_is_an_error(client, model):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    result = client.fails(8, "bench", "read", "--out", "/dev/full", model)
    assert "/dev/full" in result.err


@pytest.mark.sanitize
def test_unreadable_is_named_and_ends_with_7(client, work):
    models.rnd(work / "m" / "good", 10, seed=1)
    (work / "m" / "bad").symlink_to("nowhere")
    for path in (work / "none", work / "m"):
        result = client.fails(7, "--json", "bench", "read", path)
        data = json.loads(result.out)
        assert data["ok"] is False and data["error"]["code"] == "file-error"
        assert ("none" if path.name == "none" else "m/bad") in data["error"]["message"]
    assert "neither" in client.fails(2, "bench", "read", "/dev/null").err
    (work / "m" / "bad").unlink()
    (work / "m" / "good").write_bytes(b"")
    assert "nothing to read" in client.fails(1, "bench", "read", work / "m").err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_file_without_permission_ends_with_7(client, work):
    secret = models.rnd(work / "m" / "secret", 10, seed=1)
    secret.chmod(0)
    result = client.fails(7, "bench", "read", work / "m", user=65534)
    assert "secret" in result.err and "Permission denied" in result.err


def test_sigint_ends_it(client, folder):
    """A sparse file of a terabyte takes longer than any patience."""
    with open(folder / "sparse", "wb") as file:
        file.truncate(1 << 40)
    running = client.start("bench", "read", "--mode", "mmap", folder / "sparse")
    try:
        maps = Path(f"/proc/{running.process.pid}/maps")
        wait_until(lambda: "sparse" in maps.read_text(), "the pass has begun")
        running.signal(2)
        assert running.wait(20).status == 130
    finally:
        running.kill()
        pagecache.drop(folder)


# Reports.

def line_of(label, rate, mode="read", cache="cold", size=1000 * 10**6):
    return {"label": label, "mode": mode, "bytes": size, "seconds": size / rate, "bytes_per_second": rate,
            "cached_before": {"cold": 0, "warm": 1, "mixed": 0.5}[cache], "cache": cache, "conditions": {}}


def write_lines(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def results(work):
    """Three files with known values."""
    nas = write_lines(work / "nas.jsonl", *(line_of("nas", rate * 10**6) for rate in (110, 100, 104)),
                      line_of("nas", 300 * 10**6, cache="mixed"), line_of("nas", 52 * 10**6, mode="mmap"))
    local = write_lines(work / "local.jsonl", *(line_of("local", rate * 10**6) for rate in (208, 200, 300, 216)),
                        line_of("local", 300 * 10**6, cache="mixed"))
    warm = write_lines(work / "warm.jsonl", line_of("local", 9 * 10**9, cache="warm"))
    return [nas, local, warm]


@pytest.mark.sanitize
def test_report_compares_like_with_like(client, results):
    groups = client.json("bench", "report", "--load-cost", "13", *results)["groups"]
    table = {(g["label"], g["mode"], g["cache"]): g for g in groups}
    nas, local = table["nas", "read", "cold"], table["local", "read", "cold"]
    assert (nas["rounds"], nas["bytes_per_second"], nas["min"], nas["max"]) == (3, 104e6, 100e6, 110e6)
    assert nas["noise"] == pytest.approx(10 / 104) and nas["ratio"] == 1
    assert local["bytes_per_second"] == 212e6 and local["ratio"] == pytest.approx(212 / 104)
    assert local["load_seconds"] == pytest.approx(1000 / 212 + 13)
    assert table["nas", "mmap", "cold"]["ratio"] == 1
    assert table["local", "read", "warm"]["ratio"] is None  # the first label has no warm figure
    assert table["nas", "read", "mixed"]["ratio"] is None and table["local", "read", "mixed"]["ratio"] is None
    assert [g["label"] for g in groups] == ["nas", "nas", "nas", "local", "local", "local"]


def test_report_as_text(client, results):
    text = client.ok("bench", "report", *results).out
    assert re.search(r"(?m)^nas +read +cold +3 +104 MB/s +100 MB/s +110 MB/s +10% +1\.00 +9\.6 s$", text), text
    assert re.search(r"(?m)^local +read +cold +4 +212 MB/s .* 2\.04 ", text), text
    assert re.search(r"(?m)^local +read +mixed .* - ", text), text


def test_report_of_what_was_measured(client, model, work):
    out = work / "r.jsonl"
    client.ok("bench", "read", "--out", out, "--label", "here", model)
    [group] = client.json("bench", "report", out)["groups"]
    rates = sorted(json.loads(line)["bytes_per_second"] for line in out.read_text().splitlines())
    assert (group["label"], group["cache"], group["rounds"], group["bytes"]) == ("here", "warm", 3, SIZE)
    assert [group["min"], group["bytes_per_second"], group["max"]] == rates


@pytest.mark.sanitize
@pytest.mark.parametrize("bad, why", [
    (b"nonsense", "not JSON"), (b"{}", "'label'"), (b"[1]", "not a JSON object"), (b"\xff\xfe", "not JSON"),
    (b'{"label":"x"', "not JSON"), (b"\x00", "not JSON"), (b'{"ok":false,"error":{"code":"usage","message":"x"}}', "'label'"),
    (b"x" * (17 << 20), "more bytes than a line can have")],
    ids=["nonsense", "empty", "array", "no utf-8", "cut", "nul", "error", "long"])
def test_report_names_the_line_that_is_wrong(client, work, bad, why):
    good = json.dumps(line_of("x", 1e6)).encode()
    file = work / "r.jsonl"
    file.write_bytes(good + b"\n\n" + good + b"\r\n" + bad + b"\n" + good)
    result = client.fails(1, "bench", "report", file)
    assert "line 4 of" in result.err and str(file) in result.err and why in result.err
    file.write_bytes(good + b"\n\n" + good)  # without it, and without the last line feed
    assert client.json("bench", "report", file)["groups"][0]["rounds"] == 2


def test_report_of_nothing_and_of_no_file(client, work):
    empty = write_lines(work / "empty")
    assert "no round" in client.fails(1, "bench", "report", empty).err
    assert "none" in client.fails(7, "bench", "report", empty, work / "none").err
    client.fails(7, "bench", "report", work)
    client.fails(2, "bench", "report")


# Charts.

def rounded_bars(tree):
    return [(r.get("class"), float(r.get("width"))) for r in tree.iter(SVG + "rect") if r.get("class") in ("cold", "warm", "mixed")]


@pytest.mark.sanitize
def test_chart_is_well_formed_and_to_scale(client, work):
    label = "<&\"'>\x1b[31m \u00e4"
    lines = [line_of(label, 100e6), line_of("second", 400e6), line_of("second", 500e6), line_of("third", 50e6, cache="mixed")]
    results, chart = write_lines(work / "r", *lines), work / "c.svg"
    assert client.json("bench", "report", results, "--chart", chart)["chart"] == str(chart)
    tree = ElementTree.parse(chart).getroot()
    assert tree.tag == SVG + "svg"
    texts = ["".join(t.itertext()) for t in tree.iter(SVG + "text")]
    assert "<&\"'>\\x1b[31m \u00e4" in texts and "MB/s" in texts and "450" in texts
    bars = rounded_bars(tree)
    assert [name for name, _ in bars] == ["cold", "cold", "mixed"]
    assert bars[1][1] / bars[0][1] == pytest.approx(4.5, rel=0.01) and bars[2][1] < bars[0][1]
    assert len([p for p in tree.iter(SVG + "path") if p.get("class") == "whisker"]) == 1


def test_chart_as_png(client, results, work):
    if not shutil.which("rsvg-convert"):
        pytest.skip("rsvg-convert is not installed (librsvg2-bin)")
    chart = work / "c.png"
    client.ok("bench", "report", *results, "--chart", chart)
    data = chart.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert width == 1640 and height > 300


def test_png_without_its_program_names_the_package(client, results, work):
    result = client.fails(1, "bench", "report", *results, "--chart", work / "c.png", env={"PATH": "/nonexistent"})
    assert "librsvg2-bin" in result.err and not (work / "c.png").exists()


def test_a_chart_that_cannot_be_written_is_an_error(client, results, work):
    result = client.fails(7, "bench", "report", *results, "--chart", work / "none" / "c.svg")
    assert "c.svg" in result.err
    client.fails(2, "bench", "report", *results, "--chart", work / "c.gif")


# A disk whose rate is known (root and a cgroup controller for disks).

@pytest.fixture
def throttled_disk(work):
    """A mounted loop device with a file of 128 MB, and a limit on its reads for the programs that join it."""
    import processes
    import throttle
    if os.geteuid() != 0:
        pytest.skip("needs root")
    image, place = work / "disk.img", work / "mnt"
    with open(image, "wb") as file:
        file.truncate(200 * MIB)
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    done = subprocess.run(["mount", "-o", "loop", image, place], check=False)
    if done.returncode != 0:
        pytest.skip("no loop device here")
    try:
        file = models.rnd(place / "w.bin", 128 * MIB, seed=1)
        pagecache.drop(place)
        try:
            with throttle.make(place, RATE) as limit:
                yield file, limit
        except processes.Failed as why:
            pytest.skip(str(why))
    finally:
        subprocess.run(["umount", place], check=True)


RATE = 50 * 10**6  # so little that a machine with other work to do can still keep up
JOIN = ["sh", "-c", 'echo $$ >"$0" && exec "$@"']


def prefix_of(limit):
    """A program that is started behind these words is throttled."""
    return JOIN + [str(limit.members)]


def dd_rate(file, limit):
    """What dd with O_DIRECT reads of the file, bytes a second, by its own clock."""
    words = prefix_of(limit) + ["dd", f"if={file}", "of=/dev/null", "bs=8M", "iflag=direct"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL="C"))
    found = re.search(r"(\d+) bytes.* copied, ([\d.e-]+) s", done.stderr)
    return int(found[1]) / float(found[2])


def set_read_ahead(file, kb):
    """Of the file's file system."""
    device = os.stat(file).st_dev
    Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb").write_text(str(kb))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["read", "mmap"])
def test_cold_rate_agrees_with_direct_reads(client, throttled_disk, mode):
    """Interleaved, and within 10 %: neither the cache nor the read-ahead adds or hides anything. The best round of each
    counts: a busy machine makes rounds slower, only a cache would make them faster."""
    file, limit = throttled_disk
    set_read_ahead(file, 15360)
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(dd_rate(file, limit))
        [line] = measure(client, "--cache", "cold", "--mode", mode, "--rounds", "1", file, prefix=prefix_of(limit))
        assert line["cache"] == "cold" and line["conditions"]["hidden_cache"] is False
        ours.append(line["bytes_per_second"])
    assert max(ours) == pytest.approx(max(theirs), rel=0.10), (ours, theirs)
    assert max(theirs) == pytest.approx(RATE, rel=0.10), theirs


@pytest.mark.slow
def test_a_cold_round_much_faster_than_the_first_is_suspected(client, throttled_disk, work):
    """The disk is let go after the first round, as if a cache below had the file now."""
    file, limit = throttled_disk
    out = work / "r.jsonl"
    running = client.start("bench", "read", "--cache", "cold", "--rounds", "2", "--out", out, file, prefix=prefix_of(limit))
    wait_until(lambda: out.exists() and out.read_text().count("\n") == 1, "the first round is over", 30)
    limit_bytes(limit, file, 100 * RATE)
    text = running.wait(30).out
    first, second = (json.loads(line) for line in out.read_text().splitlines())
    assert first["cache"] == second["cache"] == "cold"
    assert first["conditions"]["hidden_cache"] is False and second["conditions"]["hidden_cache"] is True
    assert re.search(r"hidden cache suspected: \d+\.\d times as fast", text), text
    assert "suspected in 1 of 2 rounds" in client.ok("bench", "report", out).out
    assert client.json("bench", "report", out)["groups"][0]["hidden_cache"] == 1


def limit_bytes(limit, file, rate):
    """Another limit of bytes a second for who is throttled already."""
    device = os.stat(file).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    old = limit.folder / "blkio.throttle.read_bps_device"
    if old.exists():
        old.write_text(f"{name} {rate}")
    else:
        (limit.folder / "io.max").write_text(f"{name} rbps={rate}")


def limit_requests(limit, file, number):
    """At most so many requests a second as well: what a disk that is far away, or seeks, has."""
    device = os.stat(file).st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    old = limit.folder / "blkio.throttle.read_iops_device"
    if old.exists():
        old.write_text(f"{name} {number}")
    else:
        (limit.folder / "io.max").write_text(f"{name} rbps={RATE} riops={number}")


@pytest.mark.slow
def test_a_small_read_ahead_costs_a_mapping_where_requests_are_dear(client, throttled_disk):
    """Where a request costs time, 128 KB of read-ahead are slower than 15360; reads with the hint get twice as much ahead."""
    file, limit = throttled_disk
    limit_requests(limit, file, 200)
    rates = {}
    for kb in (128, 15360):
        set_read_ahead(file, kb)
        [line] = measure(client, "--cache", "cold", "--mode", "mmap", "--rounds", "1", file, prefix=prefix_of(limit))
        assert line["conditions"]["read_ahead_kb"] == kb and line["cache"] == "cold"
        rates[kb] = line["bytes_per_second"]
    assert rates[15360] > 1.3 * rates[128], rates
