"""A real node and a real sidecar process in front of it, for one benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.datasets import Row
from sidecar.engine import RunningNode, free_port, running_node
from sidecar.node import Case, connect, own_identity, prepare_index, refresh, store_cases
from sidecar.settings import Settings, Upstream


class Bench:
    """The node, the sidecar's address, and a way to fill an index."""

    def __init__(self, node: RunningNode, url: str, native_url: str) -> None:
        self.node = node
        self.url = url
        self.native_url = native_url

    async def load(self, index: str, rows: Sequence[Row]) -> None:
        """Fill an index with labelled rows, directly on the node."""
        settings = Settings(upstream=Upstream(url=self.node.url))
        scope = settings.of_index(index).scope()
        client = connect(settings.upstream, connections=2, timeout_s=120)
        try:
            own = own_identity(settings.upstream)
            await prepare_index(client, scope, own)
            cases = (Case(line, row.text, row.label) for line, row in enumerate(rows))
            async for stored in store_cases(client, scope, own, cases):
                if stored.outcome == "rejected":
                    raise SystemExit(f"row {stored.line} was rejected: {stored.reason}")
            total = await refresh(client, scope, own)
            if total != len(rows):
                raise SystemExit(f"{len(rows)} rows were sent to {index}, {total} are there")
        finally:
            await client.close()


@contextmanager
def running_bench(engine: str, *flags: str, heap: str = "1g") -> Iterator[Bench]:
    """Start a node and `sidecar serve` in front of it; stop both."""
    with running_node(engine, heap=heap) as node:
        port, native = free_port(), free_port()
        command = [sys.executable, "-m", "sidecar", "serve", "--upstream", node.url]
        command += ["--port", str(port), "--native-port", str(native), *flags]
        # Its log goes to a file: a pipe that nobody reads would stop it when full.
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(command, stderr=log, env=dict(os.environ)) as process,
        ):
            try:
                native_url = f"http://127.0.0.1:{native}"
                _wait_until_ready(process, f"{native_url}/health/ready")
                yield Bench(node, f"http://127.0.0.1:{port}", native_url)
            finally:
                process.terminate()
                process.wait(timeout=60)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise SystemExit(f"sidecar serve ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise SystemExit("sidecar serve did not become ready")
