"""The local tier: a zero-shot model on disk answers what history leaves open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from sidecar.api import Answer, ChoiceAnswer, Evidence, NoulAnswer, PremiseCut, ScoreAnswer
from sidecar.decide.plan import Plan
from sidecar.decide.tier import compare_sides
from sidecar.nli import HeadAnswer, HeadQuestion
from sidecar.payload import VoteText, leaf_text
from sidecar.terms import LOCAL_MODEL, ChoiceQuestion, NoulQuestion, QuestionId, References, ScoreQuestion, Tier
from sidecar.vote import arg_max, choice_confidence, expected_level, score_confidence, settle, settle_levels


class Head(Protocol):
    """A loaded model. Scoring takes milliseconds to seconds of a core and never waits for anything else."""

    def score(self, questions: Sequence[HeadQuestion]) -> list[HeadAnswer]:
        """The entailment of every hypothesis, question by question."""
        ...


class LocalHead:
    """The head of this process: loaded on first use, used from one thread, off the event loop.

    A failed load is tried again by the next request, so that a directory may be put right while the sidecar runs.
    """

    def __init__(self, load: Callable[[], Head]) -> None:
        self._load = load
        self._head: Head | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sidecar-head")

    async def score(self, questions: Sequence[HeadQuestion]) -> list[HeadAnswer]:
        """Score one request's questions in one pass. A cancelled request stops waiting; the pass itself ends first.

        Raises  LocalUnavailable, TooLong
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._score, list(questions))

    def _score(self, questions: list[HeadQuestion]) -> list[HeadAnswer]:
        if self._head is None:
            self._head = self._load()
        return self._head.score(questions)

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._head is not None

    def preload(self) -> None:
        """Begin loading now; a failure shows with the first request that needs the head."""
        self._thread.submit(self._score, [])

    def close(self) -> None:
        """Let go of the thread; a pass in progress ends first."""
        self._thread.shutdown(wait=True, cancel_futures=True)


class LocalTier:
    """Answers planned questions by the head."""

    def __init__(self, head: LocalHead) -> None:
        self._head = head

    async def answer(self, plans: Sequence[Plan]) -> dict[QuestionId, tuple[Answer, Evidence]]:
        """Answer every question of the plans in one pass.

        Raises  LocalUnavailable, TooLong
        """
        asked = [question for plan in plans for question in _head_questions(plan)]
        scored = iter(await self._head.score(asked))
        answers = {}
        for plan in plans:
            parts = [next(scored) for _ in plan.texts]
            answers[plan.question.id] = (_answer(plan, parts), _evidence(plan, parts))
        return answers

    async def score_positive(self, question: str, positive: str) -> HeadAnswer:
        """The positive label against its negation, for a bare text.

        Raises  LocalUnavailable, TooLong
        """
        (scored,) = await self._head.score([HeadQuestion("question", question, noul_labels(positive))])
        return scored


def noul_labels(positive: str) -> tuple[str, str]:
    """The two labels that a noul is scored between."""
    return (positive, f"not {positive}")


def _labels(plan: Plan) -> tuple[str, ...]:
    match plan.question:
        case NoulQuestion():
            return noul_labels(plan.positive)
        case ChoiceQuestion(options=options):
            return options
        case ScoreQuestion(levels=levels):
            return tuple(leaf_text(level) for level in levels)


def _head_questions(plan: Plan) -> list[HeadQuestion]:
    return [HeadQuestion(plan.question.id, text.text, _labels(plan)) for text in plan.texts]


def _answer(plan: Plan, parts: Sequence[HeadAnswer]) -> Answer:
    match plan.question:
        case NoulQuestion() if len(parts) == 2:
            return compare_sides(parts[0].probabilities[0], parts[1].probabilities[0])
        case NoulQuestion():
            return NoulAnswer(parts[0].probabilities[0])
        case ChoiceQuestion(options=options):
            settled = settle(dict(zip(options, parts[0].probabilities, strict=True)))
            return ChoiceAnswer(arg_max(settled), choice_confidence(list(settled.values())), settled)
        case ScoreQuestion(levels=levels):
            shares = settle_levels(parts[0].probabilities)
            return ScoreAnswer(expected_level(shares), score_confidence(shares), levels, shares)


def _evidence(plan: Plan, parts: Sequence[HeadAnswer]) -> Evidence:
    labels, first = _labels(plan), parts[0]
    best = max(range(len(labels)), key=lambda place: first.probabilities[place])
    cut = next((part.premise_cut for part in parts if part.premise_cut is not None), None)
    text: VoteText = plan.texts[0]
    return Evidence(
        tier=Tier.LOCAL,
        source=Tier.LOCAL.value,
        label=labels[best],
        support=None,
        references=text.references or References(),
        model=LOCAL_MODEL,
        hypotheses=labels,
        premise_cut=None if cut is None else PremiseCut(*cut),
    )


def with_history_counts(local: Evidence, history: Evidence) -> Evidence:
    """The evidence of an escalated question: the head answered, and this is what the history had said."""
    return replace(
        local,
        found=history.found,
        voted=history.voted,
        unusable=history.unusable,
        marks=history.marks,
        p_raw=history.p_raw,
    )
