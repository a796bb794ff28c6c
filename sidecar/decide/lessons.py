"""Which local answers are worth keeping, and how each is stored. No waiting, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from sidecar.api import Answer, ChoiceAnswer, Decision, Evidence, NoulAnswer
from sidecar.decide.flywheel import Entry
from sidecar.decide.plan import Plan
from sidecar.node import CachedAnswer, Identity, can_hold
from sidecar.payload import ComparativeText
from sidecar.settings import History
from sidecar.terms import QuestionId, Scope, Tier

_PATTERN = frozenset("*?,:")


def systemone_lessons(
    plans: Iterable[Plan],
    answered: Mapping[QuestionId, tuple[Answer, Evidence]],
    history: History | None,
    identity: Identity,
    now: datetime,
) -> tuple[Entry, ...]:
    """What a request's local answers teach the selected history, one entry per document.

    Not kept: scores, comparisons, cut premises, and everything where no history is selected or it may not be written.
    """
    if history is None or not may_write(history):
        return ()
    best: dict[str, Entry] = {}
    for plan in plans:
        answer, evidence = answered[plan.question.id]
        if (
            evidence.tier is not Tier.LOCAL
            or evidence.premise_cut is not None
            or isinstance(plan.text, ComparativeText)
            or not can_hold(plan.scope.text_field, plan.scope.label_field)
        ):
            continue
        entry = _entry(plan, answer, history, identity, now)
        if entry is None:
            continue
        kept = best.get(entry.answer.id)
        if kept is None or entry.answer.p > kept.answer.p:
            best[entry.answer.id] = entry
    return tuple(best.values())


def _entry(plan: Plan, answer: Answer, history: History, identity: Identity, now: datetime) -> Entry | None:
    negative_of = None
    match answer:
        case NoulAnswer(noul):
            label, p = (plan.positive, noul) if noul >= 0.5 else (f"not {plan.positive}", 1.0 - noul)
            negative_of = None if noul >= 0.5 else plan.positive
        case ChoiceAnswer(choice, _, probabilities):
            label, p = choice, probabilities[choice]
        case _:
            return None
    cached = _cached(plan.texts[0].text, label, p, plan.scope, history, now)
    return Entry(plan.scope, cached, identity, create=True, negative_of=negative_of)


def audit_lesson(
    question: str,
    decision: Decision,
    scope: Scope,
    history: History,
    identity: Identity,
    *,
    create: bool,
    now: datetime,
) -> Entry:
    """What a local answer of `/_decide` teaches the index that the caller named.

    scope    where the caller asked
    history  the settings of that index, which the caller's members do not change
    """
    assert decision.label is not None
    cached = _cached(question, decision.label, decision.confidence, scope, history, now)
    return Entry(scope, cached, identity, create=create)


def _cached(text: str, label: str, p: float, scope: Scope, history: History, now: datetime) -> CachedAnswer:
    return CachedAnswer(
        text=text,
        label=label,
        p=round(min(1.0, max(0.0, p)), 6),
        source=Tier.LOCAL.value,
        ts=now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        text_field=scope.text_field,
        label_field=scope.label_field,
        history_label=history.label_field,
    )


def may_write(history: History) -> bool:
    """Whether local answers may be stored: asked for, and the history is one index or alias, not a pattern."""
    return history.write_back and not _PATTERN & set(history.index)
