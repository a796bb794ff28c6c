"""A correction stands: which one is found, where it ranks, what is served."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_builders import SCOPE, SPAM, hit, ladder

from sidecar.vote import (
    LOOKUP_SIZE,
    correct_noul,
    correct_shares,
    find_correction,
    insert_correction,
    lookup_is_cut,
    normalise,
    parse_instant,
    rank,
    read_hit,
    rounded,
    tally,
)

TEXT = "Free  PRIZE"


def fixed(id, label="ham", text=TEXT, **more):
    return hit(id, label, text=text, human=True, **more)


def anything(label):
    return True


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param("Free  PRIZE", " free\tprize\n", id="case and whitespace"),
        pytest.param("ﬁne ①", "FINE 1", id="compatibility forms"),
        pytest.param("Straße", "STRASSE", id="case folding"),
        pytest.param("e\u0301", "é", id="composition"),
        pytest.param("a\u00a0b\u3000c", "a b c", id="every kind of space"),
    ],
)
def test_equal_texts(left, right):
    assert normalise(left) == normalise(right)


@pytest.mark.parametrize(("left", "right"), [("free prize", "free prizes"), ("a b", "ab"), ("a.", "a")])
def test_different_texts(left, right):
    assert normalise(left) != normalise(right)


@pytest.mark.parametrize(
    ("hits", "found"),
    [
        pytest.param([fixed("1")], "1", id="equal"),
        pytest.param([fixed("1", text="free prize")], "1", id="equal but for case and spaces"),
        pytest.param([fixed("1", text="free prize now")], None, id="another text"),
        pytest.param([hit("1", "ham", text=TEXT)], None, id="no person's"),
        pytest.param([fixed("1", None)], None, id="no label"),
        pytest.param([fixed("1", text=None)], None, id="no text"),
        pytest.param([fixed("1", "other")], None, id="a label the question cannot answer"),
        pytest.param([fixed("1", "other"), fixed("2")], "2", id="only answerable ones compete"),
        pytest.param(
            [fixed("1", ts="2026-01-02T00:00:00Z"), fixed("2", "spam", ts="2026-01-01T00:00:00Z")], "1", id="latest"
        ),
        pytest.param([fixed("1", ts="2026-01-02"), fixed("2")], "1", id="missing ts is oldest"),
        pytest.param([fixed("1", ts="1900-01-01"), fixed("2", ts="yesterday")], "1", id="unreadable ts is oldest"),
        pytest.param([fixed("1", ts="1767225600001"), fixed("2", ts="2026-01-01")], "1", id="epoch milliseconds"),
        pytest.param([fixed("10"), fixed("9")], "9", id="then the higher id"),
        pytest.param([fixed("\uffff"), fixed("\U00010000")], "\U00010000", id="as UTF-8 bytes"),
        pytest.param([], None, id="no hit"),
    ],
)
def test_find(hits, found):
    for order in (hits, hits[::-1]):
        correction = find_correction(order, TEXT, {"ham", "spam"}.__contains__, human_weight=2.0)
        assert (correction and correction.id) == found


def test_then_the_higher_index():
    hits = [fixed("1", index="a"), fixed("1", index="b")]
    assert find_correction(hits, TEXT, anything, human_weight=2.0).index == "b"


@pytest.mark.parametrize(("human_weight", "stands"), [(0.5, False), (1.0, False), (1.0000001, True), (2.0, True)])
def test_off_where_corrections_weigh_no_more(human_weight, stands):
    assert (find_correction([fixed("1")], TEXT, anything, human_weight=human_weight) is not None) is stands


def test_a_text_in_a_list_of_one():
    one = read_hit({"_id": "1", "_source": {"text": [TEXT], "label": "ham", "human": True}}, SCOPE)
    assert find_correction([one], TEXT, anything, human_weight=2.0) == one


@pytest.mark.parametrize(
    ("count", "equal", "cut"), [(LOOKUP_SIZE, False, True), (LOOKUP_SIZE, True, False), (LOOKUP_SIZE - 1, False, False)]
)
def test_lookup_is_cut(count, equal, cut):
    hits = [fixed(str(number), text="free prize again") for number in range(count)]
    if equal:
        hits[-1] = replace(hits[-1], text="free prize")
    assert lookup_is_cut(hits, TEXT) is cut


def test_insert():
    ranked = rank(ladder(["a", None, "b", "c"]), 3, SPAM)
    corrected = insert_correction(ranked, fixed("x", "d"), 3)
    assert [one.label for one in corrected.hits] == ["d", "a", "b"]
    assert (corrected.found, corrected.unusable) == (4, 1)
    assert insert_correction(corrected, fixed("x", "d"), 3) == corrected
    assert len(insert_correction(corrected, fixed("x", "d", index="elsewhere"), 3).hits) == 3


def test_insert_where_fewer_than_k_voted():
    corrected = insert_correction(rank(ladder(["a", None]), 3, SPAM), fixed("x", "d"), 3)
    vote = tally(corrected, 2.0)
    assert (vote.found, vote.voted, vote.unusable) == (3, 2, 1)
    assert vote.shares == {"d": 0.8, "a": 0.2}  # 2 against 1/2


@pytest.mark.parametrize(
    ("shares", "label", "escalate_below", "served"),
    [
        pytest.param({"a": 1.0}, "a", 0.8, {"a": 1.0}, id="R = 0: nothing changes"),
        pytest.param({"a": 0.9, "b": 0.1}, "a", 0.8, {"a": 0.9, "b": 0.1}, id="heavy enough"),
        pytest.param({"a": 0.6, "b": 0.4}, "b", 0.8, {"a": 0.2, "b": 0.8}, id="raised to escalate_below"),
        pytest.param({"a": 0.6, "b": 0.3, "c": 0.1}, "b", 0.8, {"a": 0.6 * 2 / 7, "b": 0.8, "c": 0.2 / 7}, id="others"),
        # r = 1: s = 1.000002 / 2
        pytest.param({"a": 0.6, "b": 0.4}, "b", 0.0, {"a": 0.499999, "b": 0.500001}, id="just ahead of one"),
        # R = 0.8, r = 0.75: s = 0.750002 / 1.75
        pytest.param(
            {"a": 0.6, "b": 0.2, "c": 0.2},
            "b",
            0.0,
            {"a": 0.75 * 0.999998 / 1.75, "b": 0.750002 / 1.75, "c": 0.25 * 0.999998 / 1.75},
            id="just ahead of the heaviest",
        ),
        pytest.param({"a": 0.6, "b": 0.4}, "b", 1.0, {"a": 0.0, "b": 1.0}, id="escalate_below 1"),
    ],
)
def test_correct_shares(shares, label, escalate_below, served):
    corrected = correct_shares(shares, label, escalate_below)
    assert corrected == {key: pytest.approx(value, abs=1e-12) for key, value in served.items()}
    assert next(iter(corrected)) == label


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=100), st.data(), st.floats(0.0, 1.0))
def test_corrected_shares_lead_and_sum_to_one(parts, data, escalate_below):
    shares = {str(number): part / sum(parts) for number, part in enumerate(parts)}
    label = data.draw(st.sampled_from(sorted(shares)))
    corrected = correct_shares(shares, label, escalate_below)
    assert math.fsum(corrected.values()) == pytest.approx(1.0, abs=1e-9)
    assert corrected[label] >= max(shares[label], escalate_below) - 1e-12
    assert all(corrected[label] - share > 1.9e-6 for other, share in corrected.items() if other != label)
    assert all(0.0 <= share <= 1.0 for share in corrected.values())


@pytest.mark.parametrize(
    ("probability", "confirms", "escalate_below", "served"),
    [
        pytest.param(0.3, True, 0.8, 0.8, id="yes"),
        pytest.param(0.3, True, 0.0, 0.500001, id="yes, at least on its side"),
        pytest.param(0.9, True, 0.8, 0.9, id="yes, heavier already"),
        pytest.param(0.7, False, 0.8, 0.2, id="no"),
        pytest.param(0.7, False, 0.0, 0.499999, id="no, at least on its side"),
        pytest.param(0.1, False, 0.8, 0.1, id="no, heavier already"),
        pytest.param(1.0, True, 0.8, 1.0, id="yes, R = 0"),
        pytest.param(0.0, False, 0.8, 0.0, id="no, R = 0"),
        pytest.param(0.5, True, 1.0, 1.0, id="yes, escalate_below 1"),
        pytest.param(0.5, False, 1.0, 0.0, id="no, escalate_below 1"),
    ],
)
def test_correct_noul(probability, confirms, escalate_below, served):
    assert rounded(correct_noul(probability, confirms=confirms, escalate_below=escalate_below)) == served


@pytest.mark.parametrize(
    ("ts", "moment"),
    [
        ("2026-07-29T12:30:15Z", datetime(2026, 7, 29, 12, 30, 15, tzinfo=UTC)),
        ("2026-07-29t12:30:15.250z", datetime(2026, 7, 29, 12, 30, 15, 250_000, tzinfo=UTC)),
        ("2026-07-29 14:30:15+02:00", datetime(2026, 7, 29, 12, 30, 15, tzinfo=UTC)),
        ("2026-07-29T05:00:15-0730", datetime(2026, 7, 29, 12, 30, 15, tzinfo=UTC)),
        ("2026-07-29T12:30", datetime(2026, 7, 29, 12, 30, tzinfo=UTC)),
        ("2026-07-29", datetime(2026, 7, 29, tzinfo=UTC)),
        ("1785328215000", datetime(2026, 7, 29, 12, 30, 15, tzinfo=UTC)),
        ("1969-12-31T23:59:59Z", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00+23:00", None),
    ],
)
def test_instants(ts, moment):
    if moment is None:
        assert parse_instant(ts) is not None
    else:
        assert parse_instant(ts) == round(moment.timestamp() * 1000) * 10**15


@pytest.mark.parametrize(
    "ts",
    [None, "", "yesterday", "2026", "2026-13-01", "2026-02-30T00:00:00Z", "0000-01-01", "2026-01-01T25:00:00Z", "1e12"],
)
def test_unreadable(ts):
    assert parse_instant(ts) is None


def test_nanoseconds_decide():
    assert parse_instant("2026-01-01T00:00:00.000000002Z") > parse_instant("2026-01-01T00:00:00.000000001Z")


@given(st.text(alphabet="0123456789-:TZ+. ", max_size=30))
def test_any_text_is_an_instant_or_not(ts):
    parse_instant(ts)
