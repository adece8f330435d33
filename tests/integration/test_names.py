"""Names arrive as they are, and are shown without harm (kind O)."""

import os
import subprocess
import unicodedata

import pytest

import models
from harness import push, pull, roundtrip


def file_named(folder, name, content=b"x"):
    """A file whose name is these bytes."""
    with open(os.path.join(os.fsencode(folder), name), "wb") as file:
        file.write(content)


@pytest.mark.sanitize
def test_b84_every_odd_name_arrives(server, client, src, dst):
    roundtrip(server, client, models.odd_names(src), dst)
    assert len(models.files(dst)) == len(models.ODD_NAMES) + 1


@pytest.mark.sanitize
def test_b84_control_characters_do_not_reach_the_terminal(server, client, src, dst):
    file_named(src, b"evil\x1b]0;title\x07\x1b[2J\r\n\x7f\xc2\x9b31m.bin")
    for args in (["push", src, "ns/m", "-v"], ["info", "ns/m"], ["verify", "ns/m"], ["pull", "ns/m", dst, "-v"],
                 ["push", "--dry-run", src, "ns/other"]):
        result = client.ok(*args)
        shown = result.out_bytes + result.err_bytes
        assert not any(byte < 32 and byte != 10 or byte == 127 for byte in shown), result
        assert b"\xc2\x9b" not in shown, "a C1 control character"
    os.chmod(os.path.join(os.fsencode(src), os.listdir(os.fsencode(src))[0]), 0)
    shown = client.fails(7, "push", src, "ns/new", user=65534).err_bytes
    assert not any(byte < 32 and byte != 10 for byte in shown)
    assert b"\x1b" not in server.log_path.read_bytes() and b"\x07" not in server.log_path.read_bytes()


def test_b84_info_lists_one_line_for_a_name_with_a_newline(server, client, src):
    file_named(src, b"two\nlines")
    push(client, src)
    assert sum("lines" in line for line in client.ok("info", "ns/m").out.splitlines()) == 1


@pytest.mark.sanitize
def test_b81_spellings_of_hangul(server, client, src, work, dst):
    """Bytes as given: the second spelling replaces the first as any other name would, and settles."""
    nfc = ["한글모델.bin", "é.bin"]
    nfd = [unicodedata.normalize("NFD", name) for name in nfc]
    for name in nfc:
        file_named(src, name.encode(), b"same content")
    push(client, src)
    other = work / "nfd"
    other.mkdir()
    for name in nfd:
        file_named(other, name.encode(), b"same content")
    push(client, other)
    assert sorted(f["path"] for f in client.json("info", "ns/m")["files"]) == sorted(nfd)
    assert push(client, other)["bytes"]["sent"] == 0
    pull(client, dst)
    models.assert_same(other, dst)
    assert pull(client, dst)["bytes"]["sent"] == 0


@pytest.mark.sanitize
@pytest.mark.parametrize("name", [b"a" * 255, b"b" * 254, b"c" * 240, "한".encode() * 85,
                                  unicodedata.normalize("NFD", "한" * 28).encode()],
                         ids=["255", "254", "240", "hangul", "nfd-hangul"])
def test_b85_long_names(server, client, src, dst, name):
    file_named(src, name, b"content")
    (src / ("d" * 255)).mkdir()
    file_named(src / ("d" * 255), name, b"more")
    roundtrip(server, client, src, dst)


