"""Loading decided cases into an index: a mapping that can vote, and idempotent bulk writes."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import xxhash
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch, BadRequestError
from elasticsearch.helpers import async_streaming_bulk

from sidecar.errors import HistoryIndexError, IndexMissing
from sidecar.node.client import Identity, index_path
from sidecar.node.mapping import MappingFacts, check_mapping, fetch_mapping
from sidecar.node.upstream_errors import translate
from sidecar.terms import JsonObject, Scope

BATCH_DOCUMENTS = 500
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One decided case of a file. `line` is where it ends, counted from 1; `id` None = derived from its content."""

    line: int
    text: str
    label: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one case: `created`, `present` (an earlier run wrote it) or `rejected` with the node's reason."""

    line: int
    outcome: str
    reason: str = ""


def history_mapping(text_field: str, label_field: str) -> JsonObject:
    """A mapping that votes well: analysed text, labels as whole values, and the fields of corrections and outcomes."""
    properties: JsonObject = {
        "p": {"type": "float"},
        "source": {"type": "keyword"},
        "ts": {"type": "date"},
        "human": {"type": "boolean"},
    }
    for path, kind in ((text_field, "text"), (label_field, "keyword")):
        _set_property(properties, path.split("."), kind)
    return {"properties": properties}


def _set_property(properties: JsonObject, path: list[str], kind: str) -> None:
    name, rest = path[0], path[1:]
    if not rest:
        properties[name] = {"type": kind}
        return
    nested = properties.setdefault(name, {"properties": {}})
    assert isinstance(nested, dict)
    inner = nested["properties"]
    assert isinstance(inner, dict)
    _set_property(inner, rest, kind)


async def prepare_index(client: AsyncElasticsearch, scope: Scope, identity: Identity) -> str:
    """Make sure that the index can hold votes; returns `created`, `extended` or `present`.

    A missing index is created with one shard, so that scores need no second round trip; missing fields are added.
    Raises  HistoryIndexError where a field has a type that cannot vote, and the errors of `upstream_errors`
    """
    calls = client.options(headers=identity.headers())
    try:
        facts = await fetch_mapping(client, scope, identity)
        check_mapping(scope, facts, holds_documents=False)
        _check_label(scope, facts)
        if facts.text is not None and facts.label is not None:
            return "present"
        await _add_fields(calls, scope, _missing_fields(scope, facts))
        return "extended"
    except IndexMissing:
        settings: dict[str, Any] = {"number_of_shards": 1}
        mapping = history_mapping(scope.text_field, scope.label_field)
        try:
            await calls.indices.create(index=scope.index, settings=settings, mappings=mapping)
        except (ApiError, TransportError) as error:
            raise translate(error, scope.index) from error
        return "created"
    except (ApiError, TransportError) as error:
        raise translate(error, scope.index) from error


async def _add_fields(calls: AsyncElasticsearch, scope: Scope, properties: JsonObject) -> None:
    try:
        await calls.perform_request(
            "PUT",
            index_path(scope.index) + "/_mapping",
            body={"properties": properties},
            headers={"accept": "application/json", "content-type": "application/json"},
        )
    except BadRequestError as error:
        # `_field_caps` does not tell of objects: a field that looks missing may be one.
        raise HistoryIndexError(
            f"history index [{scope.index}] cannot vote: its mapping leaves no room for text in [{scope.text_field}] "
            f"and labels in [{scope.label_field}]; an object may have one of these names: choose others"
        ) from error


def _check_label(scope: Scope, facts: MappingFacts) -> None:
    kinds = facts.label.types if facts.label is not None else ("keyword",)
    usable = {"keyword", "text", "boolean", "byte", "short", "integer", "long", "constant_keyword", "wildcard"}
    if not set(kinds) <= usable:
        raise HistoryIndexError(
            f"history index [{scope.index}] cannot vote: field [{scope.label_field}] is {' and '.join(kinds)}, "
            "not keyword, text, boolean or an integer"
        )


def _missing_fields(scope: Scope, facts: MappingFacts) -> JsonObject:
    """Properties of the fields that are not mapped yet, and of no other: a node refuses to change one that is."""
    properties: JsonObject = {}
    for path, kind, known in ((scope.text_field, "text", facts.text), (scope.label_field, "keyword", facts.label)):
        if known is None:
            _set_property(properties, path.split("."), kind)
    return properties


def case_ids(cases: Iterable[Case]) -> Iterator[tuple[str, Case]]:
    """Pair each case with an id derived from its content, so that a second run of a file writes nothing twice.

    Equal cases of one file stay as many documents as they are: the n-th repeat has an id of its own. xxh3-128 as for
    write-backs; the separator NUL keeps (text, label) pairs apart.
    """
    seen: dict[bytes, int] = {}
    for case in cases:
        if case.id is not None:
            yield case.id, case
            continue
        digest = xxhash.xxh3_128_digest(f"{case.text}\0{case.label}".encode())
        repeat = seen.get(digest, 0)
        seen[digest] = repeat + 1
        yield f"case-{digest.hex()}" + (f"-{repeat}" if repeat else ""), case


async def store_cases(
    client: AsyncElasticsearch, scope: Scope, identity: Identity, cases: Iterable[Case]
) -> AsyncIterator[Stored]:
    """Write cases in batches, never over an existing document; yields what became of each.

    Raises  the errors of `upstream_errors` when the node goes away; everything yielded before is stored
    """
    lines: dict[str, deque[int]] = {}  # by id: the node's refusals for want of room are sent again, out of order

    def actions() -> Iterator[dict[str, Any]]:
        for document_id, case in case_ids(cases):
            lines.setdefault(document_id, deque()).append(case.line)
            source: JsonObject = {}
            assign(source, scope.text_field, case.text)
            assign(source, scope.label_field, case.label)
            yield {"_op_type": "create", "_index": scope.index, "_id": document_id, "_source": source}

    calls = client.options(headers=identity.headers(), request_timeout=120)
    try:
        async for done, result in async_streaming_bulk(
            calls,
            actions(),
            chunk_size=BATCH_DOCUMENTS,
            max_chunk_bytes=BATCH_BYTES,
            raise_on_error=False,
            raise_on_exception=True,
            max_retries=5,
            initial_backoff=1,
            max_backoff=30,
        ):
            written = result["create"]
            waiting = lines[written["_id"]]
            yield _stored(waiting.popleft(), done, written)
            if not waiting:
                del lines[written["_id"]]
    except (ApiError, TransportError) as error:
        raise translate(error, scope.index) from error


def _stored(line: int, done: bool, result: dict[str, Any]) -> Stored:
    if done:
        return Stored(line, "created")
    if result.get("status") == 409:
        return Stored(line, "present")
    error = result.get("error")
    reason = error.get("type", "") if isinstance(error, dict) else str(error)
    return Stored(line, "rejected", f"the node refused it: {reason} (status {result.get('status')})")


def assign(source: JsonObject, path: str, value: str) -> None:
    """Set the value at a dotted path, making the objects on the way."""
    *parents, last = path.split(".")
    for parent in parents:
        nested = source.setdefault(parent, {})
        assert isinstance(nested, dict)
        source = nested
    source[last] = value


async def refresh(client: AsyncElasticsearch, scope: Scope, identity: Identity) -> int:
    """Make everything written visible to votes; returns the number of documents in the index."""
    calls = client.options(headers=identity.headers())
    try:
        await calls.indices.refresh(index=scope.index)
        counted = await calls.count(index=scope.index)
    except (ApiError, TransportError) as error:
        raise translate(error, scope.index) from error
    return int(counted["count"])
