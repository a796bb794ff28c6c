"""Reciprocal ranks summed by label, against exact fractions and the worked numbers of the contract."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_builders import SPAM, hit, ladder, vote

from sidecar.vote import rank, tally


@pytest.mark.parametrize(
    ("m", "share"),
    [(1, 0.341), (2, 0.512), (3, 0.626), (4, 0.711), (5, 0.780), (6, 0.836), (7, 0.885), (8, 0.928), (9, 0.966)],
)
def test_the_top_ranks_of_one_label(m, share):
    assert vote("a" * m + "b" * (10 - m)).support("a") == pytest.approx(share, abs=0.0005)


def test_a_label_that_owns_every_neighbour_has_exactly_one():
    for k in range(1, 101):
        assert vote("a" * k, k=k).support("a") == 1.0
        assert vote(["a*", "a"] * k, k=k, human_weight=1.3).support("a") == 1.0


def test_the_sum_of_ten_weights():
    assert math.fsum(one.weight for one in vote("a" * 10).neighbours) == pytest.approx(2.928968, abs=5e-7)


@pytest.mark.parametrize(("human_weight", "winner"), [(1.0, "plain"), (2.0, "human")])
def test_one_plain_label_ahead_of_two_human_ones(human_weight, winner):
    assert vote(["plain", "human*", "human*"], human_weight=human_weight).winner == winner


def test_neighbours_show_what_was_used():
    voted = vote(["a", None, "b*"], human_weight=3.0)
    assert [(one.label, one.rank, one.weight, one.human) for one in voted.neighbours] == [
        ("a", 1, 1.0, False),
        ("b", 2, 1.5, True),
    ]
    assert (voted.found, voted.voted, voted.unusable) == (3, 2, 1)
    assert voted.shares == {"b": 0.6, "a": 0.4}
    assert list(voted.shares) == ["b", "a"]


@pytest.mark.parametrize(
    ("labels", "human_weight", "order"),
    [
        pytest.param(["a", "b", "b", "c", "c", "b"], 2.0, "abc", id="1 = 1/2 + 1/3 + 1/6: the better-ranked wins"),
        pytest.param(["b", "a", "a", "c", "c", "a"], 2.0, "bac", id="not by name"),
        pytest.param(["a", "b*"], 2.0 + 1e-9, "ab", id="within 1e-9"),
        pytest.param(["a", "b*"], 2.0 + 1e-8, "ba", id="beyond 1e-9"),
    ],
)
def test_equal_weights(labels, human_weight, order):
    assert "".join(vote(labels, human_weight=human_weight).shares) == order


def test_nothing_voted():
    voted = vote([None, None])
    assert (voted.winner, voted.voted, dict(voted.shares)) == (None, 0, {})


def test_flags_travel():
    voted = tally(rank([], 10, SPAM), 2.0, ties_cut=True, terms_cut=True, no_terms=True)
    assert (voted.ties_cut, voted.terms_cut, voted.no_terms) == (True, True, True)


@pytest.mark.parametrize("human_weight", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_extreme_human_weights_stay_finite(human_weight):
    shares = vote(["a*", "b*", "a", "c*"] * 5, k=20, human_weight=human_weight).shares
    assert math.fsum(shares.values()) == pytest.approx(1.0)


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), min_size=1, max_size=100),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(7)]),
)
def test_shares_are_the_exact_fractions(cases, human_weight):
    hits = ladder(label + "*" * human for label, human in cases)
    exact: dict[str, Fraction] = {}
    for place, (label, human) in enumerate(cases, start=1):
        exact[label] = exact.get(label, Fraction(0)) + (human_weight if human else 1) / Fraction(place)
    voted = tally(rank(hits, 100, SPAM), float(human_weight))
    total = sum(exact.values())
    assert {label: pytest.approx(float(weight / total), abs=1e-12) for label, weight in exact.items()} == voted.shares
    assert all(0.0 <= share <= 1.0 for share in voted.shares.values())
    assert exact[voted.winner] >= max(exact.values()) - Fraction(1, 10**9)


def test_a_hit_without_label_cannot_slip_in():
    assert tally(rank([hit("1", None)], 1, SPAM), 2.0).neighbours == ()
