"""Which labels a history knows, and why a search may have found nothing. Answers are cached per identity."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import orjson
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.node.client import Identity, index_path
from sidecar.node.mapping import MappingFacts, check_mapping, fetch_mapping
from sidecar.node.upstream_errors import check_complete, is_source_disabled, refusal, translate
from sidecar.terms import JsonObject, JsonValue, Scope
from sidecar.vote import SOURCE_FIELD, read_hit, read_label

CACHE_SECONDS = 60.0
CACHE_ENTRIES = 512
MAX_LABELS = 256
_CANDIDATES = 100
_MATCHED = 2.0

Value = TypeVar("Value")


class _Cache(Generic[Value]):
    """At most `CACHE_ENTRIES` values, each for `CACHE_SECONDS`; the oldest goes first."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._values: OrderedDict[object, tuple[float, Value]] = OrderedDict()

    def get(self, key: object) -> Value | None:
        entry = self._values.get(key)
        if entry is None or self._clock() - entry[0] > CACHE_SECONDS:
            return None
        return entry[1]

    def put(self, key: object, value: Value) -> None:
        self._values[key] = (self._clock(), value)
        self._values.move_to_end(key)
        while len(self._values) > CACHE_ENTRIES:
            self._values.popitem(last=False)


class LabelReader:
    """Facts about the labels of a history. Presence is cached, absence never: the next document may bring it."""

    def __init__(self, client: AsyncElasticsearch, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._mappings: _Cache[MappingFacts] = _Cache(clock)
        self._present: _Cache[bool] = _Cache(clock)
        self._labels: _Cache[frozenset[str]] = _Cache(clock)

    async def diagnose(self, scope: Scope, identity: Identity) -> None:
        """Raise HistoryIndexError where the mapping is the reason that nothing usable was found."""
        facts = await self._mapping(scope, identity)
        doubtful = facts.text is None or facts.label is None
        check_mapping(scope, facts, holds_documents=doubtful and await self._holds_documents(scope, identity))

    async def knows_label(self, scope: Scope, label: str, identity: Identity) -> bool:
        """Whether any document of the scope carries this label."""
        key = (scope, label, identity.authorization)
        if self._present.get(key):
            return True
        facts = await self._mapping(scope, identity)
        if facts.label is None:
            return False
        field = facts.countable_label or scope.label_field
        matched: JsonValue = {"match": {field: {"query": label, "operator": "and", "lenient": True}}}
        # A label longer than `ignore_above` is in no term of that field: those documents come last, and are read.
        others: list[JsonValue] = [{"term": {"_ignored": field}}]
        if field != scope.label_field:
            others.append({"match": {scope.label_field: {"query": label, "operator": "and", "lenient": True}}})
        clauses: list[JsonValue] = [_constant(matched, _MATCHED), *(_constant(other, 1.0) for other in others)]
        query: JsonObject = {"dis_max": {"queries": clauses}}
        hits = (await self._search(scope, identity, query, size=_CANDIDATES))["hits"]["hits"]
        # An analysed field finds labels that only look alike, and a number field rounds: the document itself tells.
        known = any(read_hit(raw, scope).label == label for raw in hits) or (
            facts.countable_label is not None and _is_unread_match(hits, scope)
        )
        if known:
            self._present.put(key, True)
        return known

    async def labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        """All labels of the scope, None where they cannot be counted natively or are more than `MAX_LABELS`."""
        return await self._list_labels(scope, identity, {"match_all": {}}, "all")

    async def seeded_labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        """The labels of the documents without `source`, None as for `labels`."""
        unsourced: JsonObject = {"bool": {"must_not": [{"exists": {"field": SOURCE_FIELD}}]}}
        return await self._list_labels(scope, identity, unsourced, "seeded")

    async def _list_labels(
        self, scope: Scope, identity: Identity, query: JsonObject, which: str
    ) -> frozenset[str] | None:
        key = (scope, identity.authorization, which)
        cached = self._labels.get(key)
        if cached is not None:
            return cached
        facts = await self._mapping(scope, identity)
        if facts.countable_label is None:
            return None
        aggregation: JsonObject = {
            "labels": {"terms": {"field": facts.countable_label, "size": MAX_LABELS + 1}},
            "ignored": {"filter": {"term": {"_ignored": facts.countable_label}}},
        }
        answer = await self._search(scope, identity, query, size=0, aggregations=aggregation)
        buckets = answer["aggregations"]["labels"]["buckets"]
        if len(buckets) > MAX_LABELS or answer["aggregations"]["ignored"]["doc_count"]:
            return None
        # Of a number field the key is the label (1.0 is `1`), of a boolean one its text form.
        labels = [read_label(bucket.get("key_as_string", bucket["key"])) for bucket in buckets]
        found = frozenset(str(label) for label in labels if label is not None)
        self._labels.put(key, found)
        return found

    async def has_terms(self, scope: Scope, text: str, identity: Identity) -> bool:
        """Whether the text field's analyser finds any term in the text; True also where the node will not say."""
        try:
            answer = await self._client.perform_request(
                "POST",
                index_path(scope.index) + "/_analyze",
                headers={"accept": "application/json", "content-type": "application/json", **identity.headers()},
                body={"field": scope.text_field, "text": text[:1000]},
            )
        except (ApiError, TransportError):
            return True  # needs a privilege that the vote does not; only the wording of a refusal hangs on it
        return bool(answer.body.get("tokens"))

    async def _mapping(self, scope: Scope, identity: Identity) -> MappingFacts:
        key = (scope.index, scope.text_field, scope.label_field, identity.authorization)
        facts = self._mappings.get(key)
        if facts is None:
            facts = await fetch_mapping(self._client, scope, identity)
            self._mappings.put(key, facts)
        return facts

    async def _holds_documents(self, scope: Scope, identity: Identity) -> bool:
        answer = await self._search(scope, identity, {"match_all": {}}, size=1)
        return bool(answer["hits"]["hits"])

    async def _search(
        self,
        scope: Scope,
        identity: Identity,
        query: JsonValue,
        *,
        size: int,
        aggregations: JsonObject | None = None,
    ) -> dict[str, Any]:
        filters = [] if scope.filter is None else [orjson.loads(scope.filter)]
        body: JsonObject = {
            "query": {"bool": {"must": [query], "filter": filters}},
            "size": size,
            "track_total_hits": False,
            "_source": [scope.label_field] if size else False,
        }
        if aggregations is not None:
            body["aggs"] = aggregations
        answer = await self._send(scope, identity, body)
        if is_source_disabled(answer.get("error") or answer.get("_shards")):
            answer = await self._send(scope, identity, body | {"_source": False})
        if "error" in answer:
            raise refusal(int(answer["status"]), answer, scope.index)
        check_complete(scope.index, answer)
        return answer

    async def _send(self, scope: Scope, identity: Identity, body: JsonObject) -> dict[str, Any]:
        """One search; a 400 is an answer, all else is translated."""
        try:
            answer = await self._client.perform_request(
                "POST",
                index_path(scope.index) + "/_search",
                headers={"accept": "application/json", "content-type": "application/json", **identity.headers()},
                body=body,
            )
        except (ApiError, TransportError) as error:
            if isinstance(error, ApiError) and error.status_code == 400 and isinstance(error.body, dict):
                return dict(error.body)
            raise translate(error, scope.index) from error
        return dict(answer.body)


def _constant(query: JsonValue, score: float) -> JsonObject:
    return {"constant_score": {"filter": query, "boost": score}}


def _is_unread_match(hits: list[dict[str, Any]], scope: Scope) -> bool:
    """Whether whole values matched and no source says more: a field alias, or no source at all."""
    return bool(hits) and hits[0]["_score"] >= _MATCHED and all(read_hit(raw, scope).raw_label is None for raw in hits)
