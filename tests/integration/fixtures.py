"""The fixtures of the integration and fault tests; both conftest.py take them from here."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import harness
import models

FAULT = Path(__file__).resolve().parents[1] / "fault"
sys.path.insert(0, str(FAULT))
import cproxy  # noqa: E402  (from the folder just named)

PROGRAM_NAMES = ("mstored", "mstore")


def pytest_configure(config):
    """Markers, also where no pytest.ini is in sight."""
    config.addinivalue_line("markers", "slow: full sizes, real weights and long loops (ctest label slow)")
    config.addinivalue_line("markers", "sanitize: the subset that also runs against the ASan and TSan builds")


@pytest.fixture(scope="session")
def programs():
    """Skips nothing: without the two programs every test fails at once and says where it looked."""
    for name in PROGRAM_NAMES:
        if not (harness.BUILD / name).is_file():
            pytest.exit(f"no {name} in {harness.BUILD}: build first, or set MSTORE_BUILD", returncode=3)


@contextlib.contextmanager
def work_folder():
    """A folder open to other users too; gone afterwards unless MSTORE_KEEP is set."""
    path = Path(tempfile.mkdtemp(prefix="mstore-test-"))
    path.chmod(0o755)
    yield path
    reports = harness.sanitizer_reports(path)
    if os.environ.get("MSTORE_KEEP"):
        print(f"kept: {path}")
    else:
        shutil.rmtree(path, ignore_errors=True)
    assert not reports, "sanitizer report:\n" + "\n".join(reports)


@pytest.fixture
def work():
    """A folder for one test."""
    with work_folder() as path:
        yield path


@pytest.fixture
def make_server(programs, work):
    """Starts daemons: make_server(options=[…], preload=…, shim={…}, limits={…}, user=…, root=…)."""
    servers = []

    def make(check_idle=True, **how):
        how.setdefault("name", f"mstored{len(servers)}")
        server = harness.Server(work, **how)
        servers.append(server)
        return server.start(check_idle)

    yield make
    problems = [problem for server in servers for problem in end_server(server)]
    assert not problems, "\n".join(problems)


@pytest.fixture(scope="module")
def module_server(programs):
    """One daemon for all tests of a file, where starting one for each would take most of the time."""
    with work_folder() as path:
        server = harness.Server(path).start()
        yield server
        problems = end_server(server)
    assert not problems, "\n".join(problems)


def end_server(server):
    """Ends a daemon in any case; what was wrong with it."""
    problems = []
    if server.is_running:
        for check in (server.assert_idle, server.stop):
            try:
                check()
            except AssertionError as e:
                problems.append(str(e))
    server.kill()
    print(f"--- {server.log_path.name} (end)\n{server.log()[-6000:]}")
    return problems


@pytest.fixture
def server(make_server):
    """One daemon with a fresh root."""
    return make_server()


@pytest.fixture
def client(server, work):
    """mstore against `server`."""
    client = harness.Client(work, server.address)
    yield client
    client.end()


@pytest.fixture
def make_client(make_server, work):
    """mstore against any address."""
    clients = []

    def make(address, **how):
        clients.append(harness.Client(work, address, **how))
        return clients[-1]

    yield make
    for client in clients:
        client.end()


@pytest.fixture
def make_proxy(make_server):
    """Fault proxies: make_proxy(address, rule, …)."""
    proxies = []

    def make(address, *rules):
        proxies.append(cproxy.Proxy(address, rules))
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.clear()
        proxy.close()


@pytest.fixture
def through(server, make_client, make_proxy):
    """through(rule, …) is a client behind a proxy with these rules, and the proxy."""

    def make(*rules):
        proxy = make_proxy(server.address, *rules)
        return make_client(proxy.address), proxy
    return make


@pytest.fixture
def src(work):
    """An empty source folder."""
    path = work / "src"
    path.mkdir()
    return path


@pytest.fixture
def dst(work):
    """A destination folder that does not exist yet."""
    return work / "dst"


@pytest.fixture
def small_model(src):
    """A source folder with three files of 1 KB to 1 MB, in two folders."""
    models.rnd(src / "model.safetensors", 1 << 20, seed=1)
    models.rnd(src / "sub" / "part.bin", 70_000, seed=2)
    (src / "config.json").write_text('{"model_type":"test"}\n')
    return src


@pytest.fixture(scope="session")
def shims(tmp_path_factory):
    """The preload libraries, from the build directory or compiled here; a dict of name to path."""
    if harness.SANITIZER:
        pytest.skip("preload libraries and sanitizers do not go together")
    return {name: _shim(name, tmp_path_factory) for name in ("shim_short", "shim_fail", "shim_clock")}


def _shim(name, tmp_path_factory):
    built, source = harness.BUILD / f"{name}.so", FAULT / f"{name}.c"
    if built.is_file() and built.stat().st_mtime >= source.stat().st_mtime:
        return built
    target = tmp_path_factory.mktemp(name) / f"{name}.so"
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-o", target, source, "-ldl"], check=True)
    return target
