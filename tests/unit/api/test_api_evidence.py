"""What stands behind an answer."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.api import (
    Escalation,
    Evidence,
    Marks,
    PremiseCut,
    render_decisions,
    render_evidence,
    render_json,
    render_neighbour,
    render_neighbour_short,
)
from sidecar.terms import DocumentId, IndexName, Label, Neighbour, QuestionId, References, Tier


def neighbour(**changes: Any) -> Neighbour:
    fields: dict[str, Any] = {
        "id": DocumentId("a"),
        "index": IndexName("i"),
        "label": Label("x"),
        "score": 3.00000012,
        "rank": 3,
        "weight": 2 / 3,
        "human": True,
        "source": None,
        "ts": None,
        "text": None,
    }
    return Neighbour(**(fields | changes))


def test_a_cached_neighbour_shows_its_source() -> None:
    assert list(render_neighbour(neighbour(source="local", ts="t", text="x", human=False)).items()) == [
        ("_id", "a"),
        ("_index", "i"),
        ("label", "x"),
        ("_score", 3.00000012),
        ("weight", 0.666667),
        ("human", False),
        ("source", "local"),
        ("ts", "t"),
        ("text", "x"),
    ]


def test_a_bare_neighbour() -> None:
    assert render_neighbour(neighbour()) == {
        "_id": "a",
        "_index": "i",
        "label": "x",
        "_score": 3.00000012,
        "weight": 0.666667,
        "human": True,
        "ts": None,
        "text": None,
    }


def test_the_short_form_never_shows_a_text() -> None:
    assert render_neighbour_short(neighbour(text="secret")) == {"id": "a", "label": "x", "weight": 0.666667}


LEAST: dict[str, Any] = {
    "tier": "history",
    "source": "history",
    "label": "x",
    "support": 0.5,
    "found": 0,
    "voted": 0,
    "unusable": 0,
}
OPTIONAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "no support": ({"support": None, "label": None}, {"support": None, "label": None}),
    "counts": ({"found": 12, "voted": 10, "unusable": 2}, {"found": 12, "voted": 10, "unusable": 2}),
    "no references": ({"references": References()}, {}),
    "references": (
        {"references": References(ignored=("true",))},
        {"references": {"used": [], "skipped": [], "ignored": ["true"]}},
    ),
    "corrected": (
        {"marks": Marks(corrected_by=DocumentId("9"))},
        {"corrected": True, "corrected_by": "9"},
    ),
    "cuts": (
        {"marks": Marks(truncated=True, terms_cut=True, ties_cut=True, lookup_cut=True)},
        {"truncated": True, "terms_cut": True, "ties_cut": True, "lookup_cut": True},
    ),
    "escalation": (
        {"marks": Marks(escalation=Escalation(0.51234567, "answered"))},
        {"escalation": {"from_support": 0.512346, "outcome": "answered"}},
    ),
    "raw": ({"p_raw": 0.12345678}, {"p_raw": 0.123457}),
    "unfit": (
        {"p_raw": 0.0, "p_cal": None, "calibration": {"reason": "corrected"}},
        {"p_raw": 0.0, "p_cal": None, "calibration": {"reason": "corrected"}},
    ),
    "fitted": ({"p_raw": 1.0, "p_cal": 0.9}, {"p_raw": 1.0, "p_cal": 0.9}),
    "winner": ({"confidence_cal": 0.7}, {"confidence_cal": 0.7}),
    "head": (
        {"tier": Tier.LOCAL, "source": "local", "model": "m", "hypotheses": ("a", "b")},
        {"tier": "local", "source": "local", "model": "m", "hypotheses": ["a", "b"]},
    ),
    "premise": ({"premise_cut": PremiseCut(500, 900)}, {"premise_cut": {"used": 500, "given": 900}}),
    "no neighbours": ({"neighbours": ()}, {"neighbours": []}),
    "neighbours": (
        {"neighbours": (neighbour(),)},
        {"neighbours": [{"id": "a", "label": "x", "weight": 0.666667}]},
    ),
}


@pytest.mark.parametrize(("fields", "extra"), OPTIONAL.values(), ids=OPTIONAL.keys())
def test_evidence(fields: dict[str, Any], extra: dict[str, Any]) -> None:
    base: dict[str, Any] = {"tier": Tier.HISTORY, "source": "history", "label": "x", "support": 0.5}
    assert render_evidence(Evidence(**(base | fields))) == LEAST | extra


def test_evidence_order() -> None:
    evidence = Evidence(
        tier=Tier.LOCAL,
        source="local",
        label="x",
        support=0.5,
        references=References(used=("a",)),
        marks=Marks(DocumentId("9"), True, True, True, True, Escalation(0.5, "answered")),
        p_raw=0.5,
        p_cal=0.5,
        confidence_cal=0.5,
        calibration={"reason": "r"},
        model="m",
        hypotheses=("h",),
        premise_cut=PremiseCut(1, 2),
        neighbours=(neighbour(),),
    )
    assert " ".join(render_evidence(evidence)) == (
        "tier source label support found voted unusable references corrected corrected_by truncated terms_cut "
        "ties_cut lookup_cut escalation p_raw p_cal confidence_cal calibration model hypotheses premise_cut neighbours"
    )


def test_the_block_when_the_head_answered() -> None:
    block = render_decisions(
        {QuestionId("q"): Evidence(Tier.LOCAL, "local", "x", None)},
        index=None,
        k=None,
        requested_model="",
        took_ms=9,
        calibration={"configured": "none"},
        local_model="xerj-decide-local-1",
        local_answered=1,
    )
    assert render_json(block) == (
        b'{"index":null,"k":null,"requested_model":"","took_ms":9,"calibration":{"configured":"none"},'
        b'"local_model":"xerj-decide-local-1","local_answered":1,'
        b'"evidence":{"q":{"tier":"local","source":"local","label":"x","support":null,'
        b'"found":0,"voted":0,"unusable":0}}}'
    )
