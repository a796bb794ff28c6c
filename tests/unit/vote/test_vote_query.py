"""Search bodies, whole: what the node is asked is the contract."""

from __future__ import annotations

import json

from vote_builders import SCOPE

from sidecar.terms import IndexName, Scope
from sidecar.vote import SEARCH_PARAMS, build_correction_lookup, build_vote_search

HAS_LABEL = {
    "bool": {
        "should": [{"exists": {"field": "label"}}, {"term": {"_ignored": "label"}}],
        "minimum_should_match": 1,
    }
}


def test_vote_search():
    assert build_vote_search("free prize", SCOPE, 20) == {
        "query": {
            "bool": {
                "must": [{"match": {"text": {"query": "free prize", "operator": "or"}}}],
                "filter": [HAS_LABEL],
            }
        },
        "_source": ["text", "label", "human", "source", "ts"],
        "size": 20,
        "track_total_hits": False,
    }


def test_correction_lookup():
    body = build_correction_lookup("free prize", SCOPE)
    assert body["query"]["bool"] == {
        "must": [{"match": {"text": {"query": "free prize", "operator": "and"}}}],
        "filter": [HAS_LABEL, {"match": {"human": {"query": True, "lenient": True}}}],
    }
    assert (body["size"], body["track_total_hits"]) == (50, False)


def test_the_filter_of_a_scope_narrows_both():
    clause = {"term": {"lang": "de"}}
    scope = Scope(IndexName("cases"), "text", "label", json.dumps(clause))
    for body in (build_vote_search("x", scope, 20), build_correction_lookup("x", scope)):
        assert body["query"]["bool"]["filter"][-1] == clause


def test_fields_only_when_asked():
    assert "fields" not in build_vote_search("x", SCOPE, 20)
    asked = build_vote_search("x", SCOPE, 20, ask_fields=True, doc_values=["label"])
    assert asked["fields"] == ["text", "label", "human", "source", "ts"]
    assert asked["docvalue_fields"] == ["label"]


def test_a_field_is_asked_once():
    scope = Scope(IndexName("cases"), "text", "source")
    assert build_vote_search("x", scope, 20)["_source"] == ["text", "source", "human", "ts"]


def test_search_params():
    assert SEARCH_PARAMS["search_type"] == "dfs_query_then_fetch"
    assert not SEARCH_PARAMS["preference"].startswith("_")
    assert all(isinstance(value, str) for value in SEARCH_PARAMS.values())
