"""`sidecar node start|stop|status`: a real node in the background, without containers."""

from __future__ import annotations

import sys

import click

from sidecar.cli.options import settings_options
from sidecar.cli.progress import download_bar
from sidecar.engine.background import BackgroundNode, background_nodes, start_background, stop_background
from sidecar.engine.distribution import DEFAULT, DISTRIBUTIONS
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
    with download_bar(DISTRIBUTIONS[name].title) as on_progress:
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
