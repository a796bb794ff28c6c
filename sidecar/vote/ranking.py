"""Who votes, and in which order: a total order of the hits, then the first k that may vote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from sidecar.vote.hits import Hit

TIE_DISTANCE: Final = 1e-6
"""Scores nearer than this, relative to the first of their group, are equal: `_score` is a float32."""

NOT: Final = "not "

_by_score = attrgetter("score")


@dataclass(frozen=True, slots=True)
class Ballot:
    """Which labels a question itself names; decides only where cached `not X` documents vote (decide.md section 8).

    own    the question's options, levels or positive label
    about  the label that a noul or `/_decide` asks about; None for a choice or score
    """

    own: frozenset[str]
    about: str | None = None

    @classmethod
    def for_positive(cls, positive: str) -> Ballot:
        """Of a noul, or of `/_decide`."""
        return cls(own=frozenset((positive,)), about=positive)

    @classmethod
    def for_labels(cls, labels: Iterable[str]) -> Ballot:
        """Of a choice (its options) or a score (its string levels)."""
        return cls(own=frozenset(labels))

    def admits(self, hit: Hit) -> bool:
        """Whether the hit may vote here."""
        if hit.label is None:
            return False
        if not hit.is_cached or not hit.label.startswith(NOT):
            return True
        return hit.label in self.own or (self.about is not None and hit.label == NOT + self.about)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The hits that vote, best first, at most k of them.

    found     hits walked up to the k-th usable one
    unusable  those of them that may not vote: without a label, or a cached `not X` of another question
    """

    hits: tuple[Hit, ...]
    found: int
    unusable: int


def order_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Descending score; within a group of equal scores a person's documents first, then `_id`, then `_index`.

    A group is measured against its first hit, not its last, so that it cannot creep down the list.
    """
    return [hit for group in _tie_groups(hits) for hit in group]


def rank(hits: Iterable[Hit], k: int, ballot: Ballot) -> Ranked:
    """The first k hits that may vote; all others walked on the way are unusable."""
    chosen: list[Hit] = []
    found = 0
    for hit in order_hits(hits):
        if len(chosen) == k:
            break
        found += 1
        if ballot.admits(hit):
            chosen.append(hit)
    return Ranked(tuple(chosen), found, found - len(chosen))


def take_voters(hits: Iterable[Hit], k: int, ballots: Sequence[Ballot]) -> tuple[tuple[Hit, ...], bool]:
    """The hits that can vote under any of the ballots, and whether all that follow them cannot.

    hits  by descending score, as the node lists them; read no further than needed, since most are never looked at
    """
    taken: list[Hit] = []
    missing = [k] * len(ballots)
    last_voter = math.inf
    for hit in hits:
        if not any(missing) and last_voter - hit.score > 2 * TIE_DISTANCE * abs(last_voter):
            return tuple(taken), True
        taken.append(hit)
        for place, ballot in enumerate(ballots):
            if missing[place] and ballot.admits(hit):
                missing[place] -= 1
                last_voter = hit.score
    return tuple(taken), False


def needs_follow_up(hits: Sequence[Hit], k: int, ballot: Ballot, *, exhausted: bool) -> bool:
    """Whether a longer search may change who votes.

    exhausted  the node had no further hits: fewer came than were asked for
    """
    if exhausted:
        return False
    usable = sum(1 for hit in hits if ballot.admits(hit))
    return usable < k or _last_ties_with_kth(hits, k, ballot)


def ties_are_cut(hits: Sequence[Hit], k: int, ballot: Ballot, *, exhausted: bool) -> bool:
    """Whether, after the follow-up, hits beyond the last fetched one may still tie with the k-th."""
    return not exhausted and _last_ties_with_kth(hits, k, ballot)


def _last_ties_with_kth(hits: Sequence[Hit], k: int, ballot: Ballot) -> bool:
    scores = sorted((hit.score for hit in hits if ballot.admits(hit)), reverse=True)
    if len(scores) < k or scores[k - 1] - min(hit.score for hit in hits) > 2 * TIE_DISTANCE * abs(scores[k - 1]):
        return False  # too far apart for one group, whatever its first hit is
    usable_before = usable = 0
    for group in _tie_groups(hits):
        usable_before = usable
        usable += sum(1 for hit in group if ballot.admits(hit))
    return usable_before < k <= usable


def _tie_groups(hits: Iterable[Hit]) -> list[list[Hit]]:
    groups: list[list[Hit]] = []
    first = 0.0
    for hit in sorted(hits, key=_by_score, reverse=True):
        if groups and (hit.score == first or abs(first - hit.score) < TIE_DISTANCE * abs(first)):
            groups[-1].append(hit)
        else:
            groups.append([hit])
            first = hit.score
    for group in groups:
        if len(group) > 1:
            group.sort(key=_within_group)
    return groups


def _within_group(hit: Hit) -> tuple[bool, bytes, bytes]:
    return (not hit.human, sort_bytes(hit.id), sort_bytes(hit.index))


def sort_bytes(text: str) -> bytes:
    """UTF-8 bytes of a name, the order of names everywhere; a lone surrogate is no reason to fail."""
    return text.encode("utf-8", "surrogatepass")
