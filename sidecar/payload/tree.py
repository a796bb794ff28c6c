"""Walks over a parsed JSON value. None of them recurses, so depth costs nothing but memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from sidecar.terms import JsonValue

Location: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root to a value; unlike a dotted path it is never ambiguous."""

MAX_VISITS = 512
"""Values looked at for one path. A path of 256 characters needs at most 257 where no key holds a dot; keys
that spell the same path in thousands of ways are built to burn time, not to be read."""


class End(NamedTuple):
    """Where a path came to an end. `rest` is None when all of it was walked, else what a scalar cut off."""

    location: Location
    value: JsonValue
    rest: str | None


def strings(value: JsonValue) -> Iterator[str]:
    """Yield the string leaves in document order; keys are no leaves."""
    stack: list[JsonValue] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            stack.extend(reversed(node.values()))
        elif isinstance(node, list):
            stack.extend(reversed(node))


def located_strings(value: JsonValue) -> Iterator[tuple[Location, str]]:
    """Yield the string leaves with their locations, in document order."""
    stack: list[tuple[Location, JsonValue]] = [((), value)]
    while stack:
        location, node = stack.pop()
        if isinstance(node, str):
            yield location, node
        elif isinstance(node, dict):
            stack.extend(((*location, key), node[key]) for key in reversed(node))
        elif isinstance(node, list):
            stack.extend(((*location, at), node[at]) for at in range(len(node) - 1, -1, -1))


def ends(root: JsonValue, path: str) -> Iterator[End]:
    """Yield every end of a dotted path, the longest keys first (contract, section 4, step 2)."""
    stack: list[tuple[Location, JsonValue, str | None]] = [((), root, path)]
    for _ in range(MAX_VISITS):
        if not stack:
            return
        location, node, rest = stack.pop()
        if rest is None or not isinstance(node, dict | list):
            yield End(location, node, rest)
            continue
        onward = [((*location, key), child, tail) for key, child, tail in _steps(node, rest)]
        stack.extend(reversed(onward))


def find(root: JsonValue, path: str) -> End | None:
    """Return what a path names, whatever its type, or None."""
    return next((end for end in ends(root, path) if end.rest is None), None)


def find_string(root: JsonValue, path: str) -> End | None:
    """Return the string a path names, or None; a reading that ends at something else is passed over."""
    return next((end for end in ends(root, path) if end.rest is None and isinstance(end.value, str)), None)


def starts_at_key(root: JsonValue, path: str) -> bool:
    """Whether the first segment (which a key with dots may stretch) is a key or an index of the root."""
    return isinstance(root, dict | list) and next(_steps(root, path), None) is not None


def leads_below_scalar(root: JsonValue, path: str) -> bool:
    """Whether a path goes on where a string or number of the root's inside has already ended it."""
    return any(end.location and end.rest is not None and _is_text_or_number(end.value) for end in ends(root, path))


def in_document_order(root: JsonValue, locations: Iterable[Location]) -> list[Location]:
    """Sort locations as the document has them; those inside another one and repeats are left out."""
    wanted = set(locations)
    outer = [at for at in wanted if not any(at[:depth] in wanted for depth in range(len(at)))]
    if len(outer) < 2:
        return outer
    positions: dict[Location, dict[str, int]] = {}
    return sorted(outer, key=lambda at: _position(root, at, positions))


def value_at(root: JsonValue, location: Location) -> JsonValue:
    """Return the value at a location of this very root."""
    for key in location:
        root = root[key]  # type: ignore[index]  # a location only holds keys its root has
    return root


def _steps(node: JsonValue, path: str) -> Iterator[tuple[str | int, JsonValue, str | None]]:
    """Yield key, child and the rest of the path for each key it starts with, the longest key first."""
    if isinstance(node, dict):
        cut = len(path)
        while cut >= 0:
            key = path[:cut]
            if key in node:
                yield key, node[key], path[cut + 1 :] if cut < len(path) else None
            cut = path.rfind(".", 0, cut)
    elif isinstance(node, list):
        segment, dot, rest = path.partition(".")
        if segment.isascii() and segment.isdigit() and int(segment) < len(node):
            yield int(segment), node[int(segment)], rest if dot else None


def _is_text_or_number(value: JsonValue) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _position(root: JsonValue, location: Location, positions: dict[Location, dict[str, int]]) -> tuple[int, ...]:
    """Return a location as numbers, so that locations compare as the document orders them."""
    order = []
    for depth, key in enumerate(location):
        parent = location[:depth]
        if isinstance(root, dict):
            if parent not in positions:
                positions[parent] = {name: at for at, name in enumerate(root)}
            order.append(positions[parent][str(key)])
        else:
            order.append(int(key))
        root = value_at(root, (key,))
    return tuple(order)
