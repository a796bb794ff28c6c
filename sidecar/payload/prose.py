"""Which leaves of the instructions are prose, and what their code spans mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sidecar.payload.grammar import is_json_number
from sidecar.payload.spans import Span, find_spans
from sidecar.payload.tree import Location, find_string, located_strings
from sidecar.terms import JsonValue


@dataclass(frozen=True, slots=True)
class Mention:
    """A span of the prose. `field` is the text of the instructions' own string that it names, if any."""

    span: Span
    field: str | None


def find_mentions(instructions: JsonValue) -> list[Mention]:
    """Return the distinct spans of the prose, in order of first appearance.

    A leaf that another leaf names is payload: it is not scanned, whatever the key order and whatever it
    contains. Of leaves that name each other, directly or in a ring, the first in document order is prose.
    A leaf is never its own payload: a span that names only the leaf it stands in has no `field`.
    """
    leaves = list(located_strings(instructions))
    spans = [find_spans(text) for _, text in leaves]
    if not any(spans):
        return []
    targets = _targets(instructions, [location for location, _ in leaves], spans)
    mentions: dict[str, Mention] = {}
    for leaf in _unnamed([[target for target in row if target is not None] for row in targets]):
        for span, target in zip(spans[leaf], targets[leaf], strict=True):
            field = None if target is None else leaves[target][1]
            mentions.setdefault(span.text, Mention(span, field))
    return list(mentions.values())


def _targets(
    instructions: JsonValue, locations: Sequence[Location], spans: Sequence[Sequence[Span]]
) -> list[list[int | None]]:
    """For each leaf and each of its spans: the number of the other leaf that the span names."""
    number_of = {location: number for number, location in enumerate(locations)}
    known: dict[Span, int | None] = {}
    for span in (span for row in spans for span in row if span not in known):
        location = _field_location(instructions, span)
        known[span] = None if location is None else number_of[location]
    return [[known[span] if known[span] != leaf else None for span in row] for leaf, row in enumerate(spans)]


def _field_location(instructions: JsonValue, span: Span) -> Location | None:
    """Where the instructions' own string is that a span names.

    A list has no fields with number names: in `["Answer `1` if so", "else `0`"]` the numbers are answers,
    and taking them for indices would make prose the vote text.
    """
    if span.is_code or (isinstance(instructions, list) and is_json_number(span.text)):
        return None
    end = find_string(instructions, span.text)
    return None if end is None else end.location


def _unnamed(names: Sequence[Sequence[int]]) -> list[int]:
    """Return the leaves that no other leaf names, in document order, and the first leaf of each ring.

    names  for each leaf the leaves it names
    The first pass finds leaves from which all others are reached; going through these backwards drops
    each one that a later leaf reaches, since an earlier one would have kept it out of the first pass.
    """
    return sorted(_heads(reversed(_heads(range(len(names)), names)), names))


def _heads(order: Iterable[int], names: Sequence[Sequence[int]]) -> list[int]:
    """Return those leaves of an order that none of the leaves before it reaches."""
    heads = []
    reached: set[int] = set()
    for leaf in order:
        if leaf in reached:
            continue
        heads.append(leaf)
        reached.add(leaf)
        stack = [leaf]
        while stack:
            fresh = [named for named in names[stack.pop()] if named not in reached]
            reached.update(fresh)
            stack.extend(fresh)
    return heads
