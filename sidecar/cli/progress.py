"""Progress bars, always on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from sidecar.engine.download import OnProgress


def byte_progress(console: Console) -> Progress:
    """A bar that counts bytes."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console
    )


@contextmanager
def download_bar(title: str) -> Iterator[OnProgress]:
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
