"""The history tier: from retrieved hits to a vote, and from a vote to an answer. No waiting, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sidecar.api import ChoiceAnswer, Marks, NoulAnswer, ScoreAnswer
from sidecar.node import Retrieved
from sidecar.settings import History
from sidecar.terms import ChoiceQuestion, Label, ScoreQuestion, Vote
from sidecar.vote import (
    Ballot,
    Hit,
    arg_max,
    choice_confidence,
    choice_distribution,
    comparative,
    correct_noul,
    correct_shares,
    expected_level,
    find_correction,
    heaviest,
    insert_correction,
    labels_seen,
    lookup_is_cut,
    noul_probability,
    rank,
    read_levels,
    score_confidence,
    score_distribution,
    settle,
    settle_levels,
    tally,
    ties_are_cut,
)


@dataclass(frozen=True, slots=True)
class Held:
    """A vote as it was held.

    correction  the person's document that decides, None where ordinary weights do
    served      the shares that answers are made from: the vote's own, or the corrected ones
    labels_seen what the label field of hits held, for a message where nothing voted
    """

    vote: Vote
    correction: Hit | None
    served: Mapping[Label, float]
    lookup_cut: bool
    labels_seen: tuple[str, ...] = ()

    def marks(self, *, truncated: bool = False) -> Marks:
        """What a reader of this vote should know."""
        return Marks(
            corrected_by=None if self.correction is None else self.correction.id,
            truncated=truncated,
            terms_cut=self.vote.terms_cut,
            ties_cut=self.vote.ties_cut,
            lookup_cut=self.lookup_cut,
        )


def hold_vote(
    text: str, retrieved: Retrieved, history: History, ballot: Ballot, applies: Callable[[Label], bool]
) -> Held:
    """Rank and tally the hits of one text; a correction that applies takes its place first."""
    ranked = rank(retrieved.hits, history.k, ballot)
    correction = find_correction((*retrieved.lookup, *retrieved.hits), text, applies, human_weight=history.human_weight)
    if correction is not None:
        ranked = insert_correction(ranked, correction, history.k)
    vote = tally(
        ranked,
        history.human_weight,
        ties_cut=ties_are_cut(retrieved.hits, history.k, ballot, exhausted=retrieved.exhausted),
        terms_cut=retrieved.terms_cut,
    )
    served = vote.shares
    if correction is not None and correction.label is not None:
        served = correct_shares(vote.shares, correction.label, history.escalate_below)
    return Held(
        vote=vote,
        correction=correction,
        served=served,
        lookup_cut=bool(retrieved.lookup) and lookup_is_cut(retrieved.lookup, text),
        labels_seen=() if vote.neighbours else tuple(labels_seen(hit.raw_label for hit in retrieved.hits)),
    )


def answer_noul(held: Held, positive: str, escalate_below: float) -> NoulAnswer:
    """The probability of yes: the positive label's support, or the corrected one."""
    probability = noul_probability(held.vote.shares, positive)
    if held.correction is not None:
        confirms = held.correction.label == positive
        probability = correct_noul(probability, confirms=confirms, escalate_below=escalate_below)
    return NoulAnswer(probability)


def compare_sides(first_share: float, second_share: float) -> NoulAnswer:
    """How probable it is that the first-named side wins."""
    return NoulAnswer(comparative(first_share, second_share))


def answer_choice(held: Held, question: ChoiceQuestion) -> ChoiceAnswer | None:
    """The distribution over the options, None when no option carries weight."""
    distribution = choice_distribution(held.served, question.options)
    if distribution is None:
        return None
    winner = heaviest(held.served, question.options)
    probabilities = settle(distribution, winner)
    return ChoiceAnswer(
        choice=arg_max(probabilities, winner),
        confidence=choice_confidence(list(probabilities.values())),
        probabilities=probabilities,
    )


def answer_score(held: Held, question: ScoreQuestion, history_labels: frozenset[str] | None) -> ScoreAnswer | None:
    """The distribution over the levels, None where the labels cannot be read as levels."""
    texts = level_texts(question)
    distribution = score_distribution(held.served, texts, history_labels)
    reading = read_levels(held.served, texts, history_labels)
    if distribution is None or reading is None:
        return None
    winner = next((reading[label] for label in held.served), None)
    probabilities = settle_levels(distribution, winner)
    return ScoreAnswer(
        score=expected_level(probabilities),
        confidence=score_confidence(probabilities),
        legend=question.levels,
        probabilities=probabilities,
    )


def level_texts(question: ScoreQuestion) -> list[str | None]:
    """The levels that are texts; a structured level has none to compare a label with."""
    return [level if isinstance(level, str) else None for level in question.levels]


def may_be_indices(labels: Mapping[Label, float], question: ScoreQuestion) -> bool:
    """Whether the labels of the vote could be level numbers, so that the history's labels are worth asking for."""
    numbers = {str(level) for level in range(len(question.levels))}
    return bool(labels) and set(labels) <= numbers
