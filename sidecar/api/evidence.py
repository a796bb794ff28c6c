"""What stands behind an answer: neighbours, the per-question evidence, the `decisions` block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from sidecar.api.numbers import rounded, share
from sidecar.terms import DocumentId, JsonObject, JsonValue, Neighbour, QuestionId, References, Tier


class Omit(Enum):
    """Tells an absent member from one that is null."""

    OMIT = "omit"


OMIT = Omit.OMIT
Omittable: TypeAlias = float | Omit | None
"""A share; None is shown as null, OMIT is not shown."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """A split vote and what became of it."""

    from_support: float
    outcome: Literal["answered", "kept_by_guard", "unavailable"]


@dataclass(frozen=True, slots=True)
class PremiseCut:
    """Tokens of the premise that the head read, of those given."""

    used: int
    given: int


@dataclass(frozen=True, slots=True)
class Marks:
    """What a reader should know about a vote; shown only where it is so.

    corrected_by  the document whose correction decided
    """

    corrected_by: DocumentId | None = None
    truncated: bool = False
    terms_cut: bool = False
    ties_cut: bool = False
    lookup_cut: bool = False
    escalation: Escalation | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two votes of a comparison.

    share      the positive label's, as it went into the answer
    label      the vote's own winner
    neighbours None unless the request wants the full evidence
    """

    share: float
    label: str | None
    found: int
    voted: int
    unusable: int
    neighbours: tuple[Neighbour, ...] | None = None


NO_REFERENCES = References()
NO_MARKS = Marks()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one question.

    p_raw, p_cal  the noul's; `p_cal` is null where calibration is configured but has no number
    calibration   why `p_cal` or `confidence_cal` is null, as `{"reason": …}`
    comparative   the first- and the second-named side of a comparison; the counts above are then the first's
    neighbours    None unless the request wants the full evidence
    """

    tier: Tier
    source: str
    label: str | None
    support: float | None
    found: int = 0
    voted: int = 0
    unusable: int = 0
    references: References = NO_REFERENCES
    marks: Marks = NO_MARKS
    p_raw: Omittable = OMIT
    p_cal: Omittable = OMIT
    confidence_cal: Omittable = OMIT
    calibration: JsonObject | None = None
    model: str | None = None
    hypotheses: tuple[str, ...] | None = None
    premise_cut: PremiseCut | None = None
    comparative: tuple[Side, Side] | None = None
    neighbours: tuple[Neighbour, ...] | None = None


def render_neighbour(neighbour: Neighbour) -> JsonObject:
    """A neighbour on `/_decide`; `ts` and `text` are null where the document has none."""
    n = neighbour
    body: JsonObject = {"_id": n.id, "_index": n.index, "label": n.label, "_score": n.score}
    body |= {"weight": rounded(n.weight), "human": n.human}
    if n.source is not None:
        body["source"] = n.source
    return body | {"ts": n.ts, "text": n.text}


def render_neighbour_short(neighbour: Neighbour) -> JsonObject:
    """A neighbour in the full evidence of `/v1/systemone`, which never shows a stored text."""
    return {"id": neighbour.id, "label": neighbour.label, "weight": rounded(neighbour.weight)}


def render_marks(marks: Marks) -> JsonObject:
    """The marks that are set, in the contract's order."""
    body: JsonObject = {}
    if marks.corrected_by is not None:
        body |= {"corrected": True, "corrected_by": marks.corrected_by}
    for name in ("truncated", "terms_cut", "ties_cut", "lookup_cut"):
        if getattr(marks, name):
            body[name] = True
    if marks.escalation is not None:
        support = share(marks.escalation.from_support)
        body["escalation"] = {"from_support": support, "outcome": marks.escalation.outcome}
    return body


def render_evidence(evidence: Evidence) -> JsonObject:
    """The evidence of one question, members in the contract's order, neighbours last."""
    e = evidence
    body: JsonObject = {"tier": e.tier, "source": e.source, "label": e.label}
    body["support"] = None if e.support is None else share(e.support)
    body |= {"found": e.found, "voted": e.voted, "unusable": e.unusable}
    if e.references != NO_REFERENCES:
        body["references"] = {
            "used": list(e.references.used),
            "skipped": list(e.references.skipped),
            "ignored": list(e.references.ignored),
        }
    body |= render_marks(e.marks)
    for name, value in (("p_raw", e.p_raw), ("p_cal", e.p_cal), ("confidence_cal", e.confidence_cal)):
        if not isinstance(value, Omit):
            body[name] = None if value is None else share(value)
    if e.calibration is not None:
        body["calibration"] = e.calibration
    if e.model is not None:
        body["model"] = e.model
    if e.hypotheses is not None:
        body["hypotheses"] = list(e.hypotheses)
    if e.premise_cut is not None:
        body["premise_cut"] = {"used": e.premise_cut.used, "given": e.premise_cut.given}
    if e.comparative is not None:
        first, second = e.comparative
        body["comparative"] = {"first": _render_side(first), "second": _render_side(second)}
    if e.neighbours is not None:
        body["neighbours"] = _render_neighbours(e.neighbours)
    return body


def _render_side(side: Side) -> JsonObject:
    body: JsonObject = {"share": share(side.share), "label": side.label}
    body |= {"found": side.found, "voted": side.voted, "unusable": side.unusable}
    if side.neighbours is not None:
        body["neighbours"] = _render_neighbours(side.neighbours)
    return body


def _render_neighbours(neighbours: Iterable[Neighbour]) -> list[JsonValue]:
    return [render_neighbour_short(neighbour) for neighbour in neighbours]


def render_decisions(
    evidence: Mapping[QuestionId, Evidence],
    *,
    index: str | None,
    k: int | None,
    requested_model: str,
    took_ms: int,
    calibration: JsonObject,
    local_model: str | None = None,
    local_answered: int | None = None,
) -> JsonObject:
    """The top-level `decisions` block; `index` and `k` are null where no history is selected."""
    block: JsonObject = {"index": index, "k": k, "requested_model": requested_model, "took_ms": took_ms}
    block["calibration"] = calibration
    if local_model is not None:
        block |= {"local_model": local_model, "local_answered": local_answered}
    block["evidence"] = {name: render_evidence(one) for name, one in evidence.items()}
    return block
