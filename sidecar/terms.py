"""Words that every room shares: frozen values, no behaviour beyond what the word itself means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, TypeAlias

IndexName = NewType("IndexName", str)
Label = NewType("Label", str)
DocumentId = NewType("DocumentId", str)
QuestionId = NewType("QuestionId", str)

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"
"""A parsed JSON value."""

JsonObject: TypeAlias = "dict[str, JsonValue]"
"""A parsed JSON object."""

HISTORY_MODEL = "xerj-history-vote-1"
LOCAL_MODEL = "xerj-decide-local-1"


class Tier(StrEnum):
    """Who answered."""

    HISTORY = "history"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class NoulQuestion:
    """How probable is yes. `criteria` never contributes text and is not kept."""

    id: QuestionId
    instructions: JsonValue


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """Which one of the named options. Option order is the caller's."""

    id: QuestionId
    instructions: JsonValue
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """Which level of an ordered scale; `levels` are the descriptions, unchanged."""

    id: QuestionId
    instructions: JsonValue
    levels: tuple[JsonValue, ...]


Question: TypeAlias = NoulQuestion | ChoiceQuestion | ScoreQuestion


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents of an index may vote, and by which of their fields.

    filter  canonical JSON text of a native query clause, or None; text, so that scopes can be compared
    """

    index: IndexName
    text_field: str
    label_field: str
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A labelled hit that voted.

    rank    1..k, after unusable hits are removed
    weight  1/rank, times the human weight where `human` is true
    score   the engine's own `_score`
    source  the tier that wrote a cached document, None for a document of the user's
    """

    id: DocumentId
    index: IndexName
    label: Label
    score: float
    rank: int
    weight: float
    human: bool
    source: str | None
    ts: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Vote:
    """Neighbours summed by label.

    shares    support of every label seen, in [0, 1], heaviest first; empty when nothing voted
    found     hits walked up to the k-th usable one; found = len(neighbours) + unusable
    """

    neighbours: tuple[Neighbour, ...]
    shares: Mapping[Label, float]
    found: int
    unusable: int
    ties_cut: bool = False
    terms_cut: bool = False
    no_terms: bool = False

    @property
    def winner(self) -> Label | None:
        """The heaviest label, None when nothing voted."""
        return next(iter(self.shares), None)

    @property
    def voted(self) -> int:
        """How many neighbours voted."""
        return len(self.neighbours)

    def support(self, label: str) -> float:
        """The label's share of all labelled vote weight, in [0, 1]."""
        return self.shares.get(Label(label), 0.0)


@dataclass(frozen=True, slots=True)
class References:
    """The code spans behind a vote text, each list in order of first appearance.

    used     paths whose text is in the vote text
    skipped  paths that resolved and gave no text: objects, arrays, numbers, booleans, nulls, blank strings
    ignored  code: quoted, and no path
    """

    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
