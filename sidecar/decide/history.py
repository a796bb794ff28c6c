"""The history tier: one search per distinct text and scope, then one vote per question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecar.api import OMIT, Evidence, Marks, Omittable, Side
from sidecar.decide.outcome import Answered, Outcome, Silent
from sidecar.decide.plan import Plan, build_searches
from sidecar.decide.sources import HitSource, LabelSource
from sidecar.decide.tier import (
    Held,
    answer_choice,
    answer_noul,
    answer_score,
    compare_sides,
    hold_vote,
    level_texts,
    may_be_indices,
)
from sidecar.node import Identity, Retrieved, Search
from sidecar.payload import ComparativeText, VoteText
from sidecar.settings import History
from sidecar.terms import ChoiceQuestion, NoulQuestion, QuestionId, References, ScoreQuestion, Tier
from sidecar.vote import MAX_TOKENS, count_tokens, labels_seen, noul_probability, read_levels

SHOWN_REASONS = 5
NOTHING_FOUND = "no labelled neighbour (found 0,"


@dataclass(frozen=True, slots=True)
class Votes:
    """The outcome of every question, and the searches that it took."""

    outcomes: dict[QuestionId, Outcome]
    searches: tuple[Search, ...]


class HistoryTier:
    """Answers planned questions from one history."""

    def __init__(self, hits: HitSource, labels: LabelSource) -> None:
        self._hits = hits
        self._labels = labels

    async def answer(self, plans: Sequence[Plan], history: History, identity: Identity, *, full: bool) -> Votes:
        """Answer every question that history can.

        full    neighbours go into the evidence
        Raises  the node's errors
        """
        searches = build_searches(plans, history)
        hits = await self._hits.fetch_hits(list(searches.values()), identity)
        retrieved = dict(zip(searches, hits, strict=True))
        outcomes: dict[QuestionId, Outcome] = {}
        for plan in plans:
            found = [retrieved[text.text, plan.scope] for text in plan.texts]
            outcomes[plan.question.id] = await self._answer_one(plan, found, history, identity, full)
        return Votes(outcomes, tuple(searches.values()))

    async def diagnose(self, silent: Sequence[Silent], identity: Identity) -> None:
        """Raise HistoryIndexError where a mapping that can never vote is the reason of the silence."""
        for scope in dict.fromkeys(one.plan.scope for one in silent):
            await self._labels.diagnose(scope, identity)

    async def tell_terms(self, silent: Sequence[Silent], identity: Identity) -> list[Silent]:
        """Say of the first questions, which the refusal spells out, where a text has no searchable term."""
        told = list(silent)
        for place, one in enumerate(silent[:SHOWN_REASONS]):
            if one.reason.startswith(NOTHING_FOUND):
                texts = (text.text for text in one.plan.texts)
                if not all([await self._labels.has_terms(one.plan.scope, text, identity) for text in texts]):
                    told[place] = replace(one, reason=f"{one.reason}; the text has no searchable term")
        return told

    async def _answer_one(
        self, plan: Plan, found: Sequence[Retrieved], history: History, identity: Identity, full: bool
    ) -> Outcome:
        match plan.question, plan.text:
            case NoulQuestion(), ComparativeText():
                return await self._answer_comparison(plan, found, history, identity, full)
            case NoulQuestion(), VoteText() as text:
                return await self._answer_noul(plan, text, found[0], history, identity, full)
            case ChoiceQuestion() as choice, VoteText() as text:
                return _answer_choice(plan, choice, text, found[0], history, full)
            case ScoreQuestion() as score, VoteText() as text:
                return await self._answer_score(plan, score, text, found[0], history, identity, full)
        raise AssertionError("only a noul compares")

    async def _answer_noul(
        self, plan: Plan, text: VoteText, found: Retrieved, history: History, identity: Identity, full: bool
    ) -> Outcome:
        held = hold_vote(text.text, found, history, plan.ballot, lambda label: True)
        silence = await self._silence(held, plan, identity)
        if silence is not None:
            return silence
        p_raw = noul_probability(held.vote.shares, plan.positive)
        return Answered(
            plan=plan,
            answer=answer_noul(held, plan.positive, history.escalate_below),
            evidence=_evidence(held, held.vote.winner, text, full, p_raw=p_raw),
            compared=max(p_raw, 1.0 - p_raw),
            settled=held.correction is not None,
        )

    async def _answer_score(
        self,
        plan: Plan,
        question: ScoreQuestion,
        text: VoteText,
        found: Retrieved,
        history: History,
        identity: Identity,
        full: bool,
    ) -> Outcome:
        plain = hold_vote(text.text, found, history, plan.ballot, lambda label: False)
        by_text = read_levels(plain.vote.shares, level_texts(question), None)
        known = None
        if by_text is None and may_be_indices(plain.vote.shares, question):
            known = await self._labels.labels(plan.scope, identity)
        reading = read_levels(plain.vote.shares, level_texts(question), known) or {}
        held = hold_vote(text.text, found, history, plan.ballot, lambda label: label in reading)
        answer = answer_score(held, question, known)
        if answer is None:
            return Silent(plan, _no_weight(held, "the labels are no levels of the score"))
        label = next(iter(held.served))
        evidence = _evidence(held, label, text, full)
        return Answered(plan, answer, evidence, held.vote.support(label), settled=held.correction is not None)

    async def _answer_comparison(
        self, plan: Plan, found: Sequence[Retrieved], history: History, identity: Identity, full: bool
    ) -> Outcome:
        """Two votes, one per side; a side without support is no support."""
        sides: list[Held] = []
        for text, one in zip(plan.texts, found, strict=True):
            held = hold_vote(text.text, one, history, plan.ballot, lambda label: True)
            silence = await self._silence(held, plan, identity)
            if silence is not None:
                return silence
            sides.append(held)
        shares = [answer_noul(held, plan.positive, history.escalate_below).noul for held in sides]
        evidence = _comparison(sides, shares, plan.texts, full)
        return Answered(plan, compare_sides(*shares), evidence, compared=1.0, settled=True)

    async def _silence(self, held: Held, plan: Plan, identity: Identity) -> Silent | None:
        """Whether a noul has no support: no neighbour at all, or a positive label that the history does not know."""
        if not held.vote.neighbours:
            return Silent(plan, no_neighbour(held))
        if noul_probability(held.vote.shares, plan.positive) > 0:
            return None
        if await self._labels.knows_label(plan.scope, plan.positive, identity):
            return None
        seen = ", ".join(labels_seen(list(held.vote.shares)))
        return Silent(
            plan,
            f"the history has no document with the positive label `{plan.positive}` in [{plan.scope.label_field}] "
            f"(decisions.positive_label); labels seen: {seen}",
        )


def _answer_choice(
    plan: Plan, question: ChoiceQuestion, text: VoteText, found: Retrieved, history: History, full: bool
) -> Outcome:
    offered = frozenset(question.options)
    held = hold_vote(text.text, found, history, plan.ballot, lambda label: label in offered)
    answer = answer_choice(held, question)
    if answer is None:
        return Silent(plan, _no_weight(held, "no neighbour carries one of the options"))
    evidence = _evidence(held, answer.choice, text, full)
    return Answered(plan, answer, evidence, held.vote.support(answer.choice), settled=held.correction is not None)


def _evidence(held: Held, label: str | None, text: VoteText, full: bool, *, p_raw: Omittable = OMIT) -> Evidence:
    return Evidence(
        tier=Tier.HISTORY,
        source=Tier.HISTORY.value,
        label=label,
        support=None if label is None else held.vote.support(label),
        found=held.vote.found,
        voted=held.vote.voted,
        unusable=held.vote.unusable,
        references=text.references or References(),
        marks=held.marks(truncated=text.truncated),
        p_raw=p_raw,
        neighbours=held.vote.neighbours if full else None,
    )


def _comparison(sides: Sequence[Held], shares: Sequence[float], texts: Sequence[VoteText], full: bool) -> Evidence:
    """The first side's evidence, with both sides' votes; a mark of either is a mark of the comparison."""
    first, second = (
        Side(
            share=share,
            label=held.vote.winner,
            found=held.vote.found,
            voted=held.vote.voted,
            unusable=held.vote.unusable,
            neighbours=held.vote.neighbours if full else None,
        )
        for held, share in zip(sides, shares, strict=True)
    )
    one, other = (held.marks(truncated=text.truncated) for held, text in zip(sides, texts, strict=True))
    marks = Marks(
        corrected_by=one.corrected_by or other.corrected_by,
        truncated=one.truncated or other.truncated,
        terms_cut=one.terms_cut or other.terms_cut,
        ties_cut=one.ties_cut or other.ties_cut,
        lookup_cut=one.lookup_cut or other.lookup_cut,
    )
    evidence = _evidence(sides[0], sides[0].vote.winner, texts[0], False)
    return replace(evidence, references=_both(texts), marks=marks, comparative=(first, second))


def _both(texts: Sequence[VoteText]) -> References:
    """The references of both sides, each once."""
    read = [text.references or References() for text in texts]
    used = dict.fromkeys(path for one in read for path in one.used)
    skipped = dict.fromkeys(path for one in read for path in one.skipped)
    return References(tuple(used), tuple(skipped), read[0].ignored)


def no_neighbour(held: Held) -> str:
    """Why a vote without neighbours is silent, with the three counts and the labels that could not vote."""
    counts = f"no labelled neighbour (found {held.vote.found}, voted 0, unusable {held.vote.unusable})"
    return counts + (f"; labels seen: {', '.join(held.labels_seen)}" if held.labels_seen else "")


def _no_weight(held: Held, why: str) -> str:
    if not held.vote.neighbours:
        return no_neighbour(held)
    seen = ", ".join(labels_seen(list(held.vote.shares)))
    return (
        f"{why} (found {held.vote.found}, voted {held.vote.voted}, unusable {held.vote.unusable}); labels seen: {seen}"
    )


def input_tokens(searches: Sequence[Search]) -> int:
    """Tokens of the distinct vote texts after the cap: what a request costs."""
    return sum(min(MAX_TOKENS, count_tokens(search.text)) for search in searches)
