"""The labelled sets of the measurements, with their fixed splits."""

from __future__ import annotations

import csv
import os
import random
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("SIDECAR_TEST_DATA", Path(__file__).parents[1] / ".." / "shared" / "data")).resolve()


@dataclass(frozen=True)
class Row:
    """One labelled text."""

    text: str
    label: str


def read_rows(name: str, split: str | None = None) -> list[Row]:
    """All rows of a set in file order, or those of one split."""
    path = DATA / f"{name}.csv"
    if not path.is_file():
        raise SystemExit(f"{path} is missing: put the labelled sets there or point SIDECAR_TEST_DATA at their folder")
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(row["text"], row["label"]) for row in csv.DictReader(file) if split in (None, row["split"])]


def _shuffled(rows: list[Row], seed: int) -> list[Row]:
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    return rows


def banking77() -> tuple[list[Row], list[Row]]:
    """History = train rows; test = the shuffled test rows, all 3,080 (the first 1,000 are the usual ones)."""
    return read_rows("banking77", "train"), _shuffled(read_rows("banking77", "test"), 11)


def sms_spam() -> tuple[list[Row], list[Row]]:
    """History = the first 4,000 shuffled rows; test = the next 1,000."""
    rows = _shuffled(read_rows("sms_spam"), 7)
    return rows[:4000], rows[4000:5000]
