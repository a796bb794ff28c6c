"""The vote itself: reciprocal ranks, summed by label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from sidecar.terms import Label, Neighbour, Vote
from sidecar.vote.hits import Hit
from sidecar.vote.ranking import Ranked

EQUAL_WEIGHT: Final = 1e-9
"""Label weights within this are equal: they are sums of a few reciprocals, summed in any order."""

HUGE: Final = 1e300
"""Human weights above this are summed in units of themselves: a few would add up to infinity."""


def tally(
    ranked: Ranked,
    human_weight: float,
    *,
    ties_cut: bool = False,
    terms_cut: bool = False,
    no_terms: bool = False,
) -> Vote:
    """Sum the ranked hits by label.

    human_weight  finite and > 0; multiplies the weight of a hit whose `human` is true
    Returns       shares in [0, 1], heaviest label first; a label that owns every neighbour has exactly 1.0
    """
    neighbours = tuple(
        _neighbour(place, hit, hit.label, human_weight)
        for place, hit in enumerate(ranked.hits, start=1)
        if hit.label is not None
    )
    return Vote(
        neighbours=neighbours,
        shares=_shares(neighbours, unit=human_weight if human_weight > HUGE else 1.0),
        found=ranked.found,
        unusable=ranked.unusable,
        ties_cut=ties_cut,
        terms_cut=terms_cut,
        no_terms=no_terms,
    )


def _neighbour(rank: int, hit: Hit, label: Label, human_weight: float) -> Neighbour:
    return Neighbour(
        id=hit.id,
        index=hit.index,
        label=label,
        score=hit.score,
        rank=rank,
        weight=(human_weight if hit.human else 1.0) / rank,
        human=hit.human,
        source=hit.source,
        ts=hit.ts,
        text=hit.text,
    )


def _shares(neighbours: Sequence[Neighbour], unit: float) -> dict[Label, float]:
    weights: dict[Label, list[float]] = {}
    for neighbour in neighbours:
        weights.setdefault(neighbour.label, []).append(neighbour.weight / unit)
    total = math.fsum(weight for part in weights.values() for weight in part)
    sums = {label: math.fsum(part) for label, part in weights.items()}
    return {label: min(1.0, sums[label] / total) for label in _heaviest_first(sums, EQUAL_WEIGHT / unit)}


def _heaviest_first(sums: dict[Label, float], equal: float) -> list[Label]:
    """Labels by weight; among equal ones the label of the better-ranked neighbour, which `sums` names first."""
    place = {label: index for index, label in enumerate(sums)}
    groups: list[list[Label]] = []
    for label in sorted(sums, key=lambda label: -sums[label]):
        if groups and sums[groups[-1][0]] - sums[label] <= equal:
            groups[-1].append(label)
        else:
            groups.append([label])
    return [label for group in groups for label in sorted(group, key=place.__getitem__)]
