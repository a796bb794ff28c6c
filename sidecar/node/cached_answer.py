"""A local answer in the form in which a history keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import xxhash

from sidecar.node.load import assign, history_mapping
from sidecar.terms import JsonObject
from sidecar.vote import HUMAN_FIELD, SOURCE_FIELD

P_FIELD, TS_FIELD = "p", "ts"
OWN_MEMBERS = frozenset({P_FIELD, SOURCE_FIELD, TS_FIELD, HUMAN_FIELD})
"""Members with a meaning of their own; a text or label that lives there cannot be stored."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A local answer as it is stored.

    p              served probability of the label, in [0, 1]
    ts             RFC 3339 with milliseconds and Z
    history_label  label field of the history itself; where the answer's own differs, the id must know it
    """

    text: str
    label: str
    p: float
    source: str
    ts: str
    text_field: str
    label_field: str
    history_label: str

    @property
    def id(self) -> str:
        """`decide-` + xxh3-128 of the text (of label field, NUL, text for a label field of its own), in hex."""
        key = self.text if self.label_field == self.history_label else f"{self.label_field}\0{self.text}"
        return "decide-" + xxhash.xxh3_128_hexdigest(key.encode())

    def document(self) -> JsonObject:
        """The members that are stored, and nothing else."""
        document: JsonObject = {P_FIELD: self.p, SOURCE_FIELD: self.source, TS_FIELD: self.ts}
        assign(document, self.text_field, self.text)
        assign(document, self.label_field, self.label)
        return document


def can_hold(text_field: str, label_field: str) -> bool:
    """Whether text and label have places of their own beside the other members."""
    heads = {text_field.partition(".")[0], label_field.partition(".")[0]}
    nested = f"{text_field}.".startswith(f"{label_field}.") or f"{label_field}.".startswith(f"{text_field}.")
    return not heads & OWN_MEMBERS and not nested


def mapping_of(answers: Iterable[CachedAnswer]) -> JsonObject:
    """The mapping of an index that begins with these answers: every label field named, the history's own among them."""
    merged: JsonObject = {}
    for answer in answers:
        for label_field in (answer.history_label, answer.label_field):
            if can_hold(answer.text_field, label_field):
                _merge(merged, history_mapping(answer.text_field, label_field))
    return merged


def _merge(into: JsonObject, more: JsonObject) -> None:
    for name, value in more.items():
        present = into.setdefault(name, value)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
