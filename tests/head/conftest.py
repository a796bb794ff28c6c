"""Needs the `local` extra: every test here skips, saying so, where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sidecar.nli import Head, load_head

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))  # the toy task that the tiny model has learned


@pytest.fixture(scope="session")
def tiny_head(tiny_model_dir: Path) -> Head:
    """The tiny model on one thread of the CPU."""
    return load_head(tiny_model_dir, threads=1, device="cpu")
