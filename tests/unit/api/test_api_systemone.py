"""Requests and answers of `/v1/systemone`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.api import (
    ChoiceAnswer,
    Evidence,
    NoulAnswer,
    ScoreAnswer,
    parse_json,
    parse_systemone,
    render_decisions,
    render_error,
    render_json,
    render_systemone,
)
from sidecar.errors import SchemaViolation, SidecarError, UnsupportedMedia
from sidecar.settings import Limits
from sidecar.terms import ChoiceQuestion, NoulQuestion, QuestionId, References, ScoreQuestion, Tier

LIMITS = Limits()
NOUL: Any = {"type": "noul", "instructions": "Is `body` spam?"}
Q = ("body", "questions", "q")


def request(**changes: Any) -> dict[str, Any]:
    return {"model": "jev-latest", "state": "text", "questions": {"q": NOUL}} | changes


def asking(**question: Any) -> dict[str, Any]:
    return request(questions={"q": question})


def choice(size: int) -> dict[str, Any]:
    return asking(type="choice", criteria={f"option {n}": None for n in range(size)})


def without(member: str) -> dict[str, Any]:
    return {name: value for name, value in request().items() if name != member}


ACCEPTED: dict[str, dict[str, Any]] = {
    "jev-latest": request(),
    "any model": request(model="gpt"),
    "no model": without("model"),
    "empty model": request(model=""),
    "empty state": request(state=""),
    "object state": request(state={"a": {"b": [None, 1]}}),
    "array state": request(state=["a", {"b": "c"}]),
    "empty object state": request(state={}),
    "unknown member": request(x_nonce=7, extra={"a": 1}, temperature=None),
    "no assets": request(assets={}),
    "null assets": request(assets=None),
    "odd ids": request(questions={"a b/c.d": NOUL, "한글": NOUL, "😀": NOUL, " ": NOUL, "\x00": NOUL}),
    "300 questions": request(questions={str(n): NOUL for n in range(300)}),
    "unknown member of a question": asking(**NOUL, weight=1),
    "object instructions": asking(type="noul", instructions={"task": "spam?"}),
    "array instructions": asking(type="noul", instructions=["spam?", 1]),
    "empty instructions": asking(type="noul", instructions=""),
    "null criteria": asking(**NOUL, criteria=None),
    "empty criteria": asking(**NOUL, criteria={}),
    "one-sided": asking(type="noul", criteria={"true": "spam"}),
    "other side": asking(type="noul", instructions=None, criteria={"false": {"a": "b"}}),
    "one side null": asking(type="noul", criteria={"true": ["spam"], "false": None}),
    "more than two sides": asking(**NOUL, criteria={"true": "a", "maybe": 7}),
    "1 option": choice(1),
    "255 options": choice(255),
    "options": asking(type="choice", criteria={"Earth.Polar": "x", "": None, "c": {"d": 1}, "e": ["f"]}),
    "1 level": asking(type="score", criteria=["a"]),
    "10 levels": asking(type="score", criteria=["a"] * 10),
    "structured levels": asking(type="score", criteria=["a", {"b": None}, ["c"]]),
    "null instructions": asking(type="score", instructions=None, criteria=["a"]),
}


@pytest.mark.parametrize("value", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(value: dict[str, Any]) -> None:
    parsed = parse_systemone(value, LIMITS)
    assert [question.id for question in parsed.questions] == list(value["questions"])
    assert parsed.model == value.get("model", "")
    assert parsed.state == value["state"]
    assert not parsed.full_evidence


REFUSED: dict[str, tuple[Any, tuple[str | int, ...], str]] = {
    "array body": ([], ("body",), "model_attributes_type"),
    "null body": (None, ("body",), "model_attributes_type"),
    "string body": ("x", ("body",), "model_attributes_type"),
    "null model": (request(model=None), ("body", "model"), "string_type"),
    "number as model": (request(model=1), ("body", "model"), "string_type"),
    "missing state": (without("state"), ("body", "state"), "missing"),
    "null state": (request(state=None), ("body", "state"), "union_type"),
    "number as state": (request(state=1.5), ("body", "state"), "union_type"),
    "boolean state": (request(state=True), ("body", "state"), "union_type"),
    "missing questions": (without("questions"), ("body", "questions"), "missing"),
    "empty questions": (request(questions={}), ("body", "questions"), "too_short"),
    "null questions": (request(questions=None), ("body", "questions"), "dict_type"),
    "list of questions": (request(questions=[NOUL]), ("body", "questions"), "dict_type"),
    "301 questions": (
        request(questions={str(n): NOUL for n in range(301)}),
        ("body", "questions"),
        "too_long",
    ),
    "empty id": (request(questions={"": NOUL}), ("body", "questions", ""), "string_too_short"),
    "question no object": (request(questions={"q": "spam?"}), Q, "model_attributes_type"),
    "missing type": (asking(instructions="spam?"), Q, "union_tag_not_found"),
    "unknown type": (asking(type="boolean"), Q, "union_tag_invalid"),
    "type in capitals": (asking(type="Noul"), Q, "union_tag_invalid"),
    "null type": (asking(type=None), (*Q, "type"), "union_tag_invalid"),
    "structured type": (asking(type={"noul": 1}), (*Q, "type"), "union_tag_invalid"),
    "box": (asking(type="box", instructions="where?"), Q, "union_tag_invalid"),
    "number as instructions": (
        asking(type="noul", instructions=1),
        (*Q, "noul", "instructions"),
        "union_type",
    ),
    "boolean instructions": (
        asking(type="choice", instructions=False, criteria={"a": None}),
        (*Q, "choice", "instructions"),
        "union_type",
    ),
    "nothing to decide": (asking(type="noul"), (*Q, "noul"), "missing"),
    "null and null": (asking(type="noul", instructions=None, criteria=None), (*Q, "noul"), "missing"),
    "null and empty": (asking(type="noul", criteria={}), (*Q, "noul"), "missing"),
    "null outcomes": (asking(type="noul", criteria={"true": None, "false": None}), (*Q, "noul"), "missing"),
    "criteria a list": (asking(**NOUL, criteria=["a"]), (*Q, "noul", "criteria"), "model_attributes_type"),
    "criteria a string": (asking(type="noul", criteria="a"), (*Q, "noul", "criteria"), "model_attributes_type"),
    "outcome a boolean": (
        asking(**NOUL, criteria={"true": True}),
        (*Q, "noul", "criteria", "true"),
        "union_type",
    ),
    "choice without options": (asking(type="choice"), (*Q, "choice", "criteria"), "missing"),
    "choice with null": (asking(type="choice", criteria=None), (*Q, "choice", "criteria"), "dict_type"),
    "choice with a list": (asking(type="choice", criteria=["a"]), (*Q, "choice", "criteria"), "dict_type"),
    "0 options": (choice(0), (*Q, "choice", "criteria"), "too_short"),
    "256 options": (choice(256), (*Q, "choice", "criteria"), "too_long"),
    "number as description": (
        asking(type="choice", criteria={"a.b": 1}),
        (*Q, "choice", "criteria", "a.b"),
        "union_type",
    ),
    "score without levels": (asking(type="score"), (*Q, "score", "criteria"), "missing"),
    "score map": (asking(type="score", criteria={"0": "a"}), (*Q, "score", "criteria"), "list_type"),
    "0 levels": (asking(type="score", criteria=[]), (*Q, "score", "criteria"), "too_short"),
    "11 levels": (asking(type="score", criteria=["a"] * 11), (*Q, "score", "criteria"), "too_long"),
    "null level": (asking(type="score", criteria=["a", None]), (*Q, "score", "criteria", 1), "union_type"),
    "number as level": (asking(type="score", criteria=[0]), (*Q, "score", "criteria", 0), "union_type"),
}


@pytest.mark.parametrize(("value", "loc", "kind"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(value: Any, loc: tuple[str | int, ...], kind: str) -> None:
    with pytest.raises(SchemaViolation) as caught:
        parse_systemone(value, LIMITS)
    (problem,) = caught.value.problems
    assert (problem.loc, problem.type) == (loc, kind)


def test_all_problems_at_once() -> None:
    value: Any = {
        "model": 1,
        "questions": {
            "a": {"type": "noul", "instructions": 1, "criteria": {"true": 2, "false": 3}},
            "b": {"type": "score", "criteria": [None, "x", 4]},
            "c": 5,
        },
    }
    with pytest.raises(SchemaViolation) as caught:
        parse_systemone(value, LIMITS)
    assert [".".join(map(str, problem.loc[1:])) for problem in caught.value.problems] == [
        "model",
        "state",
        "questions.a.noul.instructions",
        "questions.a.noul.criteria.true",
        "questions.a.noul.criteria.false",
        "questions.b.score.criteria.0",
        "questions.b.score.criteria.2",
        "questions.c",
    ]


def test_problems_are_bounded() -> None:
    option_names = [f"{n}" + "x" * 5000 for n in range(255)]
    value = request(
        questions={
            str(n) + "q" * 5000: {"type": "choice", "criteria": dict.fromkeys(option_names, 1)} for n in range(300)
        }
    )
    with pytest.raises(SchemaViolation) as caught:
        parse_systemone(value, LIMITS)
    assert len(caught.value.problems) == 1001
    assert caught.value.problems[-1].msg == f"and {300 * 255 - 1000} more problems"
    assert len(render_json(render_error(caught.value).body)) < 500_000


@pytest.mark.parametrize(
    ("assets"),
    [{"a": {"type": "image", "part": "asset-0"}}, {"a": {"data_base64": "AA==", "format": "png"}}, ["x"]],
    ids=["multipart", "json only", "list"],
)
def test_assets_are_refused(assets: Any) -> None:
    with pytest.raises(UnsupportedMedia, match="assets"):
        parse_systemone(request(assets=assets), LIMITS)


LIMIT_CASES = {
    "questions": (Limits(questions=1), request(questions={"a": NOUL, "b": NOUL})),
    "options": (Limits(options=2), choice(3)),
    "levels": (Limits(levels=2), asking(type="score", criteria=["a", "b", "c"])),
}


@pytest.mark.parametrize("setting", LIMIT_CASES)
def test_limits_follow_the_settings_and_name_them(setting: str) -> None:
    limits, value = LIMIT_CASES[setting]
    with pytest.raises(SchemaViolation, match=rf"limits\.{setting}"):
        parse_systemone(value, limits)
    parse_systemone(value, LIMITS)


def test_questions_keep_what_the_ladder_needs() -> None:
    parsed = parse_systemone(
        request(
            questions={
                "n": NOUL | {"criteria": {"true": "t"}},
                "c": {"type": "choice", "instructions": ["i"], "criteria": {"b": "x", "a": None}},
                "s": {"type": "score", "criteria": [{"low": 1}, "high"]},
            },
            x_evidence="full",
        ),
        LIMITS,
    )
    assert parsed.full_evidence
    assert parsed.questions == (
        NoulQuestion(QuestionId("n"), "Is `body` spam?"),
        ChoiceQuestion(QuestionId("c"), ["i"], ("b", "a")),
        ScoreQuestion(QuestionId("s"), None, ({"low": 1}, "high")),
    )


@pytest.mark.parametrize("value", ["short", True, None, {"full": 1}, ["full"]])
def test_only_full_asks_for_the_full_evidence(value: Any) -> None:
    assert not parse_systemone(request(x_evidence=value), LIMITS).full_evidence


def test_no_problem_quotes_a_document() -> None:
    secret = "the patient's name"
    for value in (
        request(state=None, model=[secret], questions={"q": secret}),
        asking(type="noul", instructions=7, criteria=[secret]),
        asking(type="choice", instructions=secret, criteria=[secret]),
        asking(type="score", criteria={"0": secret}),
    ):
        with pytest.raises(SchemaViolation) as caught:
            parse_systemone(value, LIMITS)
        assert secret not in render_json(render_error(caught.value).body).decode()


words = st.sampled_from(["type", "noul", "choice", "score", "box", "criteria", "instructions", "true", "q", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)
questions = st.fixed_dictionaries(
    {"type": st.sampled_from(["noul", "choice", "score", "box"])},
    optional={"instructions": anything, "criteria": anything},
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "model": anything,
        "state": anything,
        "questions": anything | st.dictionaries(words, questions, max_size=3),
        "assets": anything,
        "x_evidence": anything,
    },
)


@given(anything | requests)
@settings(max_examples=300, deadline=None)
def test_any_value_is_a_request_or_a_callers_mistake(value: Any) -> None:
    try:
        parsed = parse_systemone(value, LIMITS)
    except SidecarError as error:
        response = render_error(error)
        assert response.status in (415, 422)
        parse_json(render_json(response.body), Limits(json_depth=200))
    else:
        assert [question.id for question in parsed.questions] == list(value["questions"])


def test_answers_as_in_the_contract() -> None:
    """The example of decide.md section 7, byte for byte."""
    questions = (
        NoulQuestion(QuestionId("spam?"), "spam?"),
        ChoiceQuestion(QuestionId("queue"), None, ("billing", "shipping", "other")),
    )
    probabilities = {"billing": 0.853675, "shipping": 0.146325, "other": 0.0}
    body = render_systemone(
        questions,
        {
            QuestionId("queue"): ChoiceAnswer("billing", 0.7805121, probabilities),
            QuestionId("spam?"): NoulAnswer(0.8536074),
        },
        model="xerj-history-vote-1",
        input_tokens=41,
        output_tokens=2,
        decisions=render_decisions(
            {
                QuestionId("spam?"): Evidence(
                    tier=Tier.HISTORY,
                    source="history",
                    label="spam",
                    support=0.85360691,
                    found=10,
                    voted=10,
                    p_raw=0.85360691,
                ),
                QuestionId("queue"): Evidence(
                    tier=Tier.HISTORY,
                    source="history",
                    label="billing",
                    support=0.853675,
                    found=10,
                    voted=10,
                    references=References(used=("ticket.body",), skipped=("rubric",), ignored=("true",)),
                ),
            },
            index="judgements",
            k=10,
            requested_model="jev-latest",
            took_ms=3,
            calibration={"configured": "none"},
        ),
    )
    text = """{"model": "xerj-history-vote-1",
 "answers": {"spam?": {"type": "noul", "noul": 0.853607},
             "queue": {"type": "choice", "choice": "billing", "confidence": 0.780512,
                       "probabilities": {"billing": 0.853675, "shipping": 0.146325, "other": 0.0}}},
 "usage": {"input_tokens": 41, "output_tokens": 2},
 "decisions": {"index": "judgements", "k": 10, "requested_model": "jev-latest", "took_ms": 3,
   "calibration": {"configured": "none"},
   "evidence": {
     "spam?": {"tier": "history", "source": "history", "label": "spam", "support": 0.853607, "found": 10, "voted": 10, "unusable": 0, "p_raw": 0.853607},
     "queue": {"tier": "history", "source": "history", "label": "billing", "support": 0.853675, "found": 10, "voted": 10, "unusable": 0,
               "references": {"used": ["ticket.body"], "skipped": ["rubric"], "ignored": ["true"]}}}}}"""  # noqa: E501
    assert render_json(body).decode() == json.dumps(json.loads(text), separators=(",", ":"))


def test_a_score_answer_keeps_its_legend() -> None:
    legend: Any = ("low", {"about": [2**70, None]}, ["high"])
    body: Any = render_systemone(
        (ScoreQuestion(QuestionId("s"), None, legend),),
        {QuestionId("s"): ScoreAnswer(1.0000004, 1.0000001, legend, (0.25, 0.5, 0.25))},
        model="m",
        input_tokens=0,
        output_tokens=1,
        decisions={},
    )
    parsed: Any = parse_json(render_json(body), LIMITS)
    assert list(parsed["answers"]["s"].items()) == [
        ("type", "score"),
        ("score", 1.0),
        ("confidence", 1.0),
        ("legend", {"0": "low", "1": {"about": [2**70, None]}, "2": ["high"]}),
        ("probabilities", {"0": 0.25, "1": 0.5, "2": 0.25}),
    ]
    assert list(parsed["answers"]["s"]["legend"]) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("served", "shown"), [(1.0000001, 1.0), (-1e-9, 0.0), (1, 1.0), (0.1234565001, 0.123457), (-0.0, 0.0)]
)
def test_probabilities_stay_in_range(served: float, shown: float) -> None:
    body = render_systemone(
        (NoulQuestion(QuestionId("q"), "?"),),
        {QuestionId("q"): NoulAnswer(served)},
        model="m",
        input_tokens=0,
        output_tokens=1,
        decisions={},
    )
    assert f'"noul":{shown}' in render_json(body).decode()


def test_an_unanswered_question_is_our_mistake() -> None:
    question = NoulQuestion(QuestionId("q"), "?")
    with pytest.raises(KeyError):
        render_systemone((question,), {}, model="m", input_tokens=0, output_tokens=0, decisions={})
