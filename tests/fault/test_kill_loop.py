"""SIGKILL of either side at seeded random moments: a short run of kill_loop, which can run for as long as one likes."""

import subprocess
import sys
from pathlib import Path

import pytest

import harness

KILL_LOOP = Path(__file__).with_name("kill_loop")


def run(rounds, seed):
    """kill_loop to its end; its output stands in the report of a failure."""
    done = subprocess.run([sys.executable, KILL_LOOP, "--rounds", str(rounds), "--seed", str(seed),
                           "--build", harness.BUILD], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "violations: 0" in done.stdout, done.stdout + done.stderr
    assert f"{rounds} rounds" in done.stdout


def test_b01_b04_b06_20_rounds(programs):
    run(20, 20)


@pytest.mark.slow
def test_300_rounds(programs):
    run(300, 300)
