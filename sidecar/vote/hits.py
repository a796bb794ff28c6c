"""One hit of the node as a value: what the vote needs of a history document, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sidecar.terms import DocumentId, IndexName, JsonValue, Label, Scope
from sidecar.vote.labels import MISSING, Missing, read_label, read_path

HUMAN_FIELD: Final = "human"
SOURCE_FIELD: Final = "source"
TS_FIELD: Final = "ts"
"""Members of a history document whose names are fixed (decide.md section 8)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A history document that the node found.

    score      the engine's own `_score`
    label      None where the document has no usable label
    human      `human` is exactly JSON true
    source     the tier that wrote a cached document; None where the member is absent, null or no string
    ts         its text; a number (epoch milliseconds) as digits
    raw_label  what the label field holds, for the labels seen; None also where it is absent
    """

    id: DocumentId
    index: IndexName
    score: float
    label: Label | None
    human: bool = False
    source: str | None = None
    ts: str | None = None
    text: str | None = None
    raw_label: JsonValue = None

    @property
    def is_cached(self) -> bool:
        """A local answer written back, which no person has confirmed."""
        return self.source is not None and not self.human


def read_hit(raw: Mapping[str, JsonValue], scope: Scope) -> Hit:
    """Read a hit of a search response; any JSON in the document is read without an exception.

    `_source` is asked first. Where it cannot hold the value (field alias, synthetic or disabled source), `fields`
    is: its members are always lists, so a list of one there is that value.
    """
    source, fields = _object(raw.get("_source")), _object(raw.get("fields"))

    def read(path: str) -> JsonValue | Missing:
        # The whole path as a literal key is what `read_path` tries first; asked here because every hit comes by.
        value: JsonValue | Missing = source.get(path)
        if value is None and "." in path:
            value = read_path(source, path)
        if (value is None or value is MISSING) and fields:
            return _unwrap(read_path(fields, path))
        return value

    label, tier = read(scope.label_field), read(SOURCE_FIELD)
    text = _unwrap(read(scope.text_field))
    return Hit(
        id=DocumentId(_text(raw.get("_id"))),
        index=IndexName(_text(raw.get("_index"))),
        score=_score(raw.get("_score")),
        label=read_label(label),
        human=read(HUMAN_FIELD) is True,
        source=tier if isinstance(tier, str) else None,
        ts=_timestamp(read(TS_FIELD)),
        text=text if isinstance(text, str) else None,
        raw_label=None if isinstance(label, Missing) else label,
    )


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _unwrap(value: JsonValue | Missing) -> JsonValue | Missing:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _score(value: JsonValue) -> float:
    """The score of a search by relevance is a finite number; null stands for an order by something else."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            score = float(value)
        except OverflowError:
            return 0.0
        return score if math.isfinite(score) else 0.0
    return 0.0


def _timestamp(value: JsonValue | Missing) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    return read_label(value)
