"""A hit of a search response, as the vote sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_vote_labels import JSON
from vote_builders import SCOPE

from sidecar.terms import IndexName, Scope
from sidecar.vote import Hit, read_hit

DOTTED = Scope(index=IndexName("cases"), text_field="mail.body", label_field="meta.queue")


def test_everything_the_vote_needs():
    raw = {
        "_index": "cases",
        "_id": "7",
        "_score": 2.5,
        "_source": {"text": "hello", "label": ["spam"], "human": True, "source": "local", "ts": "2026-01-01T00:00:00Z"},
    }
    assert read_hit(raw, SCOPE) == Hit(
        "7", "cases", 2.5, "spam", True, "local", "2026-01-01T00:00:00Z", "hello", raw_label=["spam"]
    )


@pytest.mark.parametrize(
    ("source", "fields", "label", "text"),
    [
        pytest.param({"meta": {"queue": "a"}, "mail": {"body": "t"}}, {}, "a", "t", id="nested"),
        pytest.param({"meta.queue": "a", "mail.body": "t"}, {}, "a", "t", id="literal"),
        pytest.param({}, {"meta.queue": ["a"], "mail.body": ["t"]}, "a", "t", id="fields only"),
        pytest.param(None, {"meta.queue": [1]}, "1", None, id="no source"),
        pytest.param({"meta": {"queue": "a"}}, {"meta.queue": ["b"]}, "a", None, id="source first"),
        pytest.param({"meta": {"queue": None}}, {"meta.queue": ["b"]}, "b", None, id="null in the source"),
        pytest.param({"meta": {"queue": ["a", "b"]}}, {"meta.queue": ["c"]}, None, None, id="unusable is not missing"),
        pytest.param({}, {"meta.queue": ["a", "b"]}, None, None, id="two in fields"),
        pytest.param({"mail": {"body": ["t"]}}, {}, None, "t", id="text in a list of one"),
        pytest.param({"mail": {"body": ["t", "u"]}}, {}, None, None, id="text in a list of two"),
        pytest.param({"meta": "a"}, {"meta.queue": ["a"]}, "a", None, id="multi-field"),
    ],
)
def test_source_then_fields(source, fields, label, text):
    hit = read_hit({"_id": "1", "_index": "cases", "_score": 1, "_source": source, "fields": fields}, DOTTED)
    assert (hit.label, hit.text) == (label, text)


@pytest.mark.parametrize(
    ("raw", "human"),
    [
        pytest.param({"_source": {"human": True}}, True, id="true"),
        pytest.param({"_source": {"human": "true"}}, False, id="string"),
        pytest.param({"_source": {"human": 1}}, False, id="number"),
        pytest.param({"_source": {"human": [True]}}, False, id="list"),
        pytest.param({"_source": {"human": "true"}, "fields": {"human": [True]}}, False, id="the source decides"),
        pytest.param({"fields": {"human": [True]}}, True, id="fields, which are always lists"),
        pytest.param({}, False, id="absent"),
    ],
)
def test_only_json_true_is_human(raw, human):
    assert read_hit(raw, SCOPE).human is human


@pytest.mark.parametrize(
    ("source", "cached"),
    [
        pytest.param({"source": "local"}, True, id="string"),
        pytest.param({"source": ""}, True, id="empty string"),
        pytest.param({"source": None}, False, id="null"),
        pytest.param({}, False, id="absent"),
        pytest.param({"source": 3}, False, id="no string"),
        pytest.param({"source": "local", "human": True}, False, id="confirmed by a person"),
    ],
)
def test_cached(source, cached):
    assert read_hit({"_source": source}, SCOPE).is_cached is cached


@pytest.mark.parametrize(
    ("ts", "read"), [("2026-01-01", "2026-01-01"), (1_700_000_000_000, "1700000000000"), (True, None), ({}, None)]
)
def test_ts(ts, read):
    assert read_hit({"_source": {"ts": ts}}, SCOPE).ts == read


@given(st.dictionaries(st.sampled_from(["_id", "_index", "_score", "_source", "fields"]), JSON))
def test_any_json_is_read(raw):
    read_hit(raw, SCOPE)


@given(st.dictionaries(st.sampled_from(["text", "label", "human", "source", "ts", "meta.queue", "meta"]), JSON))
def test_any_document_is_read(source):
    read_hit({"_source": source, "fields": source}, DOTTED)
