"""The invariants of the contract, section 4, over arbitrary input."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from sidecar.errors import IllegalArgument
from sidecar.payload import ComparativeText, VoteText, build_question_text, build_vote_text
from sidecar.terms import NoulQuestion, QuestionId

LIMIT = 100_000

PAYLOADS = st.text(min_size=1, max_size=60).filter(lambda text: text.strip() != "")
WORDINGS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="`"), max_size=60)
STRAY = st.tuples(WORDINGS, st.sampled_from(["", "`", "``", "` `"]), WORDINGS).map("".join)
INSTRUCTIONS = st.recursive(
    STRAY | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDINGS, inner, max_size=3),
    max_leaves=5,
)
KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="`"), min_size=1, max_size=20).filter(
    lambda key: key.strip() == key and len(key.splitlines()) == 1
)
SHAPES = st.recursive(
    st.just(lambda text: text),
    lambda inner: (
        st.tuples(KEYS, inner).map(lambda pair: lambda text: {pair[0]: pair[1](text), "n": 1, "zero": ""})
        | inner.map(lambda shape: lambda text: [None, [], shape(text), True])
    ),
    max_leaves=4,
)


@given(PAYLOADS, INSTRUCTIONS, SHAPES)
def test_wording_and_shape_of_the_state_change_nothing(payload: str, instructions: Any, shape: Any) -> None:
    assert build_vote_text("q", instructions, shape(payload), LIMIT).text == payload.strip()


def place(payload: str, keys: list[str | int]) -> Any:
    value: Any = payload
    for key in reversed(keys):
        value = {key: value} if isinstance(key, str) else [None] * key + [value]
    return value


@given(PAYLOADS, WORDINGS, WORDINGS, st.lists(KEYS | st.integers(0, 3), min_size=1, max_size=4), st.text())
def test_a_reference_reads_like_the_payload_itself(
    payload: str, before: str, after: str, keys: list[str | int], noise: str
) -> None:
    path = ".".join(str(key) for key in keys)
    state = place(payload, keys)
    if isinstance(state, dict):
        state["`noise`"] = noise
    plain = build_vote_text("q", before + after, payload, LIMIT)
    wordings = [f"{before} `{path}` {after}", f"{before} ``{path}`` {after}", [before, {"task": f"` {path} `"}]]
    for instructions in wordings:
        referred = build_vote_text("q", instructions, state, LIMIT)
        assert referred.text == plain.text
        assert referred.references is not None
        assert referred.references.used == (path,)


@given(PAYLOADS, WORDINGS, KEYS, st.booleans(), st.text())
def test_the_instructions_own_field_reads_like_the_payload_itself(
    payload: str, wording: str, key: str, task_first: bool, state: str
) -> None:
    assume(key != "the task" and "`the task`" not in payload)
    task = {"the task": f"{wording} `{key}`"}
    instructions = task | {key: payload} if task_first else {key: payload} | task
    assert build_vote_text("q", instructions, state, LIMIT).text == payload.strip()


TEXTS = (
    st.text(max_size=12)
    | st.text(alphabet="`ab.0[] ", max_size=16)
    | st.sampled_from(["`a`", "`a.b`", "`left` `right`"])
)
NAMES = st.sampled_from(["a", "b", "a.b", "", "left", "right", "0"]) | st.text(max_size=3)
JSON = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def assert_sound(text: VoteText, limit_chars: int) -> None:
    assert text.text == text.text.lstrip()
    assert 0 < len(text.text) <= limit_chars
    assert not text.truncated or len(text.text) == limit_chars
    if text.references is not None:
        listed = (*text.references.used, *text.references.skipped, *text.references.ignored)
        assert len(listed) == len(set(listed)) > 0


@given(JSON, JSON, st.integers(1, 30))
def test_anything_gives_a_text_or_a_refusal_that_names_the_question(
    instructions: Any, state: Any, limit_chars: int
) -> None:
    try:
        text = build_question_text(NoulQuestion(QuestionId("q?"), instructions), state, limit_chars)
    except IllegalArgument as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert "question `q?`" in refused
        return
    for side in (text.first, text.second) if isinstance(text, ComparativeText) else (text,):
        assert_sound(side, limit_chars)


@given(st.text(min_size=1), st.text(min_size=1), st.text())
def test_mirrored_comparisons_ask_the_same_two_texts(left: str, right: str, query: str) -> None:
    assume(left.strip() and right.strip())
    state = {"query": query, "left": left, "right": right}
    forward = build_question_text(NoulQuestion(QuestionId("f"), "`left` `query` `right`"), state, LIMIT)
    backward = build_question_text(NoulQuestion(QuestionId("b"), "`right` `query` `left`"), state, LIMIT)
    assert isinstance(forward, ComparativeText)
    assert isinstance(backward, ComparativeText)
    assert (forward.first, forward.second) == (backward.second, backward.first)
