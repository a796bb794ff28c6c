"""Steps 3 to 5 of the contract, section 4, and the comparative reading of its section 5."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.errors import IllegalArgument
from sidecar.payload import (
    ComparativeText,
    State,
    VoteText,
    build_question_text,
    build_vote_text,
)
from sidecar.terms import ChoiceQuestion, NoulQuestion, Question, QuestionId, References, ScoreQuestion

LIMIT = 100_000

# id: (instructions, state, text)
WITHOUT_SPANS: dict[str, tuple[Any, Any, str]] = {
    "string-state": ("Is it spam?", "buy now", "buy now"),
    "object-state": ("Is it spam?", {"subject": "buy", "body": "now"}, "buy now"),
    "array-state": ("Is it spam?", ["buy", "now"], "buy now"),
    "document-order": (None, {"b": "1", "a": ["2", {"z": "3", "y": "4"}, "5"], "c": "6"}, "1 2 3 4 5 6"),
    "only-strings-count": (None, {"n": 1, "f": 1.5, "b": True, "z": None, "s": "x"}, "x"),
    "keys-are-no-text": (None, {"key": {"another": "x"}}, "x"),
    "trimmed": (None, "\n  buy now \t", "buy now"),
    "trimmed-as-a-whole": (None, [" buy ", " now "], "buy   now"),
    "blank-leaves-add-no-space": (None, ["buy", "", " ", "now"], "buy now"),
    "no-instructions": (None, "x", "x"),
    "empty-instructions": ("", "x", "x"),
    "instructions-without-text": ({"a": [1, None, {}]}, "x", "x"),
    "odd-instructions": (7, "x", "x"),
    "prose-is-never-text": ({"task": "Is it?", "note": ["Think."]}, "x", "x"),
    "empty-span": ("Is ` ` it?", "x", "x"),
    "unpaired": ("Don`t", "x", "x"),
    "backticks-in-the-state": (None, {"a": "`b`", "b": "x"}, "`b` x"),
    "nul": (None, "a\x00b", "a\x00b"),
}


@pytest.mark.parametrize(("instructions", "state", "text"), WITHOUT_SPANS.values(), ids=WITHOUT_SPANS)
def test_without_spans_the_whole_state_is_read(instructions: Any, state: Any, text: str) -> None:
    assert build_vote_text("q", instructions, state, LIMIT) == VoteText(text, None, truncated=False)


RUBRIC = {"instructions": "judge by `query`", "criteria": ["good", "bad"], "weight": 3}

# id: (instructions, state, text, used, skipped)
NO_STRING: dict[str, tuple[Any, Any, str, list[str], list[str]]] = {
    "object": ("`rubric`", {"x": "no", "rubric": RUBRIC}, "judge by `query` good bad", ["rubric"], []),
    "array": ("`tags`", {"x": "no", "tags": ["a", ["b"]]}, "a b", ["tags"], []),
    "document-order": ("`b` `a`", {"a": ["1"], "b": ["2"]}, "1 2", ["b", "a"], []),
    "document-order-deep": ("`d.10` `d.9`", {"d": [[str(n)] for n in range(11)]}, "9 10", ["d.10", "d.9"], []),
    "document-order-mixed": ("`b.1` `b.0` `a`", {"a": ["1"], "b": [["2"], ["3"]]}, "1 2 3", ["b.1", "b.0", "a"], []),
    "each-leaf-once": ("`a.b` `a`", {"a": {"b": ["1"], "c": "2"}}, "1 2", ["a.b", "a"], []),
    "same-place-twice": ("`a.0` `a.00`", {"a": [["1"]]}, "1", ["a.0", "a.00"], []),
    "blank-string-beside": ("`s` `a`", {"s": " ", "a": ["1"]}, "1", ["a"], ["s"]),
    "number-beside": ("`n` `a`", {"n": 5, "a": ["1"]}, "1", ["a"], ["n"]),
    "holder-without-text": ("`e` `a`", {"e": [{}, ""], "a": ["1"]}, "1", ["a"], ["e"]),
}


@pytest.mark.parametrize(("instructions", "state", "text", "used", "skipped"), NO_STRING.values(), ids=NO_STRING)
def test_without_a_string_the_objects_and_arrays_are_read(
    instructions: Any, state: Any, text: str, used: list[str], skipped: list[str]
) -> None:
    listed = References(tuple(used), tuple(skipped), ())
    assert build_vote_text("q", instructions, state, LIMIT) == VoteText(text, listed, truncated=False)


# id: (instructions, state, words of the message)
NO_TEXT: dict[str, tuple[Any, Any, list[str]]] = {
    "empty-string": ("Is it?", "", ["state"]),
    "blank-string": ("Is it?", " \n\t\u3000", ["state"]),
    "empty-object": ("Is it?", {}, ["state"]),
    "empty-array": ("Is it?", [], ["state"]),
    "numbers-only": ("Is it?", {"a": [1, True, None]}, ["state"]),
    "blank-leaves": ("Is it?", ["", {"a": " "}], ["state"]),
    "null": (None, None, ["state"]),
    "number": (None, 5, ["state"]),
    "code-only": ("`f()`", {"a": ""}, ["state"]),
    "references-blank": ("`a` `b`", {"a": "", "b": " ", "c": "x"}, ["`a`", "`b`"]),
    "references-scalar": ("`a` `b`", {"a": 1, "b": None, "c": "x"}, ["`a`", "`b`"]),
    "references-hollow": ("`a` `b`", {"a": {"x": [1]}, "b": [], "c": "x"}, ["`a`", "`b`"]),
    "own-field-blank": ({"t": "`mail`", "mail": ""}, {"c": "x"}, ["`mail`"]),
}


@pytest.mark.parametrize(("instructions", "state", "words"), NO_TEXT.values(), ids=NO_TEXT)
def test_no_text_is_refused_by_name(instructions: Any, state: Any, words: list[str]) -> None:
    with pytest.raises(IllegalArgument) as refused:
        build_vote_text("is it?", instructions, state, LIMIT)
    assert [word for word in ["question `is it?`", *words] if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("state", "limit_chars", "text", "truncated"),
    [
        pytest.param("x" * 100_000, LIMIT, "x" * 100_000, False, id="exactly-the-limit"),
        pytest.param("x" * 100_001, LIMIT, "x" * 100_000, True, id="one-more"),
        pytest.param("  abc  ", 3, "abc", False, id="trimmed-before-cut"),
        pytest.param("a😀b", 2, "a😀", True, id="a-character-outside-the-basic-plane-is-one"),
        pytest.param(["ab", "cd"], 4, "ab c", True, id="spaces-between-leaves-count"),
    ],
)
def test_cut(state: Any, limit_chars: int, text: str, truncated: bool) -> None:
    assert build_vote_text("q", None, state, limit_chars) == VoteText(text, None, truncated)


def test_references_are_cut_too() -> None:
    assert build_vote_text("q", "`a`", {"a": "abcd"}, 3) == VoteText("abc", References(("a",), (), ()), True)


def noul(instructions: Any) -> NoulQuestion:
    return NoulQuestion(QuestionId("q"), instructions)


# id: (instructions, state, first text, its used, second text, its used)
COMPARATIVE: dict[str, tuple[Any, Any, str, list[str], str, list[str]]] = {
    "left-wins": (
        "`left` for `query` over `right`?",
        {"query": "Q", "left": "L", "right": "R"},
        "L Q",
        ["left", "query"],
        "R Q",
        ["right", "query"],
    ),
    "right-wins-asks-the-same-texts": (
        "`right` for `query` over `left`?",
        {"query": "Q", "left": "L", "right": "R"},
        "R Q",
        ["right", "query"],
        "L Q",
        ["left", "query"],
    ),
    "nothing-shared": ("`left` or `right`", {"left": "L", "right": "R"}, "L", ["left"], "R", ["right"]),
    "order-of-the-instructions-not-the-state": (
        "`right` or `left`",
        {"left": "L", "right": "R"},
        "R",
        ["right"],
        "L",
        ["left"],
    ),
    "shared-first": (
        "`a` `left` `b` `right`",
        {"left": "L", "right": "R", "a": "A", "b": "B"},
        "L A B",
        ["left", "a", "b"],
        "R A B",
        ["right", "a", "b"],
    ),
    "blank-side-has-the-shared-text": (
        "`left` `right` `q`",
        {"left": "", "right": "R", "q": "Q"},
        "Q",
        ["q"],
        "R Q",
        ["right", "q"],
    ),
    "own-shared-field": (
        {"task": "`left` `right` `q`", "q": "Q"},
        {"left": "L", "right": "R"},
        "L Q",
        ["left", "q"],
        "R Q",
        ["right", "q"],
    ),
    "equal-sides": ("`left` `right`", {"left": "X", "right": "X"}, "X", ["left"], "X", ["right"]),
}


@pytest.mark.parametrize(
    ("instructions", "state", "first", "first_used", "second", "second_used"), COMPARATIVE.values(), ids=COMPARATIVE
)
def test_comparative(
    instructions: Any, state: Any, first: str, first_used: list[str], second: str, second_used: list[str]
) -> None:
    text = build_question_text(noul(instructions), state, LIMIT)
    assert isinstance(text, ComparativeText)
    assert (text.first.text, text.second.text) == (first, second)
    assert text.first.references is not None
    assert text.second.references is not None
    assert text.first.references.used == tuple(first_used)
    assert text.second.references.used == tuple(second_used)


def test_comparative_sides_list_what_is_shared() -> None:
    state = {"left": "L", "right": "R", "rubric": {"i": "z"}}
    text = build_question_text(noul("`left` `right` per `rubric`, `true`"), state, 1)
    assert text == ComparativeText(
        VoteText("L", References(("left",), ("rubric",), ("true",)), truncated=False),
        VoteText("R", References(("right",), ("rubric",), ("true",)), truncated=False),
    )


def test_comparative_sides_are_cut_apart() -> None:
    text = build_question_text(noul("`left` `right`"), {"left": "LLL", "right": "R"}, 2)
    assert isinstance(text, ComparativeText)
    assert (text.first.text, text.first.truncated) == ("LL", True)
    assert (text.second.text, text.second.truncated) == ("R", False)


SIDES = {"left": "L", "right": "R", "q": "Q"}
ONE_TEXT: dict[str, tuple[Question, Any, str]] = {
    "one-side-only": (noul("`left` `q`"), SIDES, "L Q"),
    "no-spans": (noul("left or right"), SIDES, "L R Q"),
    "side-is-an-object": (noul("`left` `right`"), {"left": {"t": "L"}, "right": "R"}, "R"),
    "side-is-not-top-level": (noul("`x.left` `x.right`"), {"x": SIDES}, "L R"),
    "side-is-the-instructions-own": (noul({"t": "`left` `right`", "left": "own"}), SIDES, "own R"),
    "choice": (ChoiceQuestion(QuestionId("q"), "`left` `right`", ("a", "b")), SIDES, "L R"),
    "score": (ScoreQuestion(QuestionId("q"), "`left` `right`", ("a", "b")), SIDES, "L R"),
    "case-matters": (noul("`Left` `Right`"), {"Left": "L", "Right": "R"}, "L R"),
}


@pytest.mark.parametrize(("question", "state", "text"), ONE_TEXT.values(), ids=ONE_TEXT)
def test_not_comparative(question: Question, state: Any, text: str) -> None:
    vote_text = build_question_text(question, state, LIMIT)
    assert isinstance(vote_text, VoteText)
    assert vote_text.text == text


def test_not_comparative_without_a_question() -> None:
    assert build_vote_text("q", "`left` `right`", SIDES, LIMIT).text == "L R"


@pytest.mark.parametrize(
    "state",
    [
        pytest.param({"left": "", "right": "R", "q": ""}, id="first-side"),
        pytest.param({"left": "L", "right": " ", "q": ""}, id="second-side"),
        pytest.param({"left": "", "right": "R", "q": {"rubric": "Z"}}, id="a-rubric-is-no-side"),
        pytest.param({"left": "", "right": "", "q": {"rubric": "Z"}}, id="a-rubric-is-not-both-sides"),
    ],
)
def test_comparative_side_without_any_text_is_refused(state: Any) -> None:
    side = "left" if not state["left"] else "right"
    with pytest.raises(IllegalArgument, match=f"question `q`: .*`{side}`, `q`$"):
        build_question_text(noul("`left` `right` `q`"), state, LIMIT)


def test_criteria_of_a_question_never_count() -> None:
    question = ChoiceQuestion(QuestionId("q"), "Which?", ("`a`", "`b`"))
    assert build_question_text(question, {"a": "x", "b": "y"}, LIMIT) == VoteText("x y", None, truncated=False)


def test_broken_comparative_is_refused() -> None:
    with pytest.raises(IllegalArgument, match=r"`left\[0\]`"):
        build_question_text(noul("`left` `right` `left[0]`"), SIDES, LIMIT)


def test_a_prepared_state_reads_like_the_value() -> None:
    state = State(SIDES)
    assert State.of(state) is state
    for instructions in (None, "`left`", "`q`", "`left`"):
        assert build_vote_text("q", instructions, state, LIMIT) == build_vote_text("q", instructions, SIDES, LIMIT)
