"""Served numbers: six decimals, sum 1, arg-max kept, confidence from the served ones."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.vote import (
    arg_max,
    choice_confidence,
    choice_distribution,
    comparative,
    correct_shares,
    expected_level,
    heaviest,
    rounded,
    score_confidence,
    settle,
    settle_levels,
)

PARTS = st.lists(st.integers(0, 1000), min_size=1, max_size=255).filter(any)


@pytest.mark.parametrize(
    ("distribution", "winner", "settled"),
    [
        pytest.param({"a": 1.0}, None, {"a": 1.0}, id="one"),
        pytest.param({"a": 0.999751, "b": 0.000249}, None, {"a": 0.999751, "b": 0.000249}, id="no float artefact"),
        pytest.param({"a": 1 / 3, "b": 2 / 3}, None, {"a": 0.333333, "b": 0.666667}, id="thirds"),
        pytest.param(dict.fromkeys("abc", 1 / 3), None, {"a": 0.333334, "b": 0.333333, "c": 0.333333}, id="first"),
        pytest.param(dict.fromkeys("abc", 1 / 3), "b", {"a": 0.333333, "b": 0.333334, "c": 0.333333}, id="winner"),
        pytest.param({"a": 2 / 3, "b": 1 / 3}, "b", {"a": 0.666667, "b": 0.333333}, id="a loser is no winner"),
        pytest.param({"a": 0.8, "b": 1 - 0.8}, None, {"a": 0.8, "b": 0.2}, id="1 - 0.8 is below 0.2"),
        pytest.param({"a": 0.49999999990, "b": 0.5000000001}, "a", {"a": 0.5, "b": 0.5}, id="equal within 1e-9"),
        pytest.param({"a": 0.99999951, "b": 0.00000049}, None, {"a": 1.0, "b": 0.0}, id="floored, not rounded"),
        pytest.param({"a": 0.6, "b": 1.4}, None, {"a": 0.3, "b": 0.7}, id="normalised"),
    ],
)
def test_settle(distribution, winner, settled):
    assert settle(distribution, winner) == settled


@pytest.mark.parametrize("distribution", [{"a": 0.0}, {"a": math.nan}, {"a": math.inf}])
def test_no_distribution(distribution):
    with pytest.raises(ValueError, match="positive, finite sum"):
        settle(distribution)


@given(PARTS)
def test_settled_numbers_are_a_distribution(parts):
    total = sum(parts)
    settled = settle_levels([part / total for part in parts])
    exact = [Fraction(part, total) for part in parts]
    assert abs(sum(settled) - 1.0) <= 1e-6
    assert all(0.0 <= value <= 1.0 and value == round(value, 6) for value in settled)
    winner = parts.index(max(parts))
    assert settled[winner] == max(settled)
    for level, (value, wanted) in enumerate(zip(settled, exact, strict=True)):
        assert abs(Fraction(value) - wanted) < Fraction(len(parts) if level == winner else 1, 10**6)


@given(PARTS, st.data())
def test_a_named_winner_among_equals_is_a_maximum(parts, data):
    total = sum(parts)
    best = [level for level, part in enumerate(parts) if part == max(parts)]
    winner = data.draw(st.sampled_from(best))
    noise = [1 + data.draw(st.sampled_from([-1e-13, 0, 1e-13])) for _ in parts]
    settled = settle(dict(enumerate(n * part / total for n, part in zip(noise, parts, strict=True))), winner)
    assert arg_max(settled, winner) == winner
    assert abs(math.fsum(settled.values()) - 1.0) <= 1e-6


def test_255_options_and_one_faint_carrier():
    options = [f"o{number}" for number in range(255)]
    shares = {"elsewhere": 0.999, "o7": 0.001}
    probabilities = settle(choice_distribution(shares, options), heaviest(shares, options))
    assert abs(sum(probabilities.values()) - 1.0) <= 1e-6
    assert arg_max(probabilities) == "o7"
    assert probabilities["o8"] == 0.003917  # 0.999 / 255


@pytest.mark.parametrize(
    ("probabilities", "winner", "choice"),
    [
        pytest.param({"a": 0.2, "b": 0.8}, None, "b", id="heaviest"),
        pytest.param({"a": 0.5, "b": 0.5}, None, "a", id="first of equals"),
        pytest.param({"a": 0.5, "b": 0.5}, "b", "b", id="the named one of equals"),
        pytest.param({"a": 0.6, "b": 0.4}, "b", "a", id="never a lighter one"),
    ],
)
def test_arg_max(probabilities, winner, choice):
    assert arg_max(probabilities, winner) == choice


@pytest.mark.parametrize(
    ("probabilities", "confidence"),
    [
        pytest.param([1.0], 1.0, id="one option"),
        pytest.param([1.0, 0.0], 1.0, id="certain"),
        pytest.param([0.5, 0.5], 0.0, id="split"),
        pytest.param([0.75, 0.25], 0.5, id="two"),
        pytest.param([0.333334, 0.333333, 0.333333], 0.000001, id="hardly above even"),
        pytest.param([0.4, 0.3, 0.2, 0.1], 0.2, id="four"),
    ],
)
def test_choice_confidence(probabilities, confidence):
    assert choice_confidence(probabilities) == confidence


@pytest.mark.parametrize(
    ("probabilities", "confidence", "level"),
    [
        pytest.param([1.0], 1.0, 0.0, id="one level"),
        pytest.param([0.0, 0.0, 1.0], 1.0, 2.0, id="certain"),
        # D = 2/3, distance 0.5
        pytest.param([0.0, 0.5, 0.5], 0.25, 1.5, id="neighbouring levels, first mode"),
        pytest.param([0.5, 0.0, 0.5], 0.0, 1.0, id="both ends"),
        # D = 1.2, mode 2, distance 0.1*2 + 0.2 + 0.1 + 0.1*2 = 0.7
        pytest.param([0.1, 0.2, 0.5, 0.1, 0.1], 0.416667, 1.9, id="five"),
        # D = 1/2, distance 0.2
        pytest.param([0.8, 0.2], 0.6, 0.2, id="two"),
    ],
)
def test_score_numbers(probabilities, confidence, level):
    assert score_confidence(probabilities) == confidence
    assert expected_level(probabilities) == level


@given(PARTS.filter(lambda parts: len(parts) <= 10))
def test_derived_numbers_follow_the_formulas(parts):
    served = settle_levels([part / sum(parts) for part in parts])
    n = len(served)
    mode = served.index(max(served))
    assert expected_level(served) == pytest.approx(sum(i * p for i, p in enumerate(served)), abs=1e-9)
    assert 0.0 <= expected_level(served) <= n - 1
    if n == 1:
        return
    even = sum(abs(i - (n - 1) / 2) for i in range(n)) / n
    wanted = max(0.0, 1 - sum(p * abs(i - mode) for i, p in enumerate(served)) / even)
    assert score_confidence(served) == pytest.approx(wanted, abs=6e-7)
    assert choice_confidence(served) == pytest.approx((max(served) - 1 / n) / (1 - 1 / n), abs=6e-7)


def test_the_example_of_the_contract():
    shares = {"billing": 0.853675, "shipping": 0.146325}
    options = ["billing", "shipping", "other"]
    probabilities = settle(choice_distribution(shares, options), heaviest(shares, options))
    assert probabilities == {"billing": 0.853675, "shipping": 0.146325, "other": 0.0}
    assert arg_max(probabilities) == "billing"
    assert choice_confidence(list(probabilities.values())) == 0.780512  # exactly 0.7805125: halves to even
    assert rounded(0.853607) == 0.853607


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=40),
    st.data(),
    st.sampled_from([0.0, 0.3, 0.8, 1.0]),
)
def test_a_corrected_option_is_the_choice(parts, data, escalate_below):
    shares = {f"o{number}": part / sum(parts) for number, part in enumerate(parts)}
    options = data.draw(st.permutations(sorted(shares)))[: data.draw(st.integers(1, len(parts)))]
    corrected = options[0]
    probabilities = settle(choice_distribution(correct_shares(shares, corrected, escalate_below), options), corrected)
    others = [value for option, value in probabilities.items() if option != corrected]
    assert all(probabilities[corrected] > other for other in others)
    assert abs(sum(probabilities.values()) - 1.0) <= 1e-6


def test_comparative_sides_are_complementary_when_served():
    for first, second in ((0.1, 0.7), (2 / 3, 1 / 3), (0.853607, 0.146393)):
        forward, reverse = rounded(comparative(first, second)), rounded(comparative(second, first))
        assert forward + reverse == pytest.approx(1.0, abs=1e-6)
