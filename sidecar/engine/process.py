"""Processes by identity: a pid alone may be another program's by now, a pid with its start time may not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.engine.guard import GRACE_S, signal_group
from sidecar.errors import EngineError

_GUARD = Path(__file__).with_name("guard.py")
_LOOK_S = 0.05
_HAS_PROC = Path("/proc/self/stat").exists()  # Linux; macOS is asked through ps


def started_at(pid: int) -> str | None:
    """When the process started, as an opaque text to compare; None when it is gone or only a zombie."""
    if _HAS_PROC:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()  # the name before it may hold anything
        return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"
    done = subprocess.run(["ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True)
    state, _, start = done.stdout.strip().partition(" ")
    return start.strip() if start and not state.startswith("Z") else None


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that we started."""

    pid: int
    started: str

    @property
    def is_running(self) -> bool:
        """True while that very process lives."""
        return started_at(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, if it still is that process."""
        if self.is_running:
            signal_group(self.pid, number)

    def end(self) -> None:
        """SIGTERM, GRACE_S, SIGKILL for the whole group; returns when it is gone."""
        if not self.is_running:
            return
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        signal_group(self.pid, signal.SIGCONT)
        if not self.wait_gone(GRACE_S):
            signal_group(self.pid, signal.SIGKILL)
            self.wait_gone(GRACE_S)

    def wait_gone(self, limit_s: float) -> bool:
        """Wait until it is gone; False when it still runs after `limit_s` seconds."""
        deadline = time.monotonic() + limit_s
        while self.is_running:
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True


def spawn(order: Mapping[str, Any]) -> tuple[subprocess.Popen[bytes], Identity]:
    """Start a node behind a guard; returns the guard and the node. See `guard.py` for the order's keys.

    The guard has a session of its own, so Ctrl-C in a terminal reaches us and not the node in the middle of a write.
    """
    guard = subprocess.Popen(
        # -I: neither the caller's PYTHON* variables nor its working folder reach the guard.
        [sys.executable, "-I", str(_GUARD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    assert guard.stdin is not None
    assert guard.stdout is not None
    try:
        guard.stdin.write(json.dumps(order).encode() + b"\n")
        with guard.stdout:
            answer = _read_line(guard)
        if "pid" not in answer:
            raise EngineError(f"the node cannot be started: {answer.get('error', 'the guard process died')}")
        started = started_at(answer["pid"])
        return guard, Identity(answer["pid"], started or "gone")
    except BaseException:
        guard.stdin.close()
        guard.stdout.close()
        guard.wait(2 * GRACE_S)
        raise


def tell(guard: subprocess.Popen[bytes], word: bytes) -> None:
    """Say `STOP` or `STAY` to a guard and wait until it has done it; a guard that is gone already is fine."""
    assert guard.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        guard.stdin.write(word)
    guard.stdin.close()
    try:
        guard.wait(2 * GRACE_S)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def _read_line(guard: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert guard.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        got = guard.stdout.read(4096)
        if not got:
            return {}
        line += got
    answer = json.loads(line)
    assert isinstance(answer, dict)
    return answer
