"""Labels: what counts as one, and where it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.vote import MISSING, labels_seen, read_label, read_path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        pytest.param("spam", "spam", id="string"),
        pytest.param(" spam\r", " spam\r", id="string kept byte for byte"),
        pytest.param("", None, id="empty"),
        pytest.param(" \t\u00a0", None, id="blank"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(1, "1", id="integer"),
        pytest.param(1.0, "1", id="integral float"),
        pytest.param(json.loads("1e0"), "1", id="exponent"),
        pytest.param(-0.0, "0", id="negative zero"),
        pytest.param(-3, "-3", id="negative"),
        pytest.param(1.5, None, id="fraction"),
        pytest.param(1e23, "1" + "0" * 23, id="large float as written"),
        pytest.param(1e300, "1" + "0" * 300, id="huge float"),
        pytest.param(10**23, "1" + "0" * 23, id="the same as an integer"),
        pytest.param(10**5000, None, id="more digits than Python prints"),
        pytest.param(float("nan"), None, id="nan"),
        pytest.param(float("inf"), None, id="infinity"),
        pytest.param(None, None, id="null"),
        pytest.param(["spam"], "spam", id="list of one"),
        pytest.param([2.0], "2", id="list of one number"),
        pytest.param([], None, id="empty list"),
        pytest.param(["a", "b"], None, id="list of two"),
        pytest.param([["a"]], None, id="nested list"),
        pytest.param({"name": "a"}, None, id="object"),
        pytest.param(MISSING, None, id="missing"),
    ],
)
def test_read_label(value, label):
    assert read_label(value) == label


@given(JSON)
def test_any_json_value_is_a_label_or_none(value):
    label = read_label(value)
    assert label is None or label.strip()
    assert len(labels_seen([value])) <= 1


@pytest.mark.parametrize(
    ("source", "path", "value"),
    [
        pytest.param({"label": 1}, "label", 1, id="plain"),
        pytest.param({"a": {"b": {"c": 1}}}, "a.b.c", 1, id="nested"),
        pytest.param({"a.b.c": 1}, "a.b.c", 1, id="literal"),
        pytest.param({"a.b": {"c": 1}}, "a.b.c", 1, id="literal, then nested"),
        pytest.param({"a": {"b.c": 1}}, "a.b.c", 1, id="nested, then literal"),
        pytest.param({"a.b": {"x": 0}, "a": {"b": {"c": 1}}}, "a.b.c", 1, id="a longer key leads nowhere"),
        pytest.param({"a.b": 1, "a": {"b": 2}}, "a.b", 1, id="both: the literal one"),
        pytest.param({"a.b": None, "a": {"b": 2}}, "a.b", 2, id="null counts as absent"),
        pytest.param({"a": {"b": None}}, "a.b", None, id="only null"),
        pytest.param({"a": "text"}, "a.keyword", MISSING, id="below a string"),
        pytest.param({"a": [{"b": 1}]}, "a.b", MISSING, id="below a list"),
        pytest.param({"a": {}}, "a.b", MISSING, id="absent"),
        pytest.param({"": 1}, "", MISSING, id="empty path"),
        pytest.param({"a": False}, "a", False, id="false is a value"),
    ],
)
def test_read_path(source, path, value):
    assert read_path(source, path) is value or read_path(source, path) == value


def test_labels_seen_are_distinct_escaped_and_few():
    seen = labels_seen(["a\r", "a\r", None, MISSING, 'q"', "é", "\u200b", ["x", 2], 1.5, "too many"])
    assert seen == [r'"a\r"', r'"q\""', '"é"', r'"\u200b"', '["x", 2]']


def test_a_long_label_is_shown_cut():
    (shown,) = labels_seen(["x" * 10_000])
    assert len(shown) < 100


def test_a_lone_surrogate_can_be_shown():
    assert labels_seen(["\ud800"]) == [r'"\ud800"']
