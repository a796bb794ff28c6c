"""The ladder of `POST /v1/systemone`: history first, the local head where history is silent or split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sidecar.api import Answer, Escalation, Evidence, SystemOneRequest
from sidecar.decide.flywheel import Entry
from sidecar.decide.history import SHOWN_REASONS, HistoryTier, Votes, input_tokens
from sidecar.decide.lessons import systemone_lessons
from sidecar.decide.local import LocalTier, with_history_counts
from sidecar.decide.outcome import Answered, Outcome, Silent
from sidecar.decide.plan import Plan, plan_questions
from sidecar.decide.sources import HitSource, LabelSource
from sidecar.errors import IllegalArgument, IndexMissing, LocalUnavailable, NoSupport, NotConfigured
from sidecar.node import Identity
from sidecar.settings import History, Settings
from sidecar.terms import QuestionId, ScoreQuestion, Tier
from sidecar.vote import MAX_TOKENS, count_tokens


@dataclass(frozen=True, slots=True)
class SystemOneResult:
    """Every question's answer and what stands behind it.

    input_tokens    tokens of the distinct vote texts after the cap
    local_answered  questions that the head answered
    lessons         local answers to write back
    """

    answers: dict[QuestionId, Answer]
    evidence: dict[QuestionId, Evidence]
    input_tokens: int
    local_answered: int
    lessons: tuple[Entry, ...] = ()


class SystemOneDecider:
    """Answers requests question by question, all or nothing. Holds no state between requests."""

    def __init__(
        self,
        settings: Settings,
        hits: HitSource,
        labels: LabelSource,
        local: LocalTier | None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._now = now
        self._history = HistoryTier(hits, labels)
        self._local = local

    async def answer(self, request: SystemOneRequest, history: History | None, identity: Identity) -> SystemOneResult:
        """Answer every question of a request, or none.

        history  None where none is selected: the head answers alone
        Raises   NotConfigured, IllegalArgument, NoSupport naming all silent questions, LocalUnavailable where no vote
                 could stand in, and the node's errors
        """
        if history is None and self._local is None:
            raise NotConfigured("no history is configured; set decisions.index (or start with --index NAME)")
        settings = history or self._settings.decisions
        plans = plan_questions(request.questions, request.state, settings, self._settings.limits.text_chars)
        votes = await self._hold_votes(plans, history, identity, full=request.full_evidence)
        silent = [one for one in votes.outcomes.values() if isinstance(one, Silent)]
        if silent and self._local is None:
            raise _no_support(await self._history.tell_terms(silent, identity), settings)
        answered = await self._climb(plans, votes.outcomes, settings)
        return SystemOneResult(
            answers={name: answer for name, (answer, _) in answered.items()},
            evidence={name: evidence for name, (_, evidence) in answered.items()},
            input_tokens=input_tokens(votes.searches) if votes.searches else _tokens_of(plans),
            local_answered=sum(evidence.tier is Tier.LOCAL for _, evidence in answered.values()),
            lessons=systemone_lessons(plans, answered, history, identity, self._now()),
        )

    async def _hold_votes(
        self, plans: Sequence[Plan], history: History | None, identity: Identity, *, full: bool
    ) -> Votes:
        """The outcome of every question; a missing history, or a missing index with a head armed, is silent on all."""
        if history is None:
            return Votes({plan.question.id: Silent(plan, "no history is selected") for plan in plans}, ())
        try:
            votes = await self._history.answer(plans, history, identity, full=full)
            silent = [one for one in votes.outcomes.values() if isinstance(one, Silent)]
            await self._history.diagnose(silent, identity)
            return votes
        except IndexMissing as error:
            if self._local is None:
                raise
            return Votes({plan.question.id: Silent(plan, str(error)) for plan in plans}, ())

    async def _climb(
        self, plans: Sequence[Plan], outcomes: Mapping[QuestionId, Outcome], history: History
    ) -> dict[QuestionId, tuple[Answer, Evidence]]:
        """Let the head answer what history is silent or split on; a vote stands where the head fails."""
        answered = {name: (one.answer, one.evidence) for name, one in outcomes.items() if isinstance(one, Answered)}
        if self._local is None:
            return answered
        bound = [plan for plan in plans if _is_local(outcomes[plan.question.id], history)]
        if not bound:
            return answered
        try:
            local = await self._local.answer(bound)
        except LocalUnavailable:
            if any(isinstance(outcomes[plan.question.id], Silent) for plan in bound):
                raise
            for plan in bound:
                answered[plan.question.id] = _escalated(outcomes[plan.question.id], "unavailable")
            return answered
        for name, (answer, evidence) in local.items():
            vote = outcomes[name]
            if isinstance(vote, Answered):
                _, kept = _escalated(vote, "answered")
                evidence = with_history_counts(evidence, kept)
            answered[name] = (answer, evidence)
        return answered


def _is_local(outcome: Outcome, history: History) -> bool:
    """Whether the head is asked: history silent, or split and nothing that stands."""
    if isinstance(outcome, Silent):
        return True
    return not outcome.settled and outcome.compared < history.escalate_below


def _escalated(outcome: Outcome, became: str) -> tuple[Answer, Evidence]:
    """A vote whose evidence says that it was handed on, and what came of it."""
    assert isinstance(outcome, Answered)
    escalation = Escalation(outcome.compared, "answered" if became == "answered" else "unavailable")
    marks = replace(outcome.evidence.marks, escalation=escalation)
    return outcome.answer, replace(outcome.evidence, marks=marks)


def _tokens_of(plans: Sequence[Plan]) -> int:
    texts = {text.text for plan in plans for text in plan.texts}
    return sum(min(MAX_TOKENS, count_tokens(text)) for text in texts)


def _no_support(silent: Sequence[Silent], history: History) -> NoSupport | IllegalArgument:
    """The refusal of a request with silent questions, naming all of them."""
    ids = [one.plan.question.id for one in silent]
    named = ", ".join(f"`{name}`" for name in ids)
    reasons = "; ".join(f"`{one.plan.question.id}`: {one.reason}" for one in silent[:SHOWN_REASONS])
    if len(silent) > SHOWN_REASONS:
        reasons += f"; and {len(silent) - SHOWN_REASONS} more"
    if all(isinstance(one.plan.question, ScoreQuestion) for one in silent):
        return IllegalArgument(
            f"no vote for score {named} in [{history.index}]: {reasons}. "
            "Ask nouls instead, or POST /_decide for the labels themselves"
        )
    return NoSupport(
        f"no support for {named} among the {history.k} nearest cases of [{history.index}]: {reasons}", questions=ids
    )
