"""A small process between us and a node, so that no node outlives us: run as a script, standard library only.

It reads one JSON line from standard input (command, environment, folder, user, …), starts the node in a session of
its own, answers one JSON line with the node's pid, and then watches three things: the node, the pipe from its parent
and the parent itself. When the parent asks for a stop or is gone, however it died, the node is stopped.
A node that is meant to stay is watched like any other until its parent has noted it down and says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

STOP, STAY = b"stop\n", b"stay\n"
"""What a parent writes before it closes the pipe; a pipe that closes without either means that the parent crashed."""

GRACE_S = 20.0
"""Time that a node has between SIGTERM and SIGKILL; a healthy one takes 0.1 to 0.3 s."""

_LOOK_S = 0.25
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the process group led by `pid`; nothing happens when the group is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: the latter for a group of zombies
        os.killpg(pid, number)


def end_node(node: subprocess.Popen[bytes]) -> None:
    """SIGTERM, wait GRACE_S, then SIGKILL for the whole group; a paused node is woken first."""
    if node.poll() is None:
        node.send_signal(signal.SIGTERM)
        signal_group(node.pid, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            node.wait(GRACE_S)
    signal_group(node.pid, signal.SIGKILL)
    node.wait()


def watch(node: subprocess.Popen[bytes], parent: int) -> bytes | None:
    """What the parent said, None when the node ended by itself, empty when the parent is gone without a word."""
    said = b""
    while node.poll() is None:
        # A forked child of the parent may hold the pipe open after the parent's death: look at the parent too.
        if os.getppid() != parent:
            return b""
        readable, _, _ = select.select([0], [], [], _LOOK_S)
        if readable:
            got = os.read(0, 64)
            said += got
            if not got or said.endswith(b"\n"):
                return said
    return None


def die_with_guard() -> Callable[[], None] | None:
    """What the node's process does before it becomes Java: on Linux, ask to be killed when the guard is killed."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    return ask


def start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    """Start the node; OSError where that is impossible."""
    user = order["user"]
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    with open(order["log"], "ab") as log:  # noqa: PTH123 - pathlib would double this script's start time
        return subprocess.Popen(
            order["command"],
            cwd=order["cwd"],
            env=order["environment"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=None if order["stays"] else die_with_guard(),
            **identity,
        )


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Start, report, watch, end. Exit status 1 when the node cannot be started."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _leave)
    parent = os.getppid()
    order = json.loads(_read_line())
    try:
        node = start(order)
    except (OSError, subprocess.SubprocessError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    said: bytes | None = b""
    try:
        print(json.dumps({"pid": node.pid}), flush=True)
        said = watch(node, parent)
    finally:
        if said == STAY:
            os._exit(0)  # without Python's own end, which would warn about the child that is meant to stay
        end_node(node)
        if said == b"" and order["remove"]:
            shutil.rmtree(order["remove"], ignore_errors=True)
    return 0


def _read_line() -> bytes:
    """One line, byte by byte: what follows it on the pipe belongs to `watch`."""
    line = b""
    while not line.endswith(b"\n"):
        got = os.read(0, 1)
        if not got:
            raise SystemExit(1)
        line += got
    return line


if __name__ == "__main__":
    sys.exit(main())
