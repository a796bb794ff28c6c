"""Short ways to say a hit and a vote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sidecar.terms import DocumentId, IndexName, Label, Scope, Vote
from sidecar.vote import Ballot, Hit, rank, tally

SCOPE = Scope(index=IndexName("cases"), text_field="text", label_field="label")
SPAM = Ballot.for_positive("spam")


def hit(id: str, label: str | None = "a", score: float = 1.0, **more: Any) -> Hit:
    index = IndexName(more.pop("index", "cases"))
    return Hit(DocumentId(id), index, score, None if label is None else Label(label), **more)


def ladder(labels: Iterable[str | None], **more: Any) -> list[Hit]:
    """Hits of clearly falling scores; a label that ends with `*` is a person's."""
    return [
        hit(
            f"{place:03}",
            label.rstrip("*") if label else None,
            1000.0 - place,
            human=bool(label and label.endswith("*")),
            **more,
        )
        for place, label in enumerate(labels, start=1)
    ]


def vote(labels: Iterable[str | None], k: int = 10, human_weight: float = 2.0, ballot: Ballot = SPAM) -> Vote:
    return tally(rank(ladder(labels), k, ballot), human_weight)
