"""Requests in, answers out: JSON to frozen values and back, and the table of errors."""

from sidecar.api.body import parse_json, render_json
from sidecar.api.decide import DecideRequest, Decision, parse_decide, render_decide
from sidecar.api.errors import ErrorResponse, render_error
from sidecar.api.evidence import (
    OMIT,
    Escalation,
    Evidence,
    Marks,
    Omit,
    Omittable,
    PremiseCut,
    Side,
    render_decisions,
    render_evidence,
    render_marks,
    render_neighbour,
    render_neighbour_short,
)
from sidecar.api.index_name import check_index_name
from sidecar.api.models import render_models
from sidecar.api.systemone import (
    Answer,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    SystemOneRequest,
    parse_systemone,
    render_systemone,
)

__all__ = [
    "OMIT",
    "Answer",
    "ChoiceAnswer",
    "DecideRequest",
    "Decision",
    "ErrorResponse",
    "Escalation",
    "Evidence",
    "Marks",
    "NoulAnswer",
    "Omit",
    "Omittable",
    "PremiseCut",
    "ScoreAnswer",
    "Side",
    "SystemOneRequest",
    "check_index_name",
    "parse_decide",
    "parse_json",
    "parse_systemone",
    "render_decide",
    "render_decisions",
    "render_error",
    "render_evidence",
    "render_json",
    "render_marks",
    "render_models",
    "render_neighbour",
    "render_neighbour_short",
    "render_systemone",
]
