"""What each question asks of the history: its text, its scope, and which labels it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sidecar.node import Search
from sidecar.payload import ComparativeText, State, VoteText, build_question_text
from sidecar.settings import History
from sidecar.terms import ChoiceQuestion, JsonValue, NoulQuestion, Question, Scope, ScoreQuestion
from sidecar.vote import Ballot


@dataclass(frozen=True, slots=True)
class Plan:
    """One question on its way: where it votes and on what."""

    question: Question
    scope: Scope
    positive: str
    ballot: Ballot
    text: VoteText | ComparativeText

    @property
    def texts(self) -> tuple[VoteText, ...]:
        """The texts to vote on: one, or both sides of a comparison."""
        if isinstance(self.text, ComparativeText):
            return (self.text.first, self.text.second)
        return (self.text,)


def plan_questions(questions: Sequence[Question], state: JsonValue, history: History, limit_chars: int) -> list[Plan]:
    """Plan every question of a request.

    Raises  IllegalArgument for the first question whose references are broken or that has no text
    """
    prepared = State.of(state)
    return [
        Plan(
            question=question,
            scope=history.scope(question.id),
            positive=history.positive(question.id),
            ballot=_ballot(question, history.positive(question.id)),
            text=build_question_text(question, prepared, limit_chars),
        )
        for question in questions
    ]


def _ballot(question: Question, positive: str) -> Ballot:
    match question:
        case NoulQuestion():
            return Ballot.for_positive(positive)
        case ChoiceQuestion():
            return Ballot.for_labels(question.options)
        case ScoreQuestion():
            return Ballot.for_labels(level for level in question.levels if isinstance(level, str))


def build_searches(plans: Iterable[Plan], history: History) -> dict[tuple[str, Scope], Search]:
    """One search per distinct text and scope, however many questions share them."""
    ballots: dict[tuple[str, Scope], dict[Ballot, None]] = {}
    for plan in plans:
        for text in plan.texts:
            ballots.setdefault((text.text, plan.scope), {})[plan.ballot] = None
    return {
        (text, scope): Search(text, scope, history.k, tuple(asked), lookup=history.human_weight > 1.0)
        for (text, scope), asked in ballots.items()
    }
