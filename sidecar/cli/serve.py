"""`sidecar serve`: the transparent port and the decision surfaces."""

from __future__ import annotations

import asyncio
import gc
import signal

import click

from sidecar.app import Sidecar
from sidecar.cli.options import FLAGS, settings_options
from sidecar.logs import configure_logging
from sidecar.settings import Loaded


@click.command()
@settings_options(*FLAGS)
def serve(loaded: Loaded) -> None:
    """Start the sidecar in front of a node.

    The ES port passes everything to the node except /_decide, /v1/systemone and /v1/models, which it answers itself.
    The native port serves the same wire, /metrics and /health.
    """
    configure_logging()
    runner: type[asyncio.Runner] = asyncio.Runner
    with runner(loop_factory=_loop_factory()) as loop_runner:
        loop_runner.run(_serve(loaded))


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None  # no uvloop for this platform: the standard loop serves
    return uvloop.Loop


async def _serve(loaded: Loaded) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    sidecar = Sidecar(loaded.settings)
    try:
        await sidecar.start()
        click.echo(f"ES port      {sidecar.es_url}  (node: {loaded.settings.upstream.url})", err=True)
        click.echo(f"native port  {sidecar.native_url}", err=True)
        if loaded.settings.default() is None and not loaded.settings.histories:
            click.echo("no history is configured; /_decide needs an index, or start with --index NAME", err=True)
        # What is alive now lives until the end: keep the collector from walking it again and again. The thresholds
        # follow: a request's garbage is freed by reference counts, and large bodies would trigger full collections.
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        await stop.wait()
    finally:
        await sidecar.stop()
