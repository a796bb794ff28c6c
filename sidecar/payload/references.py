"""What the spans of a question refer to: the table of the contract, section 4, step 2."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.errors import IllegalArgument
from sidecar.payload.grammar import is_json_literal, is_plain_path, with_dotted_indices
from sidecar.payload.prose import Mention, find_mentions
from sidecar.payload.state import State
from sidecar.payload.tree import Location, leads_below_scalar, starts_at_key
from sidecar.terms import JsonValue


@dataclass(frozen=True, slots=True)
class Reference:
    """A path that resolved. `location` is its place in the state, None for the instructions' own string."""

    path: str
    value: JsonValue
    location: Location | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The spans of a question, in order of first appearance: paths that resolved, and code."""

    references: tuple[Reference, ...]
    ignored: tuple[str, ...]


def read_references(question_id: str, instructions: JsonValue, state: State) -> Reading | None:
    """Resolve every span of the instructions.

    Returns  None when the instructions hold no span at all
    Raises   IllegalArgument naming the question and every broken path; never a value
    """
    mentions = find_mentions(instructions)
    if not mentions:
        return None
    resolved = [(mention, _resolve(mention, state)) for mention in mentions]
    references = tuple(reference for _, reference in resolved if reference is not None)
    unresolved = [mention for mention, reference in resolved if reference is None]
    broken = [
        mention.span.text
        for mention in unresolved
        if _is_broken(mention, instructions, state.value, beside_reference=bool(references))
    ]
    if broken:
        raise _refusal(question_id, broken)
    return Reading(references, tuple(mention.span.text for mention in unresolved))


def _resolve(mention: Mention, state: State) -> Reference | None:
    path = mention.span.text
    if mention.span.is_code:
        return None
    if mention.field is not None:
        return Reference(path, mention.field, None)
    end = state.find(path)
    return None if end is None else Reference(path, end.value, end.location)


def _is_broken(mention: Mention, instructions: JsonValue, state: JsonValue, *, beside_reference: bool) -> bool:
    """Whether a span that did not resolve is a broken path rather than code; the rows in the table's order."""
    path = mention.span.text
    roots = (state, instructions)
    if mention.span.is_code:
        return False
    dotted = with_dotted_indices(path)
    if dotted is not None and any(starts_at_key(root, dotted) for root in roots):
        return True
    if not is_plain_path(path) or is_json_literal(path) or ("." not in path and isinstance(state, str)):
        return False
    if not beside_reference:
        return True
    known = any(starts_at_key(root, path) for root in roots)
    return known and not any(leads_below_scalar(root, path) for root in roots)


def _refusal(question_id: str, broken: list[str]) -> IllegalArgument:
    named = []
    for path in broken:
        dotted = with_dotted_indices(path)
        named.append(f"`{path}`" if dotted is None else f"`{path}` (write [digits] as .digits: `{dotted}`)")
    return IllegalArgument(
        f"question `{question_id}`: cannot resolve {', '.join(named)}; a path in backticks names a string of "
        "the instructions or a value of `state`, with dots between keys and indices"
    )
