"""Nodes that stay after the command that started them: `sidecar node start`, `stop` and `status`.

A state file in the cache folder names the process and when it started, so a recycled pid is never signalled.
The node's folder stays too: after a restart the documents are there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sidecar.engine import ready
from sidecar.engine.distribution import DISTRIBUTIONS, distribution
from sidecar.engine.download import OnProgress
from sidecar.engine.guard import STAY, STOP
from sidecar.engine.node import log_of, plan, spawn_order, url_of
from sidecar.engine.places import cache_folder, exclusive
from sidecar.engine.process import Identity, spawn, tell
from sidecar.settings import Engine

USUAL_PORT = 9200
"""Where the sidecar looks for its node by default (`upstream.url`); taken if it is free."""


@dataclass(frozen=True, slots=True)
class BackgroundNode:
    """What the state file holds."""

    name: str
    title: str
    url: str
    folder: str
    pid: int
    started: str

    @property
    def identity(self) -> Identity:
        """The process."""
        return Identity(self.pid, self.started)


def start_background(
    name: str,
    settings: Engine,
    *,
    port: int | None = None,
    heap: str = "384m",
    on_progress: OnProgress | None = None,
) -> tuple[BackgroundNode, bool]:
    """The background node of that distribution and whether this call started it; waits until it answers.

    Without a port it listens on 9200, or on any free port where 9200 is taken.
    Raises EngineError saying what to do. Interrupted or killed before the node is ready, nothing keeps running.
    """
    entry = distribution(name)
    nodes = _nodes_folder(settings)
    with exclusive(nodes / f"{name}.lock"):
        present = read_state(_state_file(nodes, name))
        if present is not None:
            return present, False
        if port is None and ready.is_free(USUAL_PORT):
            port = USUAL_PORT
        order = plan(name, nodes / name, settings, port=port, heap=heap, on_progress=on_progress)
        guard, identity = spawn(spawn_order(order, stays=True))
        word = STOP
        try:
            url, log = url_of(order), log_of(order)
            ready.wait_ready(url, entry.title, lambda: identity.is_running, log, ready.START_LIMIT_S)
            state = BackgroundNode(name, entry.title, url, str(order.folder), identity.pid, identity.started)
            write_state(_state_file(nodes, name), state)
            word = STAY
        finally:
            tell(guard, word)
    return state, True


def stop_background(name: str, settings: Engine) -> BackgroundNode | None:
    """Stop that background node and return what ran, None when nothing did. Its folder stays."""
    distribution(name)
    nodes = _nodes_folder(settings)
    with exclusive(nodes / f"{name}.lock"):
        file = _state_file(nodes, name)
        present = read_state(file)
        if present is not None:
            present.identity.end()
        file.unlink(missing_ok=True)
    return present


def background_nodes(settings: Engine) -> Iterator[BackgroundNode]:
    """Every background node that runs."""
    nodes = _nodes_folder(settings)
    for name in DISTRIBUTIONS:
        present = read_state(_state_file(nodes, name))
        if present is not None:
            yield present


def read_state(file: Path) -> BackgroundNode | None:
    """The node that a state file names, None when there is no file or that very process is gone."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        state = BackgroundNode(**json.loads(file.read_text(encoding="utf-8")))
        return state if state.identity.is_running else None
    return None


def write_state(file: Path, state: BackgroundNode) -> None:
    """Write the state file in one step: a reader sees all of it or none."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(asdict(state), indent=1), encoding="utf-8")
    part.replace(file)


def _nodes_folder(settings: Engine) -> Path:
    folder = cache_folder(settings) / "nodes"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # root's umask may keep out the user that the node runs as
    return folder


def _state_file(nodes: Path, name: str) -> Path:
    return nodes / f"{name}.json"
