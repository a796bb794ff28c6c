"""The loaded head: questions in, entailments out, in one pass of batches of equal length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import LocalUnavailable, TooLong
from sidecar.nli.labels import hypothesis
from sidecar.nli.pairs import Frame, Pair, Tokens, batches, premise_room
from sidecar.nli.questions import HeadAnswer, HeadQuestion
from sidecar.nli.score import entailment, renormalise

Encode: TypeAlias = Callable[[Sequence[str]], list[Tokens]]
"""Texts → their token ids, without special tokens."""

Forward: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Token ids and token types, shape (n_pairs, length) each → logits, shape (n_pairs, n_classes)."""

MAX_LENGTH = 512
"""Tokens of a pair; a model's own limit may be lower. The length that NLI models are trained and published with."""

SHOWN_LABEL_CHARS = 80


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """What a loaded head is, for status pages and `sidecar head check`."""

    directory: str
    architecture: str
    labels: tuple[str, ...]
    entailment_row: int
    limit_tokens: int
    parameters: int
    device: str
    threads: int


class Head:
    """Scores questions. May be called from any thread; passes run one after the other.

    The same questions give the same numbers in whatever order they come; other questions in the same pass move them
    by float32's last digits only, since a batch holds pairs of one length and no padding.
    """

    def __init__(self, facts: HeadFacts, encode: Encode, frame: Frame, forward: Forward, *, batch_tokens: int) -> None:
        self.facts = facts
        self._encode = encode
        self._frame = frame
        self._forward = forward
        self._batch_tokens = batch_tokens
        self._lock = Lock()

    def score(self, questions: Sequence[HeadQuestion]) -> list[HeadAnswer]:
        """Score all questions in one pass. Each distinct text is tokenised once, each distinct pair scored once.

        Raises  TooLong when a label leaves no room for a premise, LocalUnavailable when the model fails
        """
        with self._lock:
            plans = self._plan(questions)
            entailed = self._entailments(pair for plan in plans for pair in plan.pairs)
        return [plan.answer(entailed) for plan in plans]

    def _plan(self, questions: Sequence[HeadQuestion]) -> list[_Plan]:
        claims = {label: hypothesis(label) for question in questions for label in question.hypotheses}
        texts = list(dict.fromkeys([*(question.premise for question in questions), *claims.values()]))
        tokens = dict(zip(texts, self._encode(texts), strict=True)) if texts else {}
        return [
            self._pairs(question, tokens[question.premise], [tokens[claims[label]] for label in question.hypotheses])
            for question in questions
        ]

    def _pairs(self, question: HeadQuestion, premise: Tokens, hypotheses: Sequence[Tokens]) -> _Plan:
        limit, frame = self.facts.limit_tokens, self._frame
        pairs, used = [], len(premise)
        for label, claim in zip(question.hypotheses, hypotheses, strict=True):
            room = premise_room(limit, frame, len(claim))
            if room < 1:
                raise _label_too_long(question.id, label, limit, limit + 1 - room)
            kept = premise[:room]
            used = min(used, len(kept))
            ids = frame.join(kept, claim)
            pairs.append(Pair(len(ids), ids, frame.join_types(len(kept), len(claim))))
        cut = (used, len(premise)) if used < len(premise) else None
        return _Plan(tuple(pairs), cut)

    def _entailments(self, pairs: Iterable[Pair]) -> dict[Pair, float]:
        entailed: dict[Pair, float] = {}
        for batch in batches(pairs, self._batch_tokens):
            ids = np.array([pair.ids for pair in batch], dtype=np.int64)
            types = np.array([pair.types for pair in batch], dtype=np.int64)
            try:
                logits = self._forward(ids, types)
            except Exception as error:  # the library's own, of any kind
                cause = f"{type(error).__name__}: {error}".splitlines()[0]
                raise LocalUnavailable(f"the local model cannot score: {cause}; {self.facts.directory}") from error
            entailed.update(zip(batch, entailment(logits, self.facts.entailment_row).tolist(), strict=True))
        return entailed


@dataclass(frozen=True, slots=True)
class _Plan:
    pairs: tuple[Pair, ...]
    premise_cut: tuple[int, int] | None

    def answer(self, entailed: dict[Pair, float]) -> HeadAnswer:
        values = tuple(entailed[pair] for pair in self.pairs)
        return HeadAnswer(values, renormalise(values), self.premise_cut)


def _label_too_long(question: str, label: str, limit: int, needed: int) -> TooLong:
    shown = label if len(label) <= SHOWN_LABEL_CHARS else label[:SHOWN_LABEL_CHARS] + "…"
    return TooLong(
        f'question "{question}": the label "{shown}" leaves no room for a text in the local model; shorten it',
        limit=limit,
        actual=needed,
        setting="tokens of a pair",
        questions=[question],
    )
