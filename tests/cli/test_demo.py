"""`sidecar demo --once` on a real node: every step does what it says, and nothing is left behind."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from sidecar.cli.demo import CLEAR, NEAR_MISS, QUEUES


def _processes_that_mention(text: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if text in line]


def demo_rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("sidecar") / "demo" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the node's unprivileged user may pass through, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_demo_tells_its_story_and_leaves_nothing(open_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "demo", "--once", "--port", "0", "--native-port", "0"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "TMPDIR": str(open_folder), "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("curl -s -X") == 5
    assert "every step did what it said" in done.stdout
    assert not list(open_folder.iterdir())
    assert not _processes_that_mention(str(open_folder))


def test_demo_history_is_worth_showing() -> None:
    rows = demo_rows("history.csv")
    counts = Counter(row["label"] for row in rows)
    assert len(rows) >= 300
    assert set(counts) == set(QUEUES)
    assert min(counts.values()) >= 30
    assert len({row["text"] for row in rows}) == len(rows)


@pytest.mark.parametrize("text", [CLEAR, NEAR_MISS], ids=["clear", "near miss"])
def test_demo_asks_about_messages_that_history_does_not_hold(text: str) -> None:
    assert text not in {row["text"] for row in demo_rows("history.csv")}
