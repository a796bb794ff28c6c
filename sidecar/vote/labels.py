"""What counts as a label, and where in a document it lies (decide.md section 5, Labels)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Final

from sidecar.terms import JsonValue, Label

SHOWN_CHARS: Final = 80
"""A label seen is shown up to this length: long enough to recognise, short enough for a message."""


class Missing(Enum):
    """Type of the one value that says: the document has no such member."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def read_path(source: Mapping[str, JsonValue], path: str) -> JsonValue | Missing:
    """Read a dotted path: through nested objects, literal keys with dots, or both mixed.

    The longest literal key is tried first. A null counts as a last resort, as it does in the index.
    """
    key, rest = path, ""
    found: JsonValue | Missing = MISSING
    while key:
        value = source.get(key, MISSING)
        if rest and value is not MISSING:
            value = read_path(value, rest) if isinstance(value, Mapping) else MISSING
        if value is not MISSING and value is not None:
            return value
        found = value if found is MISSING else found
        key = key.rpartition(".")[0]
        rest = path[len(key) + 1 :]
    return found


def read_label(value: JsonValue | Missing) -> Label | None:
    """The text form of a usable label, None of anything else; a list of one such value counts as that value."""
    if isinstance(value, str):
        return Label(value) if value.strip() else None
    if isinstance(value, list):
        return _scalar_label(value[0]) if len(value) == 1 else None
    return _scalar_label(value)


def _scalar_label(value: JsonValue | Missing) -> Label | None:
    if isinstance(value, str):
        return Label(value) if value.strip() else None
    if isinstance(value, bool):
        return Label("true" if value else "false")
    if isinstance(value, int):
        return _integer_label(value)
    if isinstance(value, float) and value.is_integer():
        # By its shortest decimal form, so that 1e23 is a one with 23 zeros, as written, not 2**53's neighbour.
        return _integer_label(int(Decimal(repr(value))))
    return None


def _integer_label(value: int) -> Label | None:
    try:
        return Label(str(value))
    except ValueError:  # more digits than Python converts (4,300): nobody's label
        return None


def labels_seen(raw_labels: Iterable[JsonValue | Missing], limit: int = 5) -> list[str]:
    """Up to `limit` distinct values of the label field, JSON-escaped so that a stray `\\r` can be seen."""
    shown: dict[str, None] = {}
    for raw in raw_labels:
        if raw is not MISSING and raw is not None:
            shown.setdefault(_escape(raw))
        if len(shown) == limit:
            break
    return list(shown)


def _escape(value: JsonValue) -> str:
    if isinstance(value, str):
        value = value if len(value) <= SHOWN_CHARS else value[:SHOWN_CHARS] + "…"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"
    text = text if len(text) <= 2 * SHOWN_CHARS else text[: 2 * SHOWN_CHARS] + "…"
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
