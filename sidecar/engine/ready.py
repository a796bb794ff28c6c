"""Ports that are free, and waiting until a node answers."""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from sidecar.errors import EngineError

START_LIMIT_S = 240.0
"""A node is up in 4 to 9 s on an idle machine; three at once on two busy cores took 25 s."""

_LOOK_S = 0.1
_ANSWER_S = 40.0  # above the timeouts that we ask the node for
_PORTS = range(20_000, 32_000)  # below what systems hand out for outgoing connections, which would race with us
_TAKEN = ("BindHttpException", "BindTransportException", "Address already in use")


def free_port() -> int:
    """A port of the loopback address that nobody listens on now."""
    for port in random.sample(_PORTS, 200):
        if is_free(port):
            return port
    raise EngineError(f"no free port between {_PORTS.start} and {_PORTS.stop}; stop some programs")


def is_free(port: int) -> bool:
    """True when a node could listen on this port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def check_port(port: int) -> None:
    """EngineError when the port is taken."""
    if not is_free(port):
        raise EngineError(f"port {port} is taken by another program; stop it or choose another port")


def wait_ready(url: str, title: str, is_running: Callable[[], bool], log: Path, limit_s: float) -> None:
    """Wait until the cluster answers; EngineError with the end of the node's log when it ends or takes too long.

    An answer of 401 counts: security is on and the node enforces it.
    Documents of an earlier start are there too, unless a copy of them is missing or takes over 30 s to open.
    """
    deadline = time.monotonic() + limit_s
    while _status(f"{url}/_cluster/health") not in (200, 401):
        if not is_running():
            raise EngineError(explain_end(title, log))
        if time.monotonic() > deadline:
            raise EngineError(f"{title} was not ready within {limit_s:.0f} s; its log ends with:\n{tail(log)}")
        time.sleep(_LOOK_S)
    # The first 200 may come before the shards on disk are opened. 408 means red for good: the user's to judge.
    _status(f"{url}/_cluster/health?wait_for_status=yellow&timeout=30s")


def _status(url: str) -> int | None:
    # The node is on this machine: no proxy, and a certificate made for a test is not the question here.
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting))
    try:
        with opener.open(url, timeout=_ANSWER_S) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except (OSError, http.client.HTTPException):
        return None


def explain_end(title: str, log: Path) -> str:
    """Why a node ended by itself, from its log."""
    end = tail(log)
    if any(mark in end for mark in _TAKEN):
        return f"{title} could not start because its port was taken in the meantime; start it again"
    if "insufficient memory" in end or "Cannot allocate memory" in end or "OutOfMemoryError" in end:
        return f"{title} could not start for lack of memory; free some or ask for another heap; its log:\n{end}"
    return f"{title} ended by itself; its log ends with:\n{end}"


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log that may tell what is wrong, each cut to 300 characters: no stack frames, no progress."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    kept = [line[:300] for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    telling = [line for line in kept if "][INFO" not in line]
    return "\n".join((telling or kept)[-lines:]) or "(an empty log)"
