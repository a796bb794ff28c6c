"""Vote text: what a question points at, and what retrieval sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar.errors import IllegalArgument
from sidecar.payload.references import Reading, Reference, read_references
from sidecar.payload.state import State, has_text, join_texts
from sidecar.payload.tree import Location, in_document_order, strings, value_at
from sidecar.terms import JsonValue, NoulQuestion, Question, References

SIDES: tuple[Location, ...] = (("left",), ("right",))
"""The two top-level strings of a comparative state (contract, section 5; the pairwise reranker's names)."""


@dataclass(frozen=True, slots=True)
class VoteText:
    """The text to vote on, trimmed and never empty. `references` is None when there was no span at all."""

    text: str
    references: References | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class ComparativeText:
    """Two texts to vote on: the first- and the second-named side, each followed by what both share."""

    first: VoteText
    second: VoteText


def build_vote_text(question_id: str, instructions: JsonValue, state: JsonValue | State, limit_chars: int) -> VoteText:
    """Return the text that a question points at.

    state        prepared with `State` where several questions share it, so that it is flattened once
    limit_chars  positive; a longer text is cut there and marked
    Raises       IllegalArgument for a broken path or where there is no text; names question and paths
    """
    prepared = State.of(state)
    reading = read_references(question_id, instructions, prepared)
    return _read_as_one(question_id, reading, prepared, limit_chars)


def build_question_text(question: Question, state: JsonValue | State, limit_chars: int) -> VoteText | ComparativeText:
    """Return the text of a question, or two for a noul that names the state's strings `left` and `right`.

    Raises  IllegalArgument as `build_vote_text` does, and where a side and what is shared have no text
    """
    prepared = State.of(state)
    reading = read_references(question.id, question.instructions, prepared)
    if reading is not None and isinstance(question, NoulQuestion):
        sides = [reference for reference in reading.references if _is_side(reference)]
        if len(sides) == len(SIDES):
            return ComparativeText(*(_side_text(question.id, side, reading, limit_chars) for side in sides))
    return _read_as_one(question.id, reading, prepared, limit_chars)


def _read_as_one(question_id: str, reading: Reading | None, state: State, limit_chars: int) -> VoteText:
    """Steps 3 to 5 of the contract, section 4."""
    if reading is None:
        return _cut(_state_text(question_id, state), None, limit_chars)
    if not reading.references:
        listed = References((), (), reading.ignored)
        return _cut(_state_text(question_id, state), listed, limit_chars)
    if any(_gives_text(reference) for reference in reading.references):
        return _text_of(reading.references, reading.ignored, limit_chars)
    return _text_inside(question_id, reading, state, limit_chars)


def _state_text(question_id: str, state: State) -> str:
    if not state.text:
        raise IllegalArgument(f"question `{question_id}`: there is no text in `state` to vote on")
    return state.text


def _text_of(references: Sequence[Reference], ignored: tuple[str, ...], limit_chars: int) -> VoteText:
    """Join the strings among the references."""
    text = join_texts(reference.value for reference in references if isinstance(reference.value, str))
    used = tuple(reference.path for reference in references if _gives_text(reference))
    skipped = tuple(reference.path for reference in references if not _gives_text(reference))
    return _cut(text, References(used, skipped, ignored), limit_chars)


def _text_inside(question_id: str, reading: Reading, state: State, limit_chars: int) -> VoteText:
    """Join the string leaves of the objects and arrays among the references, each leaf once."""
    holders = [
        reference
        for reference in reading.references
        if reference.location is not None and any(has_text(leaf) for leaf in strings(reference.value))
    ]
    if not holders:
        raise _no_text(question_id, reading.references)
    locations = in_document_order(state.value, (holder.location for holder in holders if holder.location))
    text = join_texts(leaf for at in locations for leaf in strings(value_at(state.value, at)))
    used = dict.fromkeys(holder.path for holder in holders)
    skipped = tuple(reference.path for reference in reading.references if reference.path not in used)
    return _cut(text, References(tuple(used), skipped, reading.ignored), limit_chars)


def _side_text(question_id: str, side: Reference, reading: Reading, limit_chars: int) -> VoteText:
    """Return the text of one side: its own first, so that a mirrored question asks the very same two texts.

    Step 3 does not apply: the leaves of a shared rubric cannot stand in for a side.
    """
    references = (side, *(reference for reference in reading.references if not _is_side(reference)))
    if not any(_gives_text(reference) for reference in references):
        raise _no_text(question_id, references)
    return _text_of(references, reading.ignored, limit_chars)


def _is_side(reference: Reference) -> bool:
    return reference.location in SIDES and isinstance(reference.value, str)


def _gives_text(reference: Reference) -> bool:
    return isinstance(reference.value, str) and has_text(reference.value)


def _cut(text: str, references: References | None, limit_chars: int) -> VoteText:
    return VoteText(text[:limit_chars], references, truncated=len(text) > limit_chars)


def _no_text(question_id: str, references: Sequence[Reference]) -> IllegalArgument:
    paths = ", ".join(f"`{reference.path}`" for reference in references)
    return IllegalArgument(f"question `{question_id}`: there is no text to vote on in {paths}")
