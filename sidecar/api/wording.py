"""How a caller's own names appear in messages: short, quoted, escaped."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

SHOWN_CHARS = 100


def clipped(name: str, chars: int = SHOWN_CHARS) -> str:
    """The name, cut to a length that a message can carry."""
    return name if len(name) <= chars else name[: chars - 1] + "…"


def quoted(name: str) -> str:
    """The name as a JSON string, so that a stray control character or blank is visible."""
    return json.dumps(clipped(name), ensure_ascii=False)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that looks most like the given one, whatever the case of its letters."""
    return difflib.get_close_matches(clipped(name).casefold(), list(known), n=1, cutoff=0.0)[0]
