"""`sidecar node start|stop|status`: a real node in the background, without containers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from sidecar.cli.options import settings_options
from sidecar.engine.background import BackgroundNode, background_nodes, start_background, stop_background
from sidecar.engine.distribution import DEFAULT, DISTRIBUTIONS
from sidecar.engine.download import OnProgress
from sidecar.settings import Loaded

NONE_RUNS = 3
"""Exit status of `status` when no node runs, as with systemctl."""

_names = click.Choice(list(DISTRIBUTIONS))


@click.group()
def node() -> None:
    """Start and stop a real OpenSearch or Elasticsearch node on this machine, without containers."""


@node.command(
    help="Start a node in the background and wait until it answers.\n\n"
    f"NAME is {', '.join(DISTRIBUTIONS)}; without it {DEFAULT}. The first start downloads it and verifies its "
    "checksum. Documents are kept for the next start."
)
@click.argument("name", type=_names, default=DEFAULT, metavar="[NAME]")
@click.option("--port", type=click.IntRange(1, 65535), help="HTTP port; without it 9200, or any free one.")
@click.option("--heap", default="384m", show_default=True, help="Java heap, such as 384m or 2g.")
@settings_options()
def start(loaded: Loaded, name: str, port: int | None, heap: str) -> None:
    """Start a node in the background, or say where it runs already."""
    with progress_bar(DISTRIBUTIONS[name].title) as on_progress:
        settings = loaded.settings.engine
        running, is_new = start_background(name, settings, port=port, heap=heap, on_progress=on_progress)
    click.echo(f"{running.title} {'runs' if is_new else 'is already running'} at {running.url}")
    click.echo(_describe(running))


@node.command()
@click.argument("name", type=_names, required=False, metavar="[NAME]")
@settings_options()
def stop(loaded: Loaded, name: str | None) -> None:
    """Stop the node NAME, or all that `sidecar node start` started."""
    settings = loaded.settings.engine
    names = [name] if name else [running.name for running in background_nodes(settings)]
    stopped = [running for running in (stop_background(each, settings) for each in names) if running]
    for running in stopped:
        click.echo(f"{running.title} stopped; its documents stay in {running.folder}")
    if not stopped:
        click.echo(f"{name} is not running" if name else "no node is running")


@node.command()
@settings_options()
def status(loaded: Loaded) -> None:
    """Show the nodes in the background; exit status 3 when there is none."""
    running = list(background_nodes(loaded.settings.engine))
    for each in running:
        click.echo(f"{each.title} runs at {each.url}")
        click.echo(_describe(each))
    if not running:
        click.echo("no node is running; `sidecar node start` starts one")
        sys.exit(NONE_RUNS)


def _describe(running: BackgroundNode) -> str:
    lines = {"name": running.name, "pid": str(running.pid), "folder": running.folder}
    return "\n".join(f"  {key:<7} {value}" for key, value in lines.items())


@contextmanager
def progress_bar(title: str) -> Iterator[OnProgress]:
    """A bar on standard error for a download; nothing is shown until bytes arrive.

    Where standard error is no terminal one line says what is being downloaded.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(f"Downloading {title}", total=None, visible=False)
    announced = False

    def on_progress(received: int, total: int) -> None:
        nonlocal announced
        if not announced:
            announced = True
            if console.is_terminal:
                bar.start()
            else:
                click.echo(f"downloading {title}, {total / 2**20:.0f} MiB", err=True)
        bar.update(task, completed=received, total=total or None, visible=True)
        if received == total and bar.live.is_started:
            bar.stop()

    try:
        yield on_progress
    finally:
        if bar.live.is_started:  # stopping one that never started prints an empty line
            bar.stop()
