"""Progress bars, always on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


def byte_progress(console: Console) -> Progress:
    """A bar that counts bytes."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console
    )


@contextmanager
def download_progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    """A function (bytes received, bytes in all) that shows a bar from its first call on."""
    with byte_progress(console) as progress:
        tasks: list[TaskID] = []

        def on_progress(received: int, total: int) -> None:
            if not tasks:
                tasks.append(progress.add_task("downloading", total=total))
            progress.update(tasks[0], completed=received, total=total)

        yield on_progress
