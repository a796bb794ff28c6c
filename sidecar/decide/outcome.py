"""What a tier makes of one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sidecar.api import Answer, Evidence
from sidecar.decide.plan import Plan


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer and what stands behind it.

    compared   the raw support that escalation compares: of the side, option or level that would be answered, in [0, 1]
    settled    nothing may overrule it: a correction, or a comparison of two sides
    """

    plan: Plan
    answer: Answer
    evidence: Evidence
    compared: float
    settled: bool


@dataclass(frozen=True, slots=True)
class Silent:
    """A question that history cannot answer, and why."""

    plan: Plan
    reason: str


Outcome: TypeAlias = Answered | Silent
