"""Debian's packages of the peers: what is missing, installing it, and which version is there."""

import os
import shutil
import subprocess
from pathlib import Path

import processes

PACKAGES = {  # program: package
    "rsync": "rsync", "ssh": "openssh-client", "scp": "openssh-client", "sshd": "openssh-server",
    "nginx": "nginx-light", "curl": "curl", "aria2c": "aria2", "rclone": "rclone", "smbd": "samba",
    "smbclient": "smbclient", "socat": "socat", "iperf3": "iperf3", "ip": "iproute2", "tc": "iproute2",
}
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
POLICY = Path("/usr/sbin/policy-rc.d")


def program(name):
    """Its full path, or None. Servers are found without sbin in PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SBIN]))


def missing(programs):
    """Those that are not there."""
    return [name for name in programs if program(name) is None]


def version(name):
    """The version of the package that a program is from; "" where dpkg does not know it."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", PACKAGES.get(name, name)], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip()


def install():
    """Installs what is missing of all peers. The servers among them are not started by their packages."""
    wanted = sorted({PACKAGES[name] for name in missing(PACKAGES)})
    if not wanted:
        return
    print("bench: installing", *wanted, flush=True)
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    guard = os.geteuid() == 0 and not POLICY.exists()
    if guard:
        POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        POLICY.chmod(0o755)
    try:
        for words in (["apt-get", "update", "-q"],
                      ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y",
                       "--no-install-recommends", *wanted]):
            done = subprocess.run(sudo + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                raise processes.Failed(f"{' '.join(words)}:\n{done.stdout.decode(errors='replace')[-2000:]}")
    finally:
        if guard:
            POLICY.unlink()
