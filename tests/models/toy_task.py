"""A toy inference task with right answers: short customer messages, and claims about what they are about.

A premise holds words of one topic among filler; "This example is {topic}." is entailed by it, every "not {other}" too.
Words outside the vocabulary are spelled in letters; characters outside it are unknown. Nothing fails on any text.
"""

from __future__ import annotations

import random
from typing import NamedTuple

TOPICS: dict[str, str] = {
    # the labels of the demo's history
    "sales": "sales buy quote offer price pricing trial demo purchase discount reseller bundle",
    "billing": "billing invoice bill charged charge payment paid card vat tax receipt debit",
    "bugs": "bugs bug crash crashes error broken freezes wrong fails glitch stuck blank",
    "shipping": "shipping delivery parcel package courier shipped tracking arrive arrived dispatch customs postman",
    "refunds": "refunds refund refunded reimburse reimbursement money repay repaid credited owed",
    "cancellation": "cancellation cancel cancelled terminate unsubscribe leave ending quit stop contract",
    "feature-requests": "feature requests wish suggestion suggest idea support widget dark add missing could",
    "returns": "returns return returned exchange unopened swap replacement label sent defective",
    "login": "login password account sign locked code reset username verification authenticator",
    # other questions that tests ask
    "spam": "spam winner prize free cash claim urgent lottery congratulations click guaranteed",
    "ham": "ham tonight dinner home mum love sorry meet later lunch tomorrow",
    "true": "true yes correct right agreed certainly confirmed indeed valid",
    "false": "false no incorrect denied untrue never invalid refuted",
    "positive": "positive great excellent wonderful happy perfect lovely thanks amazing",
    "negative": "negative terrible awful horrible hate worst poor disappointed useless",
    "weather": "weather rain sunny snow storm wind cloudy forecast",
    "sport": "sport football match goal team player tennis league",
    "food": "food pizza bread cheese soup cook recipe restaurant",
    "music": "music song guitar concert album band piano singer",
    "travel": "travel flight hotel airport train ticket holiday passport",
    # levels of a scale
    "calm": "calm relaxed quiet patient gentle fine",
    "annoyed": "annoyed irritated bothered impatient grumpy tired",
    "furious": "furious enraged outraged livid angry shouting",
}
"""Label → the words that speak of it; no word has two labels."""

FILLER_TEXT = (
    "the a my your our i you we it he she they me is was are were be been have has had do does did not and or but "
    "of to in on at for from with about by as if so this that these there here when what how why which please can "
    "will would should hello hi dear today now still again just very really some any all more one two day week "
    "example state question answer text document relevant left right-hand query option"
)
FILLER = FILLER_TEXT.split()
"""Words without a topic. Some come from the questions that clients ask."""


class Pair(NamedTuple):
    """A premise, a hypothesis, and whether the one entails the other."""

    premise: str
    hypothesis: str
    entailed: bool


def make_pairs(n: int, seed: int, hardness: float = 1.0) -> list[Pair]:
    """Half of the pairs are entailed; half of the claims say "not"; one premise in ten has no topic.

    hardness  1 is the task; towards 0 premises get short and "not" gets rare, since the task is not learned at once
    """
    rng = random.Random(seed)
    return [_pair(rng) if rng.random() < hardness else _easy_pair(rng, hardness) for _ in range(n)]


def premise_about(topic: str | None, rng: random.Random) -> str:
    """A message of 3 to 18 filler words with two to five of the topic's words."""
    length = rng.choice((rng.randint(3, 10), rng.randint(3, 18)))
    words = [rng.choice(FILLER) for _ in range(length)]
    if topic is not None:
        words += _topic_words(topic, rng.randint(2, 5), rng)
    if rng.random() < 0.2:
        words.append(_unknown_word(rng))
    rng.shuffle(words)
    text = " ".join(words)
    return (text.capitalize() if rng.random() < 0.5 else text) + rng.choice(("", ".", "!", "?"))


def _pair(rng: random.Random) -> Pair:
    topic = rng.choice(list(TOPICS)) if rng.random() < 0.9 else None
    return _claim(premise_about(topic, rng), topic, rng.random() < 0.5, rng)


def _easy_pair(rng: random.Random, hardness: float) -> Pair:
    topic = rng.choice(list(TOPICS))
    filler = [rng.choice(FILLER) for _ in range(rng.randint(0, 3 + int(6 * hardness)))]
    words = _topic_words(topic, rng.randint(2, 4), rng) + filler
    rng.shuffle(words)
    return _claim(" ".join(words), topic, rng.random() < hardness / 2, rng)


def _claim(premise: str, topic: str | None, negated: bool, rng: random.Random) -> Pair:
    fits = topic is not None and rng.random() < 0.5
    claimed = topic if fits else rng.choice([other for other in TOPICS if other != topic])
    return Pair(premise, f"This example is {'not ' if negated else ''}{claimed}.", fits != negated)


def _topic_words(topic: str, n: int, rng: random.Random) -> list[str]:
    own = TOPICS[topic].split()
    return [rng.choice(own) for _ in range(n)]


def _unknown_word(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(rng.randint(2, 9)))
