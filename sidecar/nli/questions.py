"""What the head is asked, and what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadQuestion:
    """A text and the labels to score it between; each label becomes one hypothesis."""

    id: str
    premise: str
    hypotheses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeadAnswer:
    """The entailment of each label.

    entailment     softmax over the model's classes, per label, in [0, 1]
    probabilities  the same, renormalised over the question's labels
    premise_cut    (tokens used, tokens given), None where the whole premise was read
    """

    entailment: tuple[float, ...]
    probabilities: tuple[float, ...]
    premise_cut: tuple[int, int] | None = None
