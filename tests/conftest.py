"""Real nodes for the whole test session: each is started at the first test that asks for it, and only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from sidecar.engine import RunningNode, running_node

ENGINES = ("opensearch3", "elasticsearch7", "elasticsearch8", "elasticsearch9")
"""The releases that every node test runs on."""


@pytest.fixture(scope="session")
def engines() -> Iterator[Callable[[str], RunningNode]]:
    """`engines(name)` gives the session's node of that distribution, shared: use index names of your own.

    A test that pauses, kills or restarts a node starts its own with `running_node`.
    """
    nodes: dict[str, RunningNode] = {}
    with ExitStack() as stack:

        def engine(name: str) -> RunningNode:
            if name not in nodes:
                nodes[name] = stack.enter_context(running_node(name, heap="384m"))
            return nodes[name]

        yield engine


@pytest.fixture(scope="session", params=ENGINES)
def node(request: pytest.FixtureRequest, engines: Callable[[str], RunningNode]) -> RunningNode:
    """A running node, shared over the session; the test runs once for each release."""
    return engines(request.param)


@pytest.fixture(scope="session")
def opensearch(engines: Callable[[str], RunningNode]) -> RunningNode:
    """The session's OpenSearch node, for tests that need one node of any kind."""
    return engines("opensearch3")


@pytest.fixture(scope="session")
def tiny_model_dir() -> Path:
    """A small trained model for the local head, kept in the repository (`tests/models/make_tiny_model.py` made it)."""
    if missing := [name for name in ("torch", "transformers", "safetensors") if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'decide-sidecar[local]'")
    return Path(__file__).parent / "models" / "tiny"
