"""What the node is asked: bodies of native searches, and the parameters that make them repeatable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from sidecar.terms import JsonObject, JsonValue, Scope
from sidecar.vote.hits import HUMAN_FIELD, SOURCE_FIELD, TS_FIELD

TIE_MARGIN: Final = 10
"""Hits fetched beyond k, for ties at the k-th place and unusable hits."""

FOLLOW_UP_SIZE: Final = 1_000
"""Hits of the one follow-up search; far below the node's `index.max_result_window` of 10,000."""

LOOKUP_SIZE: Final = 50
"""Hits of a correction lookup."""

SEARCH_PARAMS: Final = MappingProxyType(
    {
        # One idf for all shards; without it five shards agree with one on 5 % of the lists (measured).
        "search_type": "dfs_query_then_fetch",
        # The same copy every time: deleted documents count differently in each. Must not begin with "_".
        "preference": "decide-sidecar",
        # Said aloud because the cluster's default may differ. "true" gives one shape on every version, a 200 with
        # `timed_out` and `_shards`, which the reader must check: partial results are not a vote.
        "allow_partial_search_results": "true",
    }
)
"""For the URL of `_search` or, unchanged, the header line of an `_msearch` item."""


def build_vote_search(
    text: str, scope: Scope, size: int, *, ask_fields: bool = False, doc_values: Sequence[str] = ()
) -> JsonObject:
    """The vote's search: BM25 by the node's own `match`, among the documents that carry a label.

    text        the vote text after `cap_tokens`
    size        `k + TIE_MARGIN`, or `FOLLOW_UP_SIZE`
    ask_fields  also ask `fields`, where `_source` cannot hold a value (alias, multi-field, synthetic source)
    doc_values  fields to read from doc values: a node refuses `fields` where `_source` is disabled. They arrive
                in the same `fields` member of a hit. A `text` field among them fails the search
    """
    return _search(text, scope, size, "or", [], ask_fields=ask_fields, doc_values=doc_values)


def build_correction_lookup(
    text: str, scope: Scope, *, ask_fields: bool = False, doc_values: Sequence[str] = ()
) -> JsonObject:
    """The second item per text and scope: a person's documents that hold every term of the text.

    BM25 may rank other texts above an identical one, hence the operator. Lenient, because a history whose `human`
    is mapped as a number or a date has no corrections, which is no reason to fail the vote.
    """
    human: JsonObject = {"match": {HUMAN_FIELD: {"query": True, "lenient": True}}}
    return _search(text, scope, LOOKUP_SIZE, "and", [human], ask_fields=ask_fields, doc_values=doc_values)


def _search(
    text: str,
    scope: Scope,
    size: int,
    operator: str,
    filters: list[JsonValue],
    *,
    ask_fields: bool,
    doc_values: Sequence[str],
) -> JsonObject:
    match: JsonObject = {"match": {scope.text_field: {"query": text, "operator": operator}}}
    clauses: list[JsonValue] = [_has_label(scope.label_field), *filters]
    if scope.filter is not None:
        clauses.append(json.loads(scope.filter))
    # One name covers both dotted forms: source filtering compares whole paths, literal dots included.
    wanted = dict.fromkeys((scope.text_field, scope.label_field, HUMAN_FIELD, SOURCE_FIELD, TS_FIELD))
    body: JsonObject = {
        "query": {"bool": {"must": [match], "filter": clauses}},
        "_source": list(wanted),
        "size": size,
        "track_total_hits": False,
    }
    if ask_fields:
        body["fields"] = list(wanted)
    if doc_values:
        body["docvalue_fields"] = list(doc_values)
    return body


def _has_label(field: str) -> JsonObject:
    """A label longer than `ignore_above` is not in the index but named in `_ignored`, and whole in `_source`."""
    return {
        "bool": {
            "should": [{"exists": {"field": field}}, {"term": {"_ignored": field}}],
            "minimum_should_match": 1,
        }
    }
