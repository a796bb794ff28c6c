"""`make demo` in another terminal, which the pages take for granted, and a user's shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.engine import free_port

DEMO_LIMIT_S = 180
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Ports:
    """Documented ports and those really used."""

    used: Mapping[str, int] = field(default_factory=dict)

    def applied(self, text: str) -> str:
        """A text with the ports replaced."""
        for documented, real in self.used.items():
            text = text.replace(documented, str(real))
        return text


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A user's shell: `sidecar` on the path, loopback without a proxy, none of our settings."""
    ours = ("SIDECAR_", "XERJ_", "TYPESAFE_", "JEV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    loopback = "127.0.0.1,localhost"
    path = f"{BIN}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"NO_PROXY": loopback, "no_proxy": loopback, "PATH": path, "COLUMNS": "120"} | dict(more or {})


@contextmanager
def running_demo(folder: Path) -> Iterator[Ports]:
    """`sidecar demo`, as `make demo` runs it, on free ports, until the end of the block."""
    port, native_port, log = free_port(), free_port(), folder / "demo.log"
    command = [str(BIN / "sidecar"), "demo", "--port", str(port), "--native-port", str(native_port)]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment()) as demo:
        try:
            deadline = time.monotonic() + DEMO_LIMIT_S
            while "Running until Ctrl-C" not in log.read_text(encoding="utf-8"):
                assert demo.poll() is None, f"the demo ended with {demo.returncode}:\n{log.read_text()}"
                assert time.monotonic() < deadline, f"the demo did not come to its end:\n{log.read_text()}"
                time.sleep(0.1)
            yield Ports({"9201": port, "9202": native_port})
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(timeout=60)
