"""doctor: a healthy pair has nothing that alarms, and each planted fault is found, at the right place.

Faults are planted where only the programs under test see them: in namespaces of their own, on a loop device of the
test, by a clock that is wrong for one process. The machine stays as it is.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import netns
from harness import NOBODY, wait_until

KEYS = {"id", "where", "severity", "value", "advice", "command", "confidence"}
# What may be so on any machine while tests run.
OF_THE_MOMENT = {"cpu", "memory", "disk-busy"}
MIB = 1 << 20

needs_networks = pytest.mark.skipif(bool(netns.missing()), reason=netns.missing() or "-")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def findings(client, *args, **how):
    """The findings, their form checked."""
    data = client.json("doctor", *args, **how)
    assert data.keys() == {"findings"}
    for finding in data["findings"]:
        assert finding.keys() == KEYS and all(isinstance(value, str) for value in finding.values())
        assert finding["where"] in {"client", "server", "path", "both"}
        assert finding["severity"] in {"high", "medium", "low"}
        assert finding["confidence"] in {"sure", "likely", "perhaps"}
        assert finding["value"] and finding["advice"]
    order = [["high", "medium", "low"].index(f["severity"]) for f in data["findings"]]
    assert order == sorted(order)
    return data["findings"]


def found(list_, id_, where, severity=None):
    """The findings with that id and place, and with that severity."""
    return [f for f in list_ if (f["id"], f["where"]) == (id_, where) and severity in (None, f["severity"])]


def alarming(list_):
    """What is not of the moment and more than good to know."""
    return [f for f in list_ if f["severity"] != "low" and f["id"] not in OF_THE_MOMENT]


def mounts(script, place="sh"):
    """Words before a command: it sees mounts of its own, made by the script, for which `place` is $0."""
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", f'{script} && exec "$@"', str(place)]


def in_memory(root):
    """A root whose disk has nothing to be found about."""
    return mounts('mount -t tmpfs -o size=64m none "$0"', root)


def settings(work, **texts):
    """Words before a command: it reads these texts in /proc/sys/net (`core_rmem_max`)."""
    steps = []
    for name, text in texts.items():
        (work / name).write_text(f"{text}\n")
        steps.append(f"mount --bind {work / name} /proc/sys/net/{name.replace('_', '/', 1)}")
    return mounts(" && ".join(steps))


@pytest.fixture
def lan(make_server, make_client):
    """lan(net) starts a server on one side of a network; a function that asks from the other."""

    def start(net):
        server = make_server(options=["--listen", f"{netns.SERVER}:0", "--no-auth"], prefix=net.enter("s"),
                             check_idle=False)
        client = make_client(server.address)
        return lambda: findings(client, prefix=net.enter("c"), cwd="/dev/shm")
    return start


# A pair in good health.

@pytest.mark.sanitize
def test_a_healthy_pair_has_nothing_that_alarms(make_server, make_client, work):
    server = make_server(prefix=in_memory(work / "root"))
    client = make_client(server.address)
    assert alarming(findings(client, cwd="/dev/shm")) == []
    server.assert_idle()


@needs_networks
def test_nor_has_one_on_a_link_of_its_own(lan):
    """A veth pair says that it carries 10 Gbit/s, and does on a machine that is not busy with other things."""
    with netns.pair() as net:
        ask = lan(net)
        wait_until(lambda: not [f for f in ask() if f["where"] == "path"], "nothing is wrong with the path", 60)


def test_the_text_says_what_it_says_in_json(server, client, work):
    """Where, what, how sure, and what mends it; with -v also the facts."""
    list_ = findings(client, cwd=work)
    result = client.ok("doctor", cwd=work)
    for finding in list_:
        if finding["id"] not in OF_THE_MOMENT:
            assert f"{finding['where']}: {finding['id']}: {finding['value']} ({finding['confidence']})" in result.out
            assert finding["command"] == "" or f"mend: {finding['command']}\n" in result.out
    assert "nothing found" in result.out or list_
    assert all(len(line) <= 78 or "mend:" in line or not line.startswith(" ") for line in result.out.splitlines())
    facts = client.ok("doctor", "-v").out
    assert re.search(r"^server  kernel  Linux ", facts, re.M) and re.search(r"^client  cpus  \d+$", facts, re.M)
    assert "\nlooked at:\n        whether full-sized packets pass, " in facts


def test_no_fact_tells_where_the_root_is(server, client):
    facts = re.findall(r"^server  (\w+)  (.*)$", client.ok("doctor", "-v").out, re.M)
    assert len(facts) > 20
    for _, value in facts:
        assert str(server.work) not in value and server.work.name not in value


def test_it_changes_nothing(server, client):
    before = sorted(str(p) for p in server.root.rglob("*"))
    findings(client)
    assert sorted(str(p) for p in server.root.rglob("*")) == before


# Sockets.

@needs_root
def test_a_clamp_that_bites_alarms(make_server, make_client, work):
    """A daemon without rights, and a kernel that does not go far by itself, as it was until 2024."""
    work.chmod(0o777)
    root = work / "root"
    root.mkdir()
    os.chown(root, NOBODY, NOBODY)
    prefix = settings(work, core_rmem_max="212992", ipv4_tcp_rmem="4096 131072 6291456")
    server = make_server(root=root, user=NOBODY, prefix=prefix)
    hits = found(findings(make_client(server.address)), "rmem-max", "server")
    assert [(f["severity"], f["value"], f["command"]) for f in hits] == [
        ("high", "212992", "sysctl -w net.core.rmem_max=67108864")]


@needs_root
def test_a_clamp_that_does_not_bite_is_only_told(make_server, make_client, work):
    """A daemon that may go beyond it."""
    server = make_server(prefix=settings(work, core_rmem_max="212992", core_wmem_max="212992"))
    list_ = findings(make_client(server.address))
    for id_ in ("rmem-max", "wmem-max"):
        assert [f["severity"] for f in found(list_, id_, "server")] == ["low"]
        assert found(list_, id_, "client", "high") == found(list_, id_, "client", "medium") == []


@needs_root
def test_a_clamp_of_the_client_is_the_clients(server, client, work):
    hits = found(findings(client, prefix=settings(work, core_rmem_max="212992")), "rmem-max", "client")
    assert [f["value"] for f in hits] == ["212992"]


# The path.

@needs_networks
@pytest.mark.parametrize("mtu, value", [((9000, 1500), "client 1500, server 9000"),
                                        ((1500, 9000), "client 9000, server 1500")], ids=["server", "client"])
def test_an_mtu_that_differs(lan, mtu, value):
    with netns.pair(*mtu) as net:
        hits = found(lan(net)(), "mtu", "path")
    assert [(f["severity"], f["value"]) for f in hits] == [("medium", value)]
    # each side's interface has the name of the other
    on_server = mtu[0] > mtu[1]
    assert hits[0]["command"] == f"ip link set dev {'c' if on_server else 's'} mtu 1500" + (
        "  # on the server" if on_server else "")


@needs_networks
@pytest.mark.parametrize("narrow, end", [("s", "server"), ("c", "client")], ids=["up", "down"])
def test_a_black_hole(lan, narrow, end):
    """Full-sized packets vanish on the way to one end, and nobody says so. All the rest is still found out."""
    with netns.black_hole(narrow) as net:
        list_ = lan(net)()
    assert [(f["severity"], f["value"]) for f in found(list_, "mtu", "path")] == [
        ("high", f"packets of 1500 bytes do not arrive at the {end}")]


@needs_networks
def test_a_path_that_carries_less_and_says_so(lan):
    """As above, but the router may speak: TCP adapts, and it is only good to know."""
    with netns.black_hole("s") as net:
        net.ip("r", "rule", "del", "ipproto", "icmp", "blackhole")
        list_ = lan(net)()
    assert [(f["severity"], f["value"]) for f in found(list_, "mtu", "path")] == [("low", "1280 of 1500 bytes")]


@needs_networks
def test_a_link_below_its_nominal_speed(lan):
    """Its cards say 10 Gbit/s; a shaper in both directions lets a tenth of that through."""
    with netns.pair() as net:
        net.shape("1gbit")
        hit, = found(lan(net)(), "nic-speed", "path")
    up, down = map(float, re.fullmatch(r"(\S+) MB/s up and (\S+) MB/s down of 1\.25 GB/s", hit["value"]).groups())
    assert hit["severity"] == "high" and 60 < up < 135 and 60 < down < 135, hit


# The disk.

@pytest.fixture
def loop_disk(work):
    """loop_disk("mkfs.ext4", …) makes a disk of the test's own; it goes when its last mount is gone."""
    made = []

    def make(*mkfs):
        if os.geteuid() != 0 or not shutil.which("losetup") or not shutil.which(mkfs[0]):
            pytest.skip(f"a loop device needs root, losetup and {mkfs[0]}")
        image = work / "disk"
        with open(image, "wb") as file:
            file.truncate(160 * MIB)
        subprocess.run([*mkfs, image], check=True)
        done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no loop device: {done.stderr.strip()}")
        device = done.stdout.strip()
        made.append((device, setting("--getra", device)))
        return device
    yield make
    for device, before in made:
        setting("--setra", before, device)
        subprocess.run(["losetup", "-d", device], check=True)


