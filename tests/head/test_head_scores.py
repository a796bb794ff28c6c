"""The tiny trained model: right answers, the library's own numbers, and nothing that depends on company."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_task import TOPICS, make_pairs, premise_about

from sidecar.errors import TooLong
from sidecar.nli import Head, HeadAnswer, HeadQuestion

HELD_OUT_SEED = 1_000_000
LABELS = tuple(TOPICS)

pytestmark = pytest.mark.timeout(120)

Entailments = Callable[[str, tuple[str, ...]], dict[str, float]]


@pytest.fixture(scope="session")
def pipeline(tiny_model_dir: Path) -> Entailments:
    """The library's own zero-shot pipeline over the same files: entailment against its opposite, label by label."""
    import torch
    from transformers import pipeline

    pipe: Any = pipeline("zero-shot-classification", model=str(tiny_model_dir), device="cpu", dtype=torch.float32)

    def entailments(text: str, labels: tuple[str, ...]) -> dict[str, float]:
        told = pipe(text, list(labels), hypothesis_template="This example is {}.", multi_label=True)
        return dict(zip(told["labels"], told["scores"], strict=True))

    return entailments


def test_it_says_what_it_is(tiny_head: Head, tiny_model_dir: Path) -> None:
    facts = tiny_head.facts
    assert facts.directory == str(tiny_model_dir)
    assert facts.labels[facts.entailment_row] == "entailment"
    assert (facts.limit_tokens, facts.device, facts.threads) == (512, "cpu", 1)
    assert 80_000 < facts.parameters < 100_000


def label_of(claim: str) -> str:
    return claim.removeprefix("This example is ").removesuffix(".")


def test_it_is_right_on_pairs_that_training_did_not_see(tiny_head: Head) -> None:
    pairs = make_pairs(1000, seed=HELD_OUT_SEED)
    labels = [pair.hypothesis.removeprefix("This example is ").removesuffix(".") for pair in pairs]
    answers = tiny_head.score(
        [HeadQuestion("q", pair.premise, (label,)) for pair, label in zip(pairs, labels, strict=True)]
    )
    right = [(answer.entailment[0] > 0.5) == pair.entailed for answer, pair in zip(answers, pairs, strict=True)]
    assert np.mean(right) >= 0.95


def test_it_chooses_the_right_label_among_all(tiny_head: Head) -> None:
    rng = random.Random(HELD_OUT_SEED)
    topics = [rng.choice(LABELS) for _ in range(200)]
    answers = tiny_head.score([HeadQuestion("q", premise_about(topic, rng), LABELS) for topic in topics])
    chosen = [LABELS[int(np.argmax(answer.probabilities))] for answer in answers]
    assert np.mean([label == topic for label, topic in zip(chosen, topics, strict=True)]) >= 0.9
    assert all(sum(answer.probabilities) == pytest.approx(1.0) for answer in answers)


def test_scores_equal_the_pipelines(tiny_head: Head, pipeline: Entailments) -> None:
    rng = random.Random(3)
    texts = [premise_about(rng.choice(LABELS), rng) for _ in range(40)] + [
        "Ünknown “words” 🦑 and [SEP] tokens",
        "word " * 700,
    ]
    labels = (*LABELS, "not spam", 'quo"ted', "50%")
    ours = np.array([answer.entailment for answer in tiny_head.score([HeadQuestion("q", t, labels) for t in texts])])
    told = [pipeline(text, labels) for text in texts]
    theirs = np.array([[scores[label] for label in labels] for scores in told])
    assert theirs.std() >= 0.1
    assert np.abs(ours - theirs).max() <= 1e-4


def mixed_questions(n: int = 30) -> list[HeadQuestion]:
    rng = random.Random(11)
    texts = [premise_about(rng.choice(LABELS), rng) * rng.choice((1, 1, 6)) for _ in range(n)]
    return [HeadQuestion(str(i), text, tuple(rng.sample(LABELS, rng.randint(1, 9)))) for i, text in enumerate(texts)]


def difference(one: list[HeadAnswer], other: list[HeadAnswer]) -> float:
    pairs = zip(one, other, strict=True)
    return max(float(np.abs(np.subtract(a.entailment, b.entailment)).max()) for a, b in pairs)


def test_scores_alone_and_in_company_agree(tiny_head: Head) -> None:
    questions = mixed_questions()
    alone = [tiny_head.score([question])[0] for question in questions]
    assert difference(tiny_head.score(questions), alone) <= 1e-5


def test_the_same_questions_give_the_same_numbers_in_any_order(tiny_head: Head) -> None:
    questions = mixed_questions()
    answers = dict(zip(questions, tiny_head.score(questions), strict=True))
    random.Random(5).shuffle(questions)
    assert tiny_head.score(questions) == [answers[question] for question in questions]


def test_the_premise_is_cut_and_counted(tiny_head: Head, tiny_model_dir: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model_dir, local_files_only=True)
    given = len(tokenizer("my parcel " * 400, add_special_tokens=False)["input_ids"])
    longest = len(tokenizer("This example is not ham.", add_special_tokens=False)["input_ids"])
    (answer,) = tiny_head.score([HeadQuestion("q", "my parcel " * 400, ("spam", "not ham"))])
    assert answer.premise_cut == (512 - 3 - longest, given)


def test_a_label_without_room_for_a_text_is_refused(tiny_head: Head) -> None:
    with pytest.raises(TooLong) as caught:
        tiny_head.score([HeadQuestion("queue", "my parcel", ("shipping", "refund " * 600))])
    assert caught.value.questions == ("queue",)
    assert caught.value.limit == 512


WEIRD = {
    "emoji": "🦑👩‍👩‍👧‍👦 🇩🇪",
    "nul": "a\0b\0",
    "only_nul": "\0\0",
    "control": "\x01\x02\x1b[31m",
    "right_to_left": "\u202eשלום עליכם",
    "han": "漢字" * 5_000,
    "one_token_of_100_kb": "x" * 100_000,
    "many_words_of_100_kb": "parcel " * 14_286,
    "combining": "e" + "\u0301" * 2_000,
    "special_tokens": "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "blank": " \n\t",
    "newline_soup": "\r\n" * 1_000 + "parcel",
}


@pytest.mark.parametrize("text", WEIRD.values(), ids=WEIRD)
def test_any_text_is_scored(tiny_head: Head, text: str) -> None:
    label = text if len(text) < 100 else "shipping"
    (answer,) = tiny_head.score([HeadQuestion("q", text, ("shipping", label))])
    assert sum(answer.probabilities) == pytest.approx(1.0)
    assert all(0.0 <= value <= 1.0 for value in answer.probabilities)
