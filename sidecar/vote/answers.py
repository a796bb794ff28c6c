"""From shares to probabilities, by kind of question (decide.md section 5). Unrounded; `settle` rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from sidecar.terms import Label


def clamp(value: float) -> float:
    """Into [0, 1]: sums of floats may leave it by a hair."""
    return min(1.0, max(0.0, value))


def rounded(value: float) -> float:
    """As a probability, share or confidence leaves: clamped, six decimals."""
    return round(clamp(value), 6)


def noul_probability(shares: Mapping[Label, float], positive: str) -> float:
    """Support of the positive label, over all labelled weight."""
    return clamp(shares.get(Label(positive), 0.0))


def comparative(first_share: float, second_share: float) -> float:
    """How probable it is that the first-named side wins, from the positive share of each side's own vote."""
    return clamp(0.5 + (first_share - second_share) / 2)


def choice_distribution(shares: Mapping[Label, float], options: Sequence[str]) -> dict[str, float] | None:
    """Support of each option plus an even part of what other labels hold; None when no option carries weight.

    shares   of a vote, or corrected ones; heaviest first
    Returns  in the order of the options; the sum is 1 but for float noise
    """
    supports = [shares.get(Label(option), 0.0) for option in options]
    if not any(supports):
        return None
    if len(options) == 1:
        return {options[0]: 1.0}
    offered = set(options)
    outside = math.fsum(share for label, share in shares.items() if label not in offered)
    spread = outside / len(options)
    return {option: clamp(share + spread) for option, share in zip(options, supports, strict=True)}


def heaviest(shares: Mapping[Label, float], options: Iterable[str]) -> str | None:
    """The option that the vote prefers: of equal ones that of the better-ranked neighbour, as `shares` lists them."""
    offered = set(options)
    return next((str(label) for label, share in shares.items() if label in offered and share > 0), None)


def read_levels(
    labels: Iterable[Label], level_texts: Sequence[str | None], history_labels: frozenset[str] | None
) -> Mapping[str, int] | None:
    """Which level each label means: one reading for all, by text or by index, never mixed; None where neither fits.

    labels          of every neighbour; none is no reading
    level_texts     None for a level that is no string
    history_labels  all labels of the history, None where they could not be listed: then only by text
    """
    voted = set(labels)
    if not voted:
        return None
    texts = [text for text in level_texts if text is not None]
    by_text: dict[str, int] = {
        text: level for level, text in enumerate(level_texts) if text is not None and texts.count(text) == 1
    }
    if voted <= by_text.keys():
        return MappingProxyType(by_text)
    by_index = {str(level): level for level in range(len(level_texts))}
    if history_labels is not None and "0" in history_labels and voted | history_labels <= by_index.keys():
        return MappingProxyType(by_index)
    return None


def score_distribution(
    shares: Mapping[Label, float], level_texts: Sequence[str | None], history_labels: frozenset[str] | None
) -> list[float] | None:
    """The probability of each level, or None where the labels cannot be read as levels."""
    reading = read_levels(shares, level_texts, history_labels)
    if reading is None:
        return None
    if len(level_texts) == 1:
        return [1.0]
    levels = [0.0] * len(level_texts)
    for label, share in shares.items():
        levels[reading[label]] = clamp(share)  # every label is a level: nothing is left to spread
    return levels
