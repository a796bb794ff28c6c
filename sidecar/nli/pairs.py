"""Pairs of premise and hypothesis as token ids: how the two are joined, what is cut, which pairs share a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Tokens: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around and between the two texts of a pair.

    types  the token type of each segment: before, premise, between, hypothesis, after
    """

    before: Tokens
    between: Tokens
    after: Tokens
    types: tuple[int, int, int, int, int]

    @property
    def n_special(self) -> int:
        """Tokens of a pair that belong to neither text."""
        return len(self.before) + len(self.between) + len(self.after)

    def join(self, premise: Sequence[int], hypothesis: Sequence[int]) -> Tokens:
        """The token ids of a pair."""
        return (*self.before, *premise, *self.between, *hypothesis, *self.after)

    def join_types(self, n_premise: int, n_hypothesis: int) -> Tokens:
        """The token types of a pair with texts of these lengths."""
        lengths = (len(self.before), n_premise, len(self.between), n_hypothesis, len(self.after))
        return tuple(kind for kind, n in zip(self.types, lengths, strict=True) for _ in range(n))


def find_frame(ids: Sequence[int], types: Sequence[int], sequences: Sequence[int | None]) -> Frame | None:
    """Read the frame off an encoded pair whose texts both gave tokens; None where it is no such sequence.

    sequences  for each token 0 (premise), 1 (hypothesis) or None (special)
    """
    premise = [place for place, sequence in enumerate(sequences) if sequence == 0]
    hypothesis = [place for place, sequence in enumerate(sequences) if sequence == 1]
    if not premise or not hypothesis or premise[-1] > hypothesis[0]:
        return None
    borders = (0, premise[0], premise[-1] + 1, hypothesis[0], hypothesis[-1] + 1, len(ids))
    segments = [slice(*pair) for pair in pairwise(borders)]
    kinds = [set(types[segment]) for segment in segments]
    if any(len(kind) > 1 for kind in kinds):
        return None
    before, _, between, _, after = (tuple(ids[segment]) for segment in segments)
    first, second, third, fourth, fifth = (next(iter(kind), 0) for kind in kinds)
    return Frame(before, between, after, (first, second, third, fourth, fifth))


def premise_room(limit: int, frame: Frame, n_hypothesis: int) -> int:
    """Tokens of a premise that fit beside a hypothesis; below 1 there is no room."""
    return limit - frame.n_special - n_hypothesis


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """One row of a batch. Ordered by length first, then by content: never by who asked."""

    length: int
    ids: Tokens
    types: Tokens


def batches(pairs: Iterable[Pair], max_tokens: int) -> Iterator[list[Pair]]:
    """Distinct pairs in batches of equal length, so that nothing is padded, each of at most `max_tokens` tokens.

    The order of the pairs does not matter: the same set gives the same batches. A pair above `max_tokens` is alone.
    """
    batch: list[Pair] = []
    for pair in sorted(set(pairs)):
        if batch and (pair.length != batch[0].length or (len(batch) + 1) * pair.length > max_tokens):
            yield batch
            batch = []
        batch.append(pair)
    if batch:
        yield batch
