"""A running node: start, wait, pause, kill, restart, stop."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.engine import launch, ready
from sidecar.engine.distribution import DEFAULT, distribution
from sidecar.engine.download import OnProgress, fetch
from sidecar.engine.guard import STOP
from sidecar.engine.java import find_java
from sidecar.engine.places import NOBODY, cache_folder, closed_folder, give_to, node_user
from sidecar.engine.process import Identity, spawn, tell
from sidecar.engine.thai import without_thai
from sidecar.errors import EngineError
from sidecar.settings import Engine
from sidecar.terms import JsonValue


class RunningNode:
    """One node that lives no longer than this process. Made by `running_node`.

    Methods block; call them from a thread inside an event loop. Not safe to call from two threads at once.
    """

    def __init__(self, order: launch.Order) -> None:
        self.order = order
        self._guard: subprocess.Popen[bytes] | None = None
        self._identity: Identity | None = None

    def __repr__(self) -> str:
        return f"RunningNode({self.name!r}, {self.url!r}, pid={self.pid})"

    @property
    def name(self) -> str:
        """Name of the distribution: `opensearch3`."""
        return self.order.entry.name

    @property
    def engine(self) -> str:
        """`opensearch` or `elasticsearch`."""
        return self.order.entry.engine

    @property
    def version(self) -> str:
        """The release: `3.8.0`."""
        return self.order.entry.version

    @property
    def port(self) -> int:
        """HTTP port on the loopback address; the same after a restart."""
        return self.order.http_port

    @property
    def transport_port(self) -> int:
        """Port for other nodes of its cluster."""
        return self.order.transport_port

    @property
    def url(self) -> str:
        """Base address of the node, without a slash at the end."""
        return url_of(self.order)

    @property
    def folder(self) -> Path:
        """The node's own folder: config, data, logs, tmp."""
        return self.order.folder

    @property
    def log(self) -> Path:
        """What the node prints."""
        return log_of(self.order)

    @property
    def pid(self) -> int | None:
        """Process id of the node (with Elasticsearch 8 and 9: of its launcher), None while stopped."""
        return self._identity.pid if self._identity is not None else None

    @property
    def is_running(self) -> bool:
        """True while the process lives, also when it is paused."""
        return self._identity is not None and self._identity.is_running

    def start(self) -> None:
        """Start the process and return at once; `wait_ready` waits until it answers."""
        assert self._guard is None, "already started"
        self._guard, self._identity = spawn(spawn_order(self.order, remove=self.folder))

    def wait_ready(self, limit_s: float = ready.START_LIMIT_S) -> None:
        """Wait until the node answers; EngineError with the end of its log when it ends or takes longer."""
        ready.wait_ready(self.url, self.order.entry.title, lambda: self.is_running, self.log, limit_s)

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered."""
        assert self._identity is not None
        self._identity.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after a pause."""
        assert self._identity is not None
        self._identity.signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL for the whole group, as a crash would; `restart` brings the documents back."""
        if self._identity is not None:
            self._identity.signal(signal.SIGKILL)
            self._end_guard()

    def stop(self) -> None:
        """Stop the process, politely first; nothing happens when it is stopped. The folder stays."""
        identity = self._identity
        if identity is not None:
            self._end_guard()
            identity.end()  # only does something when the guard itself was killed

    def restart(self) -> None:
        """Stop if needed, start on the same ports and folder, wait until it answers."""
        self.stop()
        self.start()
        self.wait_ready()

    def _end_guard(self) -> None:
        guard, self._guard, self._identity = self._guard, None, None
        if guard is not None:
            tell(guard, STOP)


def url_of(order: launch.Order) -> str:
    """Base address of the node that this order starts."""
    settings = launch.node_settings(order)
    secure = settings.get("xpack.security.http.ssl.enabled") is True
    return f"{'https' if secure else 'http'}://127.0.0.1:{order.http_port}"


def log_of(order: launch.Order) -> Path:
    """Where the node's output goes."""
    return order.folder / "logs" / "console.log"


def spawn_order(order: launch.Order, *, remove: Path | None = None, stays: bool = False) -> dict[str, Any]:
    """What the guard is told. `remove` is a folder to delete if this process dies; a node that `stays`
    may outlive the guard, once it is told so."""
    return {
        "command": launch.command(order),
        "environment": launch.environment(order),
        "cwd": str(order.home),
        "user": node_user(),
        "log": str(log_of(order)),
        "remove": None if remove is None else str(remove),
        "stays": stays,
    }


def plan(
    name: str,
    folder: Path,
    settings: Engine,
    *,
    port: int | None = None,
    heap: str = "384m",
    config: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, str] | None = None,
    on_progress: OnProgress | None = None,
) -> launch.Order:
    """Everything before the start: fetch, find a Java, choose ports, write the node's folder (data in it stays)."""
    entry, config = distribution(name), dict(config or {})
    if sys.platform == "win32":
        raise EngineError("real nodes are started on Linux and macOS only; on Windows use WSL")
    ports = [config.get("http.port") or port, config.get("transport.port")]
    for given in ports:
        if isinstance(given, int):
            ready.check_port(given)
    java = find_java(entry, settings, cache_folder(settings))
    home = fetch(entry, settings, on_progress)
    if entry.thai_jar is not None and not java.thai:
        home = without_thai(home, entry.thai_jar)
    http_port, transport_port = (given if isinstance(given, int) else ready.free_port() for given in ports)
    order = launch.Order(
        entry, home, java.executable, java.home, folder, http_port, transport_port, heap, config, files or {}
    )
    _write_folder(order)
    return order


def _write_folder(order: launch.Order) -> None:
    user = node_user()
    closed = closed_folder(order.folder.parent, user)
    if closed is not None:
        raise EngineError(
            f"user {NOBODY}, as which root starts the node, cannot reach {order.folder} because {closed} is closed; "
            "set TMPDIR (or engine.cache_dir for a background node) to an open folder"
        )
    for part in ("config", "data", "logs", "tmp"):
        (order.folder / part).mkdir(parents=True, exist_ok=True)
    for name, text in launch.node_files(order).items():
        path = order.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    log_of(order).write_bytes(b"")
    give_to(order.folder, user)


@contextmanager
def running_node(
    name: str = DEFAULT,
    settings: Engine | None = None,
    *,
    port: int | None = None,
    heap: str = "384m",
    config: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, str] | None = None,
    on_progress: OnProgress | None = None,
    wait: bool = True,
) -> Iterator[RunningNode]:
    """A temporary node, stopped and removed at the end of the block, also when this process is killed.

    port, heap   HTTP port (a free one if None) and Java heap (`384m`)
    config       keys of the node's own settings file; they win over ours, None removes one of ours
    files        further files of its config folder, name → text: `users`, `roles.yml`, PEM files
    wait         False returns right after the start, for nodes that wait for each other; see `wait_ready`
    Raises       EngineError saying what to do: no Java, no space, port taken, checksum wrong, download refused
    """
    folder = Path(tempfile.mkdtemp(prefix="sidecar-node-")).resolve()
    try:
        order = plan(
            name,
            folder,
            settings or Engine(),
            port=port,
            heap=heap,
            config=config,
            files=files,
            on_progress=on_progress,
        )
        node = RunningNode(order)
        try:
            node.start()
            if wait:
                node.wait_ready()
            yield node
        finally:
            node.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
