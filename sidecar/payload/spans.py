"""Code spans: where the prose of a question quotes something."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_PATH_CHARS = 256
"""Longer spans are quoted code, not paths (contract, section 4, step 1)."""

_BACKTICKS = re.compile("`+")


@dataclass(frozen=True, slots=True)
class Span:
    """One code span, trimmed, never empty. `is_code`: too long or more than one line, hence never a path."""

    text: str
    is_code: bool


def find_spans(text: str) -> list[Span]:
    """Return the code spans of one string, in order, repeats included.

    A run of n backticks opens a span that the next run of exactly n closes; a run that nothing closes is
    literal, and so is whatever stands between the two that do. Spans of nothing but white space are left out.
    Cost  O(len(text)): each run knows its closer beforehand, so unpaired runs are not searched for again
    """
    runs = [run.span() for run in _BACKTICKS.finditer(text)]
    closers = _closers([end - start for start, end in runs])
    spans = []
    at = 0
    while at < len(runs):
        closer = closers[at]
        if closer is None:
            at += 1
            continue
        content = text[runs[at][1] : runs[closer][0]].strip()
        if content:
            spans.append(Span(content, _is_code(content)))
        at = closer + 1
    return spans


def _closers(lengths: list[int]) -> list[int | None]:
    """For each run the index of the next run of the same length."""
    closers: list[int | None] = [None] * len(lengths)
    nearest: dict[int, int] = {}
    for at in range(len(lengths) - 1, -1, -1):
        closers[at] = nearest.get(lengths[at])
        nearest[lengths[at]] = at
    return closers


def _is_code(content: str) -> bool:
    return len(content) > MAX_PATH_CHARS or len(content.splitlines()) > 1
