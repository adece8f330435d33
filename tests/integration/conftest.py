"""Fixtures of the integration tests."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from fixtures import *  # noqa: E402,F401,F403  (the folder had to be named first)
