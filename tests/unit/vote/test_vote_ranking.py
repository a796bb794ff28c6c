"""Order, ties, and who may vote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_builders import SPAM, hit, ladder

from sidecar.terms import DocumentId, IndexName, Label
from sidecar.vote import Ballot, Hit, needs_follow_up, order_hits, rank, take_voters, tally, ties_are_cut


def ids(hits):
    return [one.id for one in hits]


@pytest.mark.parametrize(
    ("hits", "order"),
    [
        pytest.param([hit("a", score=1), hit("b", score=2)], "ba", id="score"),
        pytest.param([hit("b"), hit("a")], "ab", id="tie: id"),
        pytest.param([hit("a"), hit("b", human=True)], "ba", id="tie: a person first"),
        pytest.param([hit("a", score=2), hit("b", score=1, human=True)], "ab", id="no tie: score first"),
        pytest.param([hit("a", score=1 - 9e-7), hit("b", score=1, human=True)], "ba", id="near"),
        pytest.param([hit("b", score=1.0), hit("a", score=1 - 9e-7)], "ab", id="below 1e-6"),
        pytest.param([hit("b", score=1.0), hit("a", score=1 - 1.1e-6)], "ba", id="above 1e-6"),
        pytest.param([hit("b", score=1e6), hit("a", score=1e6 - 0.9)], "ab", id="relative"),
        pytest.param(
            [hit("c", score=1.0), hit("b", score=1 - 8e-7), hit("a", score=1 - 16e-7)], "bca", id="no creeping"
        ),
        pytest.param([hit("b", score=0.0), hit("a", score=0.0)], "ab", id="zero"),
        pytest.param([hit("\uffff"), hit("\U00010000")], "\uffff\U00010000", id="UTF-8, not UTF-16"),
        pytest.param([hit("\ud800"), hit("a")], "a\ud800", id="lone surrogate"),
    ],
)
def test_order(hits, order):
    assert ids(order_hits(hits)) == list(order)
    assert ids(order_hits(hits[::-1])) == list(order)


def test_tie_of_one_id_in_two_indices():
    hits = [hit("a", index="y"), hit("a", index="x")]
    assert [one.index for one in order_hits(hits)] == ["x", "y"]


@given(st.permutations([hit(f"{n}", "ab"[n % 2], score=1.0, human=n in (3, 5)) for n in range(8)]))
def test_the_order_of_equal_neighbours_changes_nothing(hits):
    ranked = rank(hits, 5, SPAM)
    assert ids(ranked.hits) == ["3", "5", "0", "1", "2"]
    assert tally(ranked, 2.0) == tally(rank(hits[::-1], 5, SPAM), 2.0)


@pytest.mark.parametrize(
    ("labels", "k", "found", "voted", "unusable"),
    [
        pytest.param("aaa", 3, 3, 3, 0, id="all"),
        pytest.param("aaaaa", 3, 3, 3, 0, id="more than k"),
        pytest.param("a-a-a-", 3, 5, 3, 2, id="up to the k-th usable one"),
        pytest.param("a--", 3, 3, 1, 2, id="fewer than k"),
        pytest.param("---", 3, 3, 0, 3, id="none usable"),
        pytest.param("", 3, 0, 0, 0, id="no hit"),
    ],
)
def test_found_is_voted_and_unusable(labels, k, found, voted, unusable):
    ranked = rank(ladder(None if label == "-" else label for label in labels), k, SPAM)
    assert (ranked.found, len(ranked.hits), ranked.unusable) == (found, voted, unusable)


NOT_SPAM = {"label": "not spam", "source": "local"}


@pytest.mark.parametrize(
    ("ballot", "document", "votes"),
    [
        pytest.param(SPAM, NOT_SPAM, True, id="noul about spam"),
        pytest.param(Ballot.for_positive("ham"), NOT_SPAM, False, id="noul about ham"),
        pytest.param(Ballot.for_positive("not spam"), NOT_SPAM, True, id="noul about not spam"),
        pytest.param(Ballot.for_labels(["spam", "ham"]), NOT_SPAM, False, id="choice without it"),
        pytest.param(Ballot.for_labels(["not spam", "ham"]), NOT_SPAM, True, id="choice with it"),
        pytest.param(Ballot.for_labels(["Not spam"]), NOT_SPAM, False, id="exactly that string"),
        pytest.param(Ballot.for_positive("ham"), {**NOT_SPAM, "human": True}, True, id="a person confirmed it"),
        pytest.param(Ballot.for_positive("ham"), {"label": "not a bug"}, True, id="a person's label"),
        pytest.param(Ballot.for_positive("ham"), {"label": "spam", "source": "local"}, True, id="cached, positive"),
        pytest.param(Ballot.for_positive("ham"), {"label": "nothing", "source": "local"}, True, id="no such prefix"),
        pytest.param(SPAM, {"label": None}, False, id="no label"),
    ],
)
def test_who_may_vote(ballot, document, votes):
    assert ballot.admits(hit("1", **document)) is votes
    ranked = rank([hit("1", **document)], 10, ballot)
    assert (len(ranked.hits), ranked.unusable) == ((1, 0) if votes else (0, 1))


def tied(count, **more):
    return [hit(f"t{n}", score=1.0, **more) for n in range(count)]


@pytest.mark.parametrize(
    ("hits", "exhausted", "follow_up", "cut"),
    [
        pytest.param(ladder("aaaa"), False, False, False, id="enough, no tie"),
        pytest.param(ladder(["a", "a", "a", None]), False, False, False, id="just enough, then unusable ones"),
        pytest.param(ladder("aaa"), False, True, True, id="the last is the k-th: the next may tie"),
        pytest.param(ladder("aa"), True, False, False, id="too few, but no more exist"),
        pytest.param(ladder("aa"), False, True, False, id="too few"),
        pytest.param(ladder(["a", None, "a", None]), False, True, False, id="too few usable"),
        pytest.param([hit("x", score=2.0), *tied(3)], False, True, True, id="last ties with the k-th"),
        pytest.param([hit("x", score=2.0), *tied(3)], True, False, False, id="all ties are known"),
        pytest.param([*tied(3), hit("x", score=0.5)], False, False, False, id="the tie ends before the last"),
        pytest.param([*tied(3), *tied(1, label=None)], False, True, True, id="an unusable last one ties too"),
        pytest.param(
            [hit("x", score=2.0), *tied(2, label="not x", source="local"), *tied(1)], False, True, False, id="not x"
        ),
        pytest.param([], True, False, False, id="nothing"),
    ],
)
def test_follow_up_with_three_neighbours(hits, exhausted, follow_up, cut):
    assert needs_follow_up(hits, 3, SPAM, exhausted=exhausted) is follow_up
    assert ties_are_cut(hits, 3, SPAM, exhausted=exhausted) is cut


@given(
    st.lists(st.tuples(st.sampled_from([9.0, 9.0000001, 5.0, 1.0]), st.sampled_from(["a", "b", None])), max_size=40),
    st.integers(1, 12),
)
def test_hits_left_unread_never_change_who_votes(drawn, k):
    ballots = [Ballot.for_positive("a"), Ballot.for_labels(["b"])]
    hits = [
        Hit(DocumentId(f"d{place:02}"), IndexName("i"), score, None if label is None else Label(label))
        for place, (score, label) in enumerate(sorted(drawn, key=lambda pair: -pair[0]))
    ]
    taken, decided = take_voters(iter(hits), k, ballots)
    for ballot in ballots:
        assert rank(taken, k, ballot) == rank(hits, k, ballot)
    assert decided or len(taken) == len(hits)
