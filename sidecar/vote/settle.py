"""Numbers as they are served: six decimals, and everything derived from the rounded ones (wire.md 3.2, 3.3).

Arithmetic is in whole millionths, so that no float artefact decides a sixth decimal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeVar

K = TypeVar("K")

ONE: Final = 1_000_000
"""Millionths in a probability of 1."""

NOISE: Final = 1e-6
"""Part of a millionth by which a float may miss the number it stands for: (1 - 0.8) * 1e6 is below 200,000."""

EQUAL: Final = 1e-9
"""Probabilities within this are equal when the winner is looked for."""


def settle(distribution: Mapping[K, float], winner: K | None = None) -> dict[K, float]:
    """Floor to six decimals and give the remainder to the winner: the sum is 1 and the arg-max stands.

    distribution  not empty, each value >= 0, at least one of them > 0; normalised first (a head's sum is float32)
    winner        who wins among equals; without it, or if it is not among the heaviest, the first of those
    """
    total = math.fsum(distribution.values())
    if not 0 < total < math.inf:
        raise ValueError("a distribution needs a positive, finite sum")
    top = max(distribution.values())
    heaviest = [key for key, value in distribution.items() if (top - value) / total <= EQUAL]
    receiver = winner if winner is not None and winner in heaviest else heaviest[0]
    millionths = {key: math.floor(value / total * ONE + NOISE) for key, value in distribution.items()}
    millionths[receiver] += ONE - sum(millionths.values())
    return {key: value / ONE for key, value in millionths.items()}


def settle_levels(distribution: Sequence[float], winner: int | None = None) -> list[float]:
    """`settle` for a score's levels, in order."""
    return list(settle(dict(enumerate(distribution)), winner).values())


def arg_max(probabilities: Mapping[K, float], winner: K | None = None) -> K:
    """The choice: a maximum of the served numbers; of equal ones `winner`, else the first."""
    top = max(probabilities.values())
    if winner is not None and probabilities.get(winner) == top:
        return winner
    return next(key for key, value in probabilities.items() if value == top)


def choice_confidence(probabilities: Sequence[float]) -> float:
    """(m - 1/n) / (1 - 1/n) of the served probabilities with top m; 1 when n = 1."""
    n = len(probabilities)
    if n == 1:
        return 1.0
    top = max(_millionths(probabilities))
    return _six(Fraction(top * n - ONE, ONE * (n - 1)))


def score_confidence(probabilities: Sequence[float]) -> float:
    """max(0, 1 - sum p_i |i - k| / D) of the served probabilities; k the first mode, D the spread of no knowledge."""
    n = len(probabilities)
    if n == 1:
        return 1.0
    parts = _millionths(probabilities)
    mode = parts.index(max(parts))
    distance = Fraction(sum(part * abs(level - mode) for level, part in enumerate(parts)), ONE)
    even = Fraction(sum(abs(2 * level - (n - 1)) for level in range(n)), 2 * n)
    return _six(1 - distance / even)


def expected_level(probabilities: Sequence[float]) -> float:
    """The score: the sum of i * p_i over the served probabilities, in [0, n - 1]."""
    parts = _millionths(probabilities)
    total = sum(level * part for level, part in enumerate(parts))
    return min(total, (len(parts) - 1) * ONE) / ONE


def _millionths(probabilities: Sequence[float]) -> list[int]:
    return [round(value * ONE) for value in probabilities]


def _six(value: Fraction) -> float:
    """Clamped and rounded, halves to even."""
    return round(min(Fraction(1), max(Fraction(0), value)) * ONE) / ONE
