"""One JSON object per line on standard output; everything else on standard error."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


class Results:
    """Collects the figures of one benchmark and keeps them under `benchmarks/results/NAME.jsonl`."""

    def __init__(self, benchmark: str) -> None:
        self._file = RESULTS / f"{benchmark}.jsonl"
        self._lines: list[str] = []

    def add(self, name: str, value: float, unit: str, against: str, n: int) -> None:
        """Print one figure."""
        line = json.dumps({"name": name, "value": value, "unit": unit, "against": against, "n": n})
        self._lines.append(line)
        print(line, flush=True)

    def keep(self) -> None:
        """Write the figures with commit and machine to the results folder."""
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
        about = {
            "commit": commit.stdout.strip() or "unknown",
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.machine()}, {_cores()} cores, Python {platform.python_version()}",
        }
        RESULTS.mkdir(exist_ok=True)
        self._file.write_text("\n".join([json.dumps({"run": about}), *self._lines]) + "\n", encoding="utf-8")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def say(text: str) -> None:
    """A line for the person who waits."""
    print(text, file=sys.stderr, flush=True)
