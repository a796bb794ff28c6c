"""What the pages take for granted: `make demo` in another terminal, and third-party clients."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_demo import Ports, running_demo

sys.path.insert(0, str(Path(__file__).parents[1] / "clients"))  # the client tests' pinned environments serve here too


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """The demo that the pages in docs/ are tried against."""
    with running_demo(tmp_path_factory.mktemp("demo")) as ports:
        yield ports


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the user of a node can reach, which pytest's own folders are not where root runs the tests."""
    with tempfile.TemporaryDirectory(prefix="sidecar-docs-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
