"""Requests and answers of `/_decide`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.api import (
    DecideRequest,
    Decision,
    Escalation,
    Marks,
    parse_decide,
    parse_json,
    render_decide,
    render_json,
)
from sidecar.errors import IllegalArgument
from sidecar.settings import Limits
from sidecar.terms import DocumentId, IndexName, Label, Neighbour, Tier

BASE: dict[str, Any] = {"index": "tickets", "question": "where is my parcel"}
INDEX = IndexName("tickets")
KNOWN = "; known members are index, question, k, positive_label, label_field, text_field, create"

ACCEPTED: dict[str, tuple[dict[str, Any], DecideRequest]] = {
    "least": (BASE, DecideRequest(INDEX, "where is my parcel")),
    "no index": ({"question": "x"}, DecideRequest(None, "x")),
    "all": (
        BASE
        | {"k": 5, "positive_label": "a", "label_field": "b.c", "text_field": "d", "create": True, "question": " q "},
        DecideRequest(INDEX, " q ", 5, "a", "b.c", "d", True),
    ),
    "k below": (BASE | {"k": -3}, DecideRequest(INDEX, "where is my parcel", 1)),
    "k zero": (BASE | {"k": 0}, DecideRequest(INDEX, "where is my parcel", 1)),
    "k above": (BASE | {"k": 101}, DecideRequest(INDEX, "where is my parcel", 100)),
    "k beyond 64 bits": (BASE | {"k": 2**80}, DecideRequest(INDEX, "where is my parcel", 100)),
    "create false": (BASE | {"create": False}, DecideRequest(INDEX, "where is my parcel")),
    "references are text": (
        BASE | {"question": "`a.b` \x00"},
        DecideRequest(INDEX, "`a.b` \x00"),
    ),
}
REFUSED: dict[str, tuple[Any, str]] = {
    "array": ([], "the body must be an object with index and question, not an array"),
    "null": (None, "the body must be an object with index and question, not null"),
    "no question": ({"index": "a"}, "question is required: the text to decide on"),
    "empty question": (BASE | {"question": ""}, "question is blank"),
    "blank question": (BASE | {"question": " \n\t"}, "question is blank"),
    "null question": (BASE | {"question": None}, "question must be a string, not null"),
    "structured question": (BASE | {"question": {"a": "b"}}, "question must be a string, not an object"),
    "null index": (BASE | {"index": None}, "index must be a string, not null"),
    "list of indices": (BASE | {"index": ["a"]}, "index must be a string, not an array"),
    "pattern": (
        BASE | {"index": "a*"},
        'index name "a*" holds "*"; give the literal name of one index or alias',
    ),
    "empty index": (BASE | {"index": ""}, 'index name "" is empty; give the literal name of one index or alias'),
    "k true": (BASE | {"k": True}, "k must be a whole number, not a boolean"),
    "k text": (BASE | {"k": "10"}, "k must be a whole number, not a string"),
    "k null": (BASE | {"k": None}, "k must be a whole number, not null"),
    "k 10.0": (BASE | {"k": 10.0}, "k must be a whole number without decimals or exponent"),
    "k 1.5": (BASE | {"k": 1.5}, "k must be a whole number without decimals or exponent"),
    "create text": (BASE | {"create": "true"}, "create must be true or false, not a string"),
    "create 1": (BASE | {"create": 1}, "create must be true or false, not a number"),
    "create null": (BASE | {"create": None}, "create must be true or false, not null"),
    "blank label": (BASE | {"positive_label": " "}, "positive_label is blank"),
    "boolean label": (BASE | {"positive_label": True}, "positive_label must be a string, not a boolean"),
    "number as field": (BASE | {"label_field": 1}, "label_field must be a string, not a number"),
    "empty field": (BASE | {"text_field": ""}, "text_field is blank"),
    "misspelt": (BASE | {"positve_label": "a"}, 'unknown member "positve_label", did you mean positive_label?' + KNOWN),
    "capital": (BASE | {"K": 1}, 'unknown member "K", did you mean k?' + KNOWN),
    "plural": (BASE | {"questions": 1}, 'unknown member "questions", did you mean question?' + KNOWN),
    "nothing alike": (BASE | {"": 1}, 'unknown member "", did you mean text_field?' + KNOWN),
    "several": (
        {"indx": "a", "question": 1, "k": False},
        'unknown member "indx", did you mean index?' + KNOWN + "; question must be a string, not a number; "
        "k must be a whole number, not a boolean",
    ),
}


@pytest.mark.parametrize(("value", "parsed"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(value: dict[str, Any], parsed: DecideRequest) -> None:
    assert parse_decide(value) == parsed


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(value: Any, message: str) -> None:
    with pytest.raises(IllegalArgument) as caught:
        parse_decide(value)
    assert str(caught.value) == message


def test_k_is_clamped_from_the_wire() -> None:
    body = b'{"question": "x", "k": 99999999999999999999999}'
    assert parse_decide(parse_json(body, Limits())).k == 100


def test_many_long_unknown_members_stay_cheap() -> None:
    value = BASE | {f"{n}" + "z" * 10_000: 1 for n in range(2000)}
    with pytest.raises(IllegalArgument) as caught:
        parse_decide(value)
    assert len(str(caught.value)) < 5000


names = st.sampled_from(["index", "question", "k", "create", "label_field", "text_field", "positive_label", "x", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
anything = scalars | st.lists(scalars, max_size=2)


@given(scalars | st.lists(scalars) | st.dictionaries(names, anything))
@settings(max_examples=200, deadline=None)
def test_any_value_is_a_request_or_a_callers_mistake(value: Any) -> None:
    try:
        parsed = parse_decide(value)
    except IllegalArgument:
        return
    assert parsed.question.strip()
    assert parsed.k is None or 1 <= parsed.k <= 100


NEIGHBOUR = Neighbour(
    id=DocumentId("7"),
    index=INDEX,
    label=Label("late"),
    score=12.3456789,
    rank=3,
    weight=1 / 3,
    human=False,
    source=None,
    ts="2026-10-01T00:00:00.000Z",
    text="parcel is late",
)
VOTED: dict[str, Any] = {
    "index": "tickets",
    "k": 10,
    "positive_label": "late",
    "label": "late",
    "confidence": 0.8000004,
    "abstain": False,
    "tier": Tier.HISTORY,
    "source": "history",
    "found": 11,
    "voted": 10,
    "unusable": 1,
    "p_raw": 0.8000004,
    "calibration": {"configured": "none"},
    "took_ms": 4,
}


def shown(**changes: Any) -> dict[str, Any]:
    body: Any = parse_json(render_json(render_decide(Decision(**(VOTED | changes)))), Limits())
    assert isinstance(body, dict)
    return body


def test_a_vote() -> None:
    assert list(shown(neighbours=(NEIGHBOUR,)).items()) == [
        ("index", "tickets"),
        ("k", 10),
        ("positive_label", "late"),
        ("label", "late"),
        ("confidence", 0.8),
        ("abstain", False),
        ("tier", "history"),
        ("source", "history"),
        (
            "neighbours",
            [
                {
                    "_id": "7",
                    "_index": "tickets",
                    "label": "late",
                    "_score": 12.3456789,
                    "weight": 0.333333,
                    "human": False,
                    "ts": "2026-10-01T00:00:00.000Z",
                    "text": "parcel is late",
                }
            ],
        ),
        ("found", 11),
        ("voted", 10),
        ("unusable", 1),
        ("p_raw", 0.8),
        ("calibration", {"configured": "none"}),
        ("took_ms", 4),
    ]


def test_every_member_in_the_contracts_order() -> None:
    body = shown(
        confidence_cal=0.7,
        reason="because",
        p_cal=0.6,
        model="xerj-decide-local-1",
        positive_known=False,
        marks=Marks(DocumentId("9"), True, True, True, True, Escalation(0.55, "unavailable")),
    )
    assert " ".join(body) == (
        "index k positive_label label confidence confidence_cal abstain reason tier source neighbours found voted "
        "unusable p_raw p_cal calibration took_ms model positive_known corrected corrected_by truncated terms_cut "
        "ties_cut lookup_cut escalation"
    )


def test_an_abstention_without_support() -> None:
    body = shown(
        label=None,
        confidence=0.0,
        abstain=True,
        tier=None,
        source=None,
        found=0,
        voted=0,
        unusable=0,
        p_raw=None,
        reason="no labelled neighbour",
    )
    assert body == {
        "index": "tickets",
        "k": 10,
        "positive_label": "late",
        "label": None,
        "confidence": 0.0,
        "abstain": True,
        "reason": "no labelled neighbour",
        "tier": None,
        "source": None,
        "neighbours": [],
        "found": 0,
        "voted": 0,
        "unusable": 0,
        "p_raw": None,
        "calibration": {"configured": "none"},
        "took_ms": 4,
    }


def test_null_is_not_absent() -> None:
    body = shown(p_cal=None, confidence_cal=None)
    assert body["p_cal"] is None
    assert body["confidence_cal"] is None
