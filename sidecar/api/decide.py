"""The audit surface: `POST /_decide` in and out."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.api.body import json_kind
from sidecar.api.evidence import NO_MARKS, OMIT, Marks, Omittable, PremiseCut, render_marks, render_neighbour
from sidecar.api.index_name import check_index_name
from sidecar.api.numbers import share
from sidecar.api.wording import nearest, quoted
from sidecar.errors import IllegalArgument
from sidecar.terms import IndexName, JsonObject, JsonValue, Neighbour, Tier

MIN_K, MAX_K = 1, 100
_MEMBERS = ("index", "question", "k", "positive_label", "label_field", "text_field", "create")
MAX_UNKNOWN_NAMED = 20


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """A checked request; None where the index's settings decide. `k` is clamped to 1..100."""

    index: IndexName | None
    question: str
    k: int | None = None
    positive_label: str | None = None
    label_field: str | None = None
    text_field: str | None = None
    create: bool = False


def parse_decide(value: JsonValue) -> DecideRequest:
    """Check a parsed body.

    Raises  IllegalArgument naming every fault; an optional member that is null is a fault, leave it out
    """
    if not isinstance(value, dict):
        raise IllegalArgument(f"the body must be an object with index and question, not {json_kind(value)}")
    faults = _unknown(value)
    request = DecideRequest(
        index=_index(value, faults),
        question=_text(value, "question", faults) or "",
        k=_k(value, faults),
        positive_label=_text(value, "positive_label", faults),
        label_field=_text(value, "label_field", faults),
        text_field=_text(value, "text_field", faults),
        create=_create(value, faults),
    )
    if "question" not in value:
        faults.append("question is required: the text to decide on")
    if faults:
        raise IllegalArgument("; ".join(faults))
    return request


def _unknown(value: JsonObject) -> list[str]:
    unknown = [name for name in value if name not in _MEMBERS]
    faults = [
        f"unknown member {quoted(name)}, did you mean {nearest(name, _MEMBERS)}?"
        for name in unknown[:MAX_UNKNOWN_NAMED]
    ]
    return [*faults, f"known members are {', '.join(_MEMBERS)}"] if unknown else []


def _index(value: JsonObject, faults: list[str]) -> IndexName | None:
    index = value.get("index")
    if isinstance(index, str):
        try:
            return check_index_name(index)
        except IllegalArgument as error:
            faults.append(str(error))
    elif "index" in value:
        faults.append(f"index must be a string, not {json_kind(index)}")
    return None


def _text(value: JsonObject, name: str, faults: list[str]) -> str | None:
    text = value.get(name)
    if isinstance(text, str):
        if text.strip():
            return text
        faults.append(f"{name} is blank")
    elif name in value:
        faults.append(f"{name} must be a string, not {json_kind(text)}")
    return None


def _k(value: JsonObject, faults: list[str]) -> int | None:
    k = value.get("k")
    if isinstance(k, int) and not isinstance(k, bool):
        return min(MAX_K, max(MIN_K, k))
    if isinstance(k, float):
        faults.append("k must be a whole number without decimals or exponent")
    elif "k" in value:
        faults.append(f"k must be a whole number, not {json_kind(k)}")
    return None


def _create(value: JsonObject, faults: list[str]) -> bool:
    create = value.get("create", False)
    if isinstance(create, bool):
        return create
    faults.append(f"create must be true or false, not {json_kind(create)}")
    return False


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything that a 200 says.

    p_raw           support of the positive label, None without a vote
    calibration     `{"configured": "none"}`, `{"reason": …}` or the fit's own block
    positive_known  False where the history does not know the positive label, else usually None
    """

    index: str | None
    k: int
    positive_label: str
    label: str | None
    confidence: float
    abstain: bool
    tier: Tier | None
    source: str | None
    found: int
    voted: int
    unusable: int
    p_raw: float | None
    calibration: JsonObject
    took_ms: int
    neighbours: tuple[Neighbour, ...] = ()
    reason: str | None = None
    confidence_cal: Omittable = OMIT
    p_cal: Omittable = OMIT
    model: str | None = None
    positive_known: bool | None = None
    marks: Marks = NO_MARKS
    premise_cut: PremiseCut | None = None


def render_decide(decision: Decision) -> JsonObject:
    """The body of a 200, members in the contract's order, what marks the vote after them."""
    d = decision
    body: JsonObject = {"index": d.index, "k": d.k, "positive_label": d.positive_label, "label": d.label}
    body["confidence"] = share(d.confidence)
    if d.confidence_cal is not OMIT:
        body["confidence_cal"] = None if d.confidence_cal is None else share(d.confidence_cal)
    body["abstain"] = d.abstain
    if d.reason is not None:
        body["reason"] = d.reason
    body |= {"tier": d.tier, "source": d.source, "neighbours": [render_neighbour(n) for n in d.neighbours]}
    body |= {"found": d.found, "voted": d.voted, "unusable": d.unusable}
    body["p_raw"] = None if d.p_raw is None else share(d.p_raw)
    if d.p_cal is not OMIT:
        body["p_cal"] = None if d.p_cal is None else share(d.p_cal)
    body |= {"calibration": d.calibration, "took_ms": d.took_ms}
    if d.model is not None:
        body["model"] = d.model
    if d.positive_known is not None:
        body["positive_known"] = d.positive_known
    body |= render_marks(d.marks)
    if d.premise_cut is not None:
        body["premise_cut"] = {"used": d.premise_cut.used, "given": d.premise_cut.given}
    return body
