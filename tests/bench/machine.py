"""What a result depends on besides the programs: kernel, network settings, processor, memory, date, commit."""

import datetime
import os
import platform
import re
from pathlib import Path

import build


def setting(name):
    """A sysctl's value as text; "" where the kernel has none of that name."""
    try:
        return " ".join((Path("/proc/sys") / name.replace(".", "/")).read_text().split())
    except OSError:
        return ""


def memory(field):
    """A line of /proc/meminfo in bytes."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
    return int(found[1]) * 1024


def _processor():
    found = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else platform.machine()


def _is_virtual():
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", Path("/proc/cpuinfo").read_text(), re.M))


def facts():
    """All of it, ready for JSON."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": build.commit(),
        "kernel": platform.release(),
        "cpu": _processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "virtual": _is_virtual(),
        "memory_bytes": memory("MemTotal"),
        "congestion_control": setting("net.ipv4.tcp_congestion_control"),
        "rmem_max": setting("net.core.rmem_max"),
        "wmem_max": setting("net.core.wmem_max"),
        "tcp_rmem": setting("net.ipv4.tcp_rmem"),
        "tcp_wmem": setting("net.ipv4.tcp_wmem"),
        "load": os.getloadavg()[0],
    }
