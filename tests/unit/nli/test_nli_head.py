"""The head over a tokenizer and a model of a few lines: what is cut, shared, refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.errors import LocalUnavailable, TooLong
from sidecar.nli import Head, HeadQuestion
from sidecar.nli.head import HeadFacts
from sidecar.nli.pairs import Frame

LIMIT = 16
FRAME = Frame(before=(1,), between=(2,), after=(2,), types=(0, 0, 0, 1, 1))


class Model:
    """One token a word; a pair's logit for "entailed" is the sum of its ids, small. Strict about its input."""

    def __init__(self, logit: float | None = None, error: Exception | None = None) -> None:
        self.encoded: list[str] = []
        self.batches: list[tuple[int, int]] = []
        self._logit, self._error = logit, error

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        assert len(set(texts)) == len(texts)
        self.encoded += texts
        return [tuple(10 + len(word) for word in text.split()) for text in texts]

    def forward(self, ids: NDArray[np.int64], types: NDArray[np.int64]) -> NDArray[np.float32]:
        assert ids.shape == types.shape
        assert ids.shape[1] <= LIMIT
        self.batches.append((ids.shape[0], ids.shape[1]))
        if self._error is not None:
            raise self._error
        entailed = ids.sum(axis=1) / 100 if self._logit is None else np.full(len(ids), self._logit)
        return np.stack([entailed, np.zeros(len(ids))], axis=1).astype(np.float32)


def head_of(model: Model, batch_tokens: int = 1000) -> Head:
    facts = HeadFacts("dir", "Fake", ("entailment", "other"), 0, LIMIT, 1, "cpu", 1)
    return Head(facts, model.encode, FRAME, model.forward, batch_tokens=batch_tokens)


def test_no_questions_no_pass() -> None:
    model = Model()
    assert head_of(model).score([]) == []
    assert model.batches == []


def test_texts_are_tokenised_once_and_equal_pairs_scored_once() -> None:
    model = Model()
    questions = [HeadQuestion(str(i), "a bb", ("x", "yy", "x")) for i in range(5)]
    answers = head_of(model).score(questions)
    assert len(model.encoded) == 3
    assert sum(rows for rows, _ in model.batches) == 2
    assert all(answer == answers[0] for answer in answers)
    assert answers[0].entailment[0] == answers[0].entailment[2]
    assert sum(answers[0].probabilities) == pytest.approx(1.0)


def test_the_same_questions_in_another_order_have_the_same_answers() -> None:
    questions = [HeadQuestion(str(i), "w " * (i % 4 + 1), tuple("abcdef"[: i % 5 + 1])) for i in range(12)]
    answers = head_of(Model(), batch_tokens=30).score(questions)
    assert head_of(Model(), batch_tokens=30).score(questions[::-1]) == answers[::-1]


def test_only_the_premise_is_cut() -> None:
    # three special tokens, four of "This example is x."
    (fits,) = head_of(Model()).score([HeadQuestion("q", "w " * 9, ("x",))])
    (cut,) = head_of(Model()).score([HeadQuestion("q", "w " * 10, ("x",))])
    assert fits.premise_cut is None
    assert cut.premise_cut == (9, 10)


def test_the_cut_of_a_question_is_that_of_its_longest_label() -> None:
    (answer,) = head_of(Model()).score([HeadQuestion("q", "w " * 9, ("x", "x y z"))])
    assert answer.premise_cut == (7, 9)


def test_a_label_may_leave_one_token_for_the_text() -> None:
    (answer,) = head_of(Model()).score([HeadQuestion("q", "w " * 9, ("a b c d e f g h i",))])
    assert answer.premise_cut == (1, 9)


def test_a_label_that_leaves_no_room_is_named_with_its_question() -> None:
    label = " ".join(["long"] * 12)
    with pytest.raises(TooLong) as caught:
        head_of(Model()).score([HeadQuestion("ok", "w", ("x",)), HeadQuestion("queue", "w", ("x", label))])
    assert caught.value.questions == ("queue",)
    assert caught.value.limit == LIMIT
    assert caught.value.actual > LIMIT
    assert '"queue"' in str(caught.value)
    assert label in str(caught.value)


def test_a_huge_label_is_shown_in_part() -> None:
    with pytest.raises(TooLong) as caught:
        head_of(Model()).score([HeadQuestion("q", "w", ("long " * 20_000,))])
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("logit", [float("nan"), float("-inf"), -2000.0], ids=str)
def test_scores_without_a_sum_are_an_error(logit: float) -> None:
    with pytest.raises(LocalUnavailable):
        head_of(Model(logit=logit)).score([HeadQuestion("q", "w", ("x", "y"))])


def test_a_failure_of_the_library_is_translated_and_names_the_directory() -> None:
    with pytest.raises(LocalUnavailable, match=r"RuntimeError: out of memory; dir"):
        head_of(Model(error=RuntimeError("out of memory\nlong story"))).score([HeadQuestion("q", "w", ("x",))])
