"""The audit form: one text, one index named by the caller, the neighbours in the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sidecar.api import DecideRequest, Decision, Escalation, PremiseCut
from sidecar.decide.flywheel import Entry, negative_label
from sidecar.decide.history import no_neighbour
from sidecar.decide.lessons import audit_lesson, may_write
from sidecar.decide.local import LocalTier
from sidecar.decide.sources import HitSource, LabelSource
from sidecar.decide.tier import Held, hold_vote
from sidecar.errors import IllegalArgument, IndexMissing, LocalUnavailable
from sidecar.node import Identity, Search, can_hold
from sidecar.settings import History, Settings
from sidecar.terms import LOCAL_MODEL, JsonObject, Tier
from sidecar.vote import Ballot, noul_probability

NOT_CALIBRATED: JsonObject = {"configured": "none"}


@dataclass(frozen=True, slots=True)
class AuditResult:
    """A decision, and the local answer to write back (at most one)."""

    decision: Decision
    lessons: tuple[Entry, ...]


class AuditDecider:
    """Answers `POST /_decide` with the caller's own identity."""

    def __init__(
        self,
        settings: Settings,
        hits: HitSource,
        labels: LabelSource,
        local: LocalTier | None,
        own: Identity,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings
        self._hits = hits
        self._labels = labels
        self._local = local
        self._own = own
        self._now = now

    async def answer(self, request: DecideRequest, identity: Identity) -> AuditResult:
        """Answer one request, and what it teaches; `took_ms` is left 0.

        Raises  as `decide` does
        """
        decision = await self.decide(request, identity)
        return AuditResult(decision, self._lessons(request, decision, identity))

    def _lessons(self, request: DecideRequest, decision: Decision, identity: Identity) -> tuple[Entry, ...]:
        """A local answer that stands, for the index that the caller named.

        The sidecar's own credentials write only where an operator configured a history: anywhere else the write
        carries the caller's, so that nobody writes through the sidecar what the node would not let them write.
        """
        if request.index is None or decision.tier is not Tier.LOCAL or decision.abstain or decision.premise_cut:
            return ()
        settings = self._settings.of_index(request.index)
        scope = _with_members(settings, request).scope()
        if not may_write(settings) or not can_hold(scope.text_field, scope.label_field):
            return ()
        configured = self._settings.is_configured(request.index)
        return (
            audit_lesson(
                request.question,
                decision,
                scope,
                settings,
                self._own if configured else identity,
                create=configured or request.create,
                now=self._now(),
            ),
        )

    async def decide(self, request: DecideRequest, identity: Identity) -> Decision:
        """Answer one request; `took_ms` is left 0.

        Raises  IllegalArgument without an index where no head is armed, LocalUnavailable, and the node's errors
        """
        if request.index is None:
            if self._local is None:
                raise IllegalArgument("index is required: the index whose decided cases vote")
            history = _with_members(self._settings.decisions, request)
            return await self._ask_head(self._local, request, history, negative=f"not {history.positive_label}")
        history = _with_members(self._settings.of_index(request.index), request)
        ballot = Ballot.for_positive(history.positive_label)
        search = Search(request.question, history.scope(), history.k, (ballot,), lookup=history.human_weight > 1.0)
        try:
            (found,) = await self._hits.fetch_hits([search], identity)
        except IndexMissing:
            if self._local is None:
                raise
            return await self._ask_head(self._local, request, history, negative=f"not {history.positive_label}")
        held = hold_vote(request.question, found, history, ballot, lambda label: True)
        if not held.vote.neighbours:
            return await self._without_neighbour(request, held, history, identity)
        return await self._by_vote(request, held, history, identity)

    async def _by_vote(self, request: DecideRequest, held: Held, history: History, identity: Identity) -> Decision:
        positive, scope = history.positive_label, history.scope()
        p_raw = noul_probability(held.vote.shares, positive)
        known = p_raw > 0 or await self._labels.knows_label(scope, positive, identity)
        label, confidence = next(iter(held.served.items()))
        vote = Decision(
            index=history.index,
            k=history.k,
            positive_label=positive,
            label=label,
            confidence=confidence,
            abstain=False,
            tier=Tier.HISTORY,
            source=Tier.HISTORY.value,
            neighbours=held.vote.neighbours,
            found=held.vote.found,
            voted=held.vote.voted,
            unusable=held.vote.unusable,
            p_raw=p_raw,
            calibration=NOT_CALIBRATED,
            took_ms=0,
            positive_known=None if known else False,
            marks=held.marks(),
        )
        split = held.vote.support(label) < history.escalate_below and held.correction is None
        if self._local is None or not split or not known:
            return _abstaining(vote, history)
        return await self._escalate(self._local, vote, request, history, identity)

    async def _escalate(
        self, local: LocalTier, vote: Decision, request: DecideRequest, history: History, identity: Identity
    ) -> Decision:
        """Hand a split vote to the head; where it fails, the vote stands."""
        negative = await self._negative(history, identity)
        try:
            answered = await self._ask_head(local, request, history, negative=negative)
        except LocalUnavailable:
            marks = replace(vote.marks, escalation=Escalation(vote.confidence, "unavailable"))
            return _abstaining(replace(vote, marks=marks), history)
        marks = replace(vote.marks, escalation=Escalation(vote.confidence, "answered"))
        return replace(
            answered, found=vote.found, voted=vote.voted, unusable=vote.unusable, p_raw=vote.p_raw, marks=marks
        )

    async def _negative(self, history: History, identity: Identity) -> str:
        return await negative_label(self._labels, history.scope(), history.positive_label, identity)

    async def _without_neighbour(
        self, request: DecideRequest, held: Held, history: History, identity: Identity
    ) -> Decision:
        scope = history.scope()
        await self._labels.diagnose(scope, identity)
        if self._local is not None:
            negative = await self._negative(history, identity)
            return await self._ask_head(self._local, request, history, negative=negative)
        reason = no_neighbour(held)
        if not await self._labels.has_terms(scope, request.question, identity):
            reason += "; the question has no searchable term"
        silent = _blank(history, index=history.index)
        return replace(silent, reason=reason, found=held.vote.found, unusable=held.vote.unusable, marks=held.marks())

    async def _ask_head(self, local: LocalTier, request: DecideRequest, history: History, *, negative: str) -> Decision:
        scored = await local.score_positive(request.question, history.positive_label)
        p = scored.probabilities[0]
        label, confidence = (history.positive_label, p) if p >= 0.5 else (negative, 1.0 - p)
        answered = replace(
            _blank(history, index=request.index),
            label=label,
            confidence=confidence,
            abstain=False,
            tier=Tier.LOCAL,
            source=Tier.LOCAL.value,
            model=LOCAL_MODEL,
            premise_cut=None if scored.premise_cut is None else PremiseCut(*scored.premise_cut),
        )
        return _abstaining(answered, history)


def _with_members(history: History, request: DecideRequest) -> History:
    """The settings of the index, with what the request itself names."""
    named = {
        "k": request.k,
        "positive_label": request.positive_label,
        "label_field": request.label_field,
        "text_field": request.text_field,
    }
    return history.model_copy(update={name: value for name, value in named.items() if value is not None})


def _abstaining(decision: Decision, history: History) -> Decision:
    """The decision, abstaining where its confidence is strictly below `min_confidence`."""
    if decision.confidence >= history.min_confidence:
        return decision
    reason = f"confidence {decision.confidence:.6f} is below min_confidence {history.min_confidence}"
    return replace(decision, abstain=True, reason=reason)


def _blank(history: History, *, index: str | None) -> Decision:
    """A decision without a label: nobody answered yet."""
    return Decision(
        index=index,
        k=history.k,
        positive_label=history.positive_label,
        label=None,
        confidence=0.0,
        abstain=True,
        tier=None,
        source=None,
        found=0,
        voted=0,
        unusable=0,
        p_raw=None,
        calibration=NOT_CALIBRATED,
        took_ms=0,
    )