def deep(folder, parts, name=b"file"):
    """A file below `parts` folders of 200 bytes each, made without a long path."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(parts):
        os.mkdir(b"d" * 200, dir_fd=here)
        below = os.open(b"d" * 200, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"deep")
    os.close(file)
    os.close(here)


def read_deep(folder, parts, name=b"file"):
    """The content of that file, or None."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in [b"d" * 200] * parts + [name]:
            below = os.open(part, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        return os.read(here, 100)
    except FileNotFoundError:
        return None
    finally:
        os.close(here)


@pytest.fixture
def no_deep_litter(work):
    """Long paths are removed by a tool that can."""
    yield
    subprocess.run(["rm", "-rf", work / "src", work / "dst", work / "root"], check=False)


def test_b85_path_of_nearly_4096_bytes(server, client, src, dst, no_deep_litter):
    """Below root and destination it is longer than PATH_MAX."""
    deep(src, 20, b"n" * 70)
    push(client, src)
    assert read_deep(server.model("ns/m"), 20, b"n" * 70) == b"deep"
    pull(client, dst)
    assert read_deep(dst, 20, b"n" * 70) == b"deep"
    client.ok("rm", "-y", "ns/m")
    server.assert_no_leftovers()


def test_b85_path_beyond_4095_bytes_is_refused_by_name(server, client, src, no_deep_litter):
    deep(src, 21)
    (src / "good").write_text("good")
    result = client.fails(7, "push", src, "ns/m")
    assert "dddd" in result.err and not server.model("ns/m").exists()


# Names that differ in case only, on file systems that do not tell them apart.

CASEFOLD = [
    "truncate -s 32M {image} && mkfs.ext4 -q -O casefold -E encoding=utf8 {image} && mount -o loop {image} {place}"
    " && mkdir {place}/fold && chattr +F {place}/fold",
    "mount -t tmpfs -o casefold none {place} && mkdir {place}/fold && chattr +F {place}/fold",
    "truncate -s 32M {image} && mkntfs -q -F {image} && lowntfs-3g -o ignore_case {image} {place}"
    " && mkdir {place}/fold",
    "truncate -s 64M {image} && mkfs.vfat {image} && mount -o loop {image} {place} && mkdir {place}/fold",
]


@pytest.fixture
def folding(work):
    """A folder that takes Config.json and config.json for one name."""
    place, image = work / "case", work / "case.img"
    place.mkdir()
    for command in CASEFOLD:
        done = subprocess.run(["sh", "-c", command.format(image=image, place=place)], capture_output=True, check=False)
        if done.returncode == 0 and _folds(place / "fold"):
            break
        subprocess.run(["umount", place], capture_output=True, check=False)
    else:
        pytest.skip("no case-insensitive file system can be mounted here")
    yield place / "fold"
    subprocess.run(["umount", place], check=True)


def _folds(folder):
    (folder / "Aa").touch()
    folded = (folder / "aA").exists()
    (folder / "Aa").unlink()
    return folded


def test_b83_names_that_fall_together_in_the_destination(folding, server, client, src):
    for name, content in (("Config.json", b"one"), ("config.json", b"two!"), ("other", b"three")):
        file_named(src, name.encode(), content)
    push(client, src)
    dst = folding / "dst"
    result = client.run("--json", "pull", "ns/m", dst)
    assert result.status not in (0, 5) and "onfig.json" in result.err + result.out, result
    shown = models.files(dst, skip=(".mstore",)) if dst.exists() else {}
    assert shown == {}, (shown, result)
    models.assert_same(src, server.model("ns/m"))


def test_b83_names_that_fall_together_in_the_root(folding, make_server, make_client, src):
    server = make_server(root=folding / "root")
    client = make_client(server.address)
    for name, content in (("Config.json", b"one"), ("config.json", b"two!")):
        file_named(src, name.encode(), content)
    result = client.run("push", src, "ns/m")
    assert result.status != 0 and "onfig.json" in result.err, result
    assert not server.model("ns/m").exists()


def test_b83_model_names_that_differ_in_case_only(folding, make_server, make_client, work):
    """Qwen/x is never stored as qwen/x: both are kept apart, or the second is refused."""
    server = make_server(root=folding / "root")
    client = make_client(server.address)
    one = models.rnd(work / "one" / "w", 1000, seed=1).parent
    two = models.rnd(work / "two" / "w", 2000, seed=2).parent
    push(client, one, "Qwen/x")
    result = client.run("push", two, "qwen/x")
    assert result.status != 0, result
    models.assert_same(one, server.model("Qwen/x"))