def setting(*words):
    """What blockdev(8) says."""
    return subprocess.run(["blockdev", *words], capture_output=True, text=True, check=True).stdout.strip()


def test_read_ahead_and_mount_options(loop_disk, make_server, make_client, work):
    device = loop_disk("mkfs.ext4", "-q", "-F")
    setting("--setra", "256", device)  # in sectors of 512 bytes
    server = make_server(prefix=mounts(f'mount -o sync,strictatime {device} "$0"', work / "root"))
    client = make_client(server.address)
    list_ = findings(client)
    bdi = "7:" + re.search(r"\d+$", device)[0]
    hit, = found(list_, "readahead", "server")
    assert (hit["value"], hit["command"]) == ("128 KB", f"echo 15360 > /sys/class/bdi/{bdi}/read_ahead_kb")
    assert [(f["severity"], f["value"]) for f in found(list_, "mount-options", "server")] == [
        ("high", "sync"), ("low", "strictatime")]
    setting("--setra", "30720", device)
    again = findings(client)
    assert found(again, "readahead", "server") == []
    assert found(again, "readahead", "client") == found(list_, "readahead", "client")


def test_read_ahead_of_btrfs(loop_disk, make_server, make_client, work):
    """It has one of its own, whatever that of its devices is."""
    if "btrfs" not in Path("/proc/filesystems").read_text():
        pytest.skip("no btrfs in this kernel")
    device = loop_disk("mkfs.btrfs", "-q", "-f")
    server = make_server(prefix=mounts(f'mount {device} "$0"', work / "root"))
    client = make_client(server.address)
    bdi = re.search(r"^server  disk_bdi  (btrfs-\d+)$", client.ok("doctor", "-v").out, re.M)[1]
    file = Path(f"/sys/class/bdi/{bdi}/read_ahead_kb")
    for kb in (128, 15360):
        file.write_text(str(kb))
        hits = found(findings(client), "readahead", "server")
        assert [f["command"] for f in hits] == ([f"echo 15360 > {file}"] if kb == 128 else [])


@needs_root
@pytest.mark.parametrize("share, severity", [(0.97, "high"), (0.92, "medium"), (0.5, None)])
def test_a_full_root(make_server, make_client, work, share, severity):
    fill = f'mount -t tmpfs -o size=64m none "$0" && head -c {int(64 * MIB * share)} /dev/zero > "$0/fill"'
    server = make_server(prefix=mounts(fill, work / "root"))
    hits = found(findings(make_client(server.address)), "space", "server")
    assert [f["severity"] for f in hits] == ([severity] if severity else [])
    assert all(f"{share:.0%}"[:-1] + " % used" in f["value"] for f in hits)


# Time.

def test_a_clock_that_is_wrong(make_server, make_client, shims):
    server = make_server(preload=shims["shim_clock"], shim={"SHIM_CLOCK": -3600})
    hit, = found(findings(make_client(server.address)), "clock", "both")
    assert hit["severity"] == "medium" and re.fullmatch(r"the server is 3[56]\d\d\.\d s behind", hit["value"])


def test_clocks_that_agree(server, client):
    assert found(findings(client), "clock", "both") == []
