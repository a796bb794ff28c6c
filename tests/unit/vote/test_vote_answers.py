"""Shares to probabilities: noul, choice, score, comparative."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_builders import vote

from sidecar.vote import (
    choice_distribution,
    comparative,
    heaviest,
    noul_probability,
    read_levels,
    rounded,
    score_distribution,
)

SHARES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 50), min_size=1).map(
    lambda parts: {label: part / sum(parts.values()) for label, part in parts.items()}
)


@pytest.mark.parametrize(
    ("shares", "positive", "probability"),
    [
        pytest.param({"spam": 0.75, "ham": 0.25}, "spam", 0.75, id="support"),
        pytest.param({"ham": 1.0}, "spam", 0.0, id="an honest zero"),
        pytest.param({"spam": 1.0000000000000002}, "spam", 1.0, id="clamped"),
    ],
)
def test_noul(shares, positive, probability):
    assert noul_probability(shares, positive) == probability


def test_a_noul_counts_all_labelled_weight():
    # 1 of 1 + 1/2 + 1/3
    assert noul_probability(vote(["spam", "ham", "other"]).shares, "spam") == pytest.approx(6 / 11, abs=1e-15)


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        pytest.param("ab", "ab", {"a": Fraction(2, 3), "b": Fraction(1, 3)}, id="all offered"),
        pytest.param("ab", "abc", {"a": Fraction(2, 3), "b": Fraction(1, 3), "c": 0}, id="no carrier: only the spread"),
        pytest.param("xa", "ab", {"a": Fraction(2, 3), "b": Fraction(1, 3)}, id="outside votes spread evenly"),
        pytest.param("xay", "abc", {"a": Fraction(17, 33), "b": Fraction(8, 33), "c": Fraction(8, 33)}, id="three"),
        pytest.param("xya", "a", {"a": 1}, id="one option"),
    ],
)
def test_choice(labels, options, expected):
    distribution = choice_distribution(vote(labels).shares, options)
    assert distribution == {option: pytest.approx(float(value), abs=1e-15) for option, value in expected.items()}
    assert list(distribution) == list(options)


@pytest.mark.parametrize(("labels", "options"), [("xyz", "ab"), ("xyz", "a"), ("", "ab")])
def test_a_choice_without_carried_options_has_no_support(labels, options):
    assert choice_distribution(vote(labels).shares, options) is None


def test_an_option_name_is_no_path():
    assert choice_distribution({"Earth.Magnetosphere": 1.0}, ["Earth.Magnetosphere", "Earth"]) == {
        "Earth.Magnetosphere": 1.0,
        "Earth": 0.0,
    }


@given(SHARES, st.permutations("abcdxy"))
def test_choice_is_a_distribution_and_ignores_the_order_of_options(shares, options):
    distribution = choice_distribution(shares, options)
    if not set(options) & shares.keys():
        assert distribution is None
        return
    assert math.fsum(distribution.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(0.0 <= value <= 1.0 for value in distribution.values())
    assert distribution == choice_distribution(shares, sorted(options))
    best = max(shares.get(option, 0.0) for option in options)
    assert max(distribution, key=distribution.get) in [o for o in options if shares.get(o, 0.0) == best]


def test_heaviest_is_the_better_ranked_of_equals():
    shares = vote(["b", "a", "a", "c", "c", "a"]).shares  # b and a weigh 1 each
    assert heaviest(shares, ["a", "b"]) == "b"
    assert heaviest(shares, ["a", "c"]) == "a"
    assert heaviest(shares, ["z"]) is None


TEXTS = ("bad", "fair", "good")


@pytest.mark.parametrize(
    ("labels", "level_texts", "history", "expected"),
    [
        pytest.param(["good", "bad"], TEXTS, None, [1 / 3, 0.0, 2 / 3], id="by text"),
        pytest.param(["2", "0"], TEXTS, {"0", "1", "2"}, [1 / 3, 0.0, 2 / 3], id="by index"),
        pytest.param(["2", "0"], (None, None, None), {"0", "2"}, [1 / 3, 0.0, 2 / 3], id="by index, object levels"),
        pytest.param(["2", "0"], ("2", "1", "0"), {"0", "1", "2"}, [2 / 3, 0.0, 1 / 3], id="text before index"),
        pytest.param(["good", "0"], TEXTS, {"0", "good"}, None, id="never mixed"),
        pytest.param(["good", "other"], TEXTS, None, None, id="a label that is no level"),
        pytest.param(["Good"], TEXTS, None, None, id="exact text"),
        pytest.param(["1", "2"], TEXTS, {"1", "2"}, None, id="history counts from 1"),
        pytest.param(["1", "0"], TEXTS, {"0", "1", "3"}, None, id="history goes beyond the scale"),
        pytest.param(["1", "0"], TEXTS, {"0", "1", "spam"}, None, id="history has other labels"),
        pytest.param(["1", "0"], TEXTS, None, None, id="labels of the history unknown"),
        pytest.param(["1", "7"], TEXTS, {"0", "1"}, None, id="a label newer than the cached list"),
        pytest.param(["01", "0"], TEXTS, {"0", "01"}, None, id="no plain integer"),
        pytest.param(["bad"], ("bad", "bad"), None, None, id="a text that names two levels"),
        pytest.param(["good"], ("bad", "bad", "good"), None, [0.0, 0.0, 1.0], id="another text names two levels"),
        pytest.param(["bad"], ("bad",), None, [1.0], id="one level"),
        pytest.param([], TEXTS, {"0"}, None, id="no neighbour"),
    ],
)
def test_score(labels, level_texts, history, expected):
    history_labels = None if history is None else frozenset(history)
    levels = score_distribution(vote(labels).shares, level_texts, history_labels)
    assert levels == (expected if expected is None else pytest.approx(expected, abs=1e-15))


def test_a_reading_names_every_level_so_that_a_correction_can_be_checked():
    assert read_levels(["good"], TEXTS, None) == {"bad": 0, "fair": 1, "good": 2}
    assert read_levels(["1"], TEXTS, frozenset("012")) == {"0": 0, "1": 1, "2": 2}


@pytest.mark.parametrize(
    ("first", "second", "answer"), [(1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.4, 0.4, 0.5), (0.75, 0.25, 0.75)]
)
def test_comparative(first, second, answer):
    assert comparative(first, second) == answer
    assert comparative(second, first) == 1.0 - answer


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0000001, 1.0), (-1e-17, 0.0), (0.8536071, 0.853607), (2 / 3, 0.666667)]
)
def test_rounded(value, shown):
    assert rounded(value) == shown
