"""Writing local answers into a history: never over a person's or a seeded document, whoever writes at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import orjson
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.errors import HistoryUnavailable, IndexMissing, NotAllowedByNode, SidecarError, UpstreamOverloaded
from sidecar.node.cached_answer import CachedAnswer, mapping_of
from sidecar.node.client import Identity, index_path
from sidecar.node.upstream_errors import translate
from sidecar.terms import IndexName
from sidecar.vote import HUMAN_FIELD, SOURCE_FIELD

RETRY_DELAYS_S = (0.5, 2.0)
"""Waits before what the node refused with 429 is sent again; then it is dropped and counted."""

Item: TypeAlias = dict[str, Any] | SidecarError
"""What the node said of one operation, or why it said nothing."""


class Outcome(StrEnum):
    """What became of a write-back; all but `WRITTEN` are drops."""

    WRITTEN = "written"
    KEPT = "kept_document"  # a person's or a seeded document has this id
    CONFLICT = "conflict"  # the document changed while it was being replaced
    INDEX_MISSING = "index_missing"
    BLOCKED = "blocked"  # index.blocks, a full disk among them
    OVERLOADED = "overloaded"
    REFUSED = "refused"  # 401 or 403
    REJECTED = "rejected"  # a mapping, a data stream, an alias without a write index
    UNAVAILABLE = "unavailable"


class WriteBack:
    """Writes batches of cached answers through one client."""

    def __init__(self, client: AsyncElasticsearch) -> None:
        self._client = client

    async def write(
        self, index: IndexName, answers: Sequence[CachedAnswer], identity: Identity, *, create: bool
    ) -> list[Outcome]:
        """Store the answers, in order; ids must be distinct. A missing index is created only where `create` says so.

        Never raises for what the node says: the outcome of each answer says it. Cancelled, a batch may be half
        written; ids make a repeat harmless.
        """
        try:
            if not await self._ensure_index(index, answers, identity, create=create):
                return [Outcome.INDEX_MISSING] * len(answers)
        except SidecarError as error:
            return [_outcome(error)] * len(answers)
        created = await self._bulk([_create(index, answer) for answer in answers], identity)
        outcomes = [_outcome(item) for item in created]
        taken = [place for place, outcome in enumerate(outcomes) if outcome is Outcome.CONFLICT]
        if taken:
            homes = [_home(created[place], index) for place in taken]
            replaced = await self._replace(homes, [answers[place] for place in taken], identity)
            for place, outcome in zip(taken, replaced, strict=True):
                outcomes[place] = outcome
        return outcomes

    async def _ensure_index(
        self, index: IndexName, answers: Sequence[CachedAnswer], identity: Identity, *, create: bool
    ) -> bool:
        """Whether the index is there, so that `_bulk` does not create it with a guessed mapping.

        Asked by an empty search: who may decide may search, who may not look at an index's metadata.
        """
        try:
            await self._call("POST", index_path(index) + "/_search", {"size": 0}, identity, index)
        except IndexMissing:
            if not create:
                return False
            await self._create_index(index, answers, identity)
        return True

    async def _create_index(self, index: IndexName, answers: Sequence[CachedAnswer], identity: Identity) -> None:
        calls = self._client.options(headers=identity.headers())
        settings: dict[str, Any] = {"number_of_shards": 1}
        try:
            await calls.indices.create(index=index, settings=settings, mappings=mapping_of(answers))
        except ApiError as error:
            if "resource_already_exists_exception" not in str(error.body):  # else another sidecar was faster
                raise translate(error, index) from error
        except TransportError as error:
            raise translate(error, index) from error

    async def _replace(
        self, homes: Sequence[str], answers: Sequence[CachedAnswer], identity: Identity
    ) -> list[Outcome]:
        """Overwrite documents that are cached answers themselves, each only in the version that was looked at.

        homes  the concrete index of each: a version number means nothing through an alias of several
        """
        looked_at = [
            {"_index": home, "_id": answer.id, "_source": [HUMAN_FIELD, SOURCE_FIELD]}
            for home, answer in zip(homes, answers, strict=True)
        ]
        try:
            found = await self._call("POST", "/_mget", {"docs": looked_at}, identity, "")
        except SidecarError as error:
            return [_outcome(error)] * len(answers)
        outcomes = [_outcome_of_look(document) for document in found["docs"]]
        places = [place for place, document in enumerate(found["docs"]) if _is_cached(document)]
        operations = [_index_if_unchanged(answers[place], found["docs"][place]) for place in places]
        if operations:
            for place, item in zip(places, await self._bulk(operations, identity), strict=True):
                outcomes[place] = _outcome(item)
        return outcomes

    async def _bulk(self, operations: Sequence[list[bytes]], identity: Identity) -> list[Item]:
        """Send operations; those refused with 429 are sent again, a bounded number of times."""
        results: list[Item] = [{}] * len(operations)
        waiting = list(range(len(operations)))
        for delay_s in (*RETRY_DELAYS_S, None):
            lines = [line for place in waiting for line in operations[place]]
            for place, item in zip(waiting, await self._bulk_once(lines, len(waiting), identity), strict=True):
                results[place] = item
            waiting = [place for place in waiting if _outcome(results[place]) is Outcome.OVERLOADED]
            if not waiting or delay_s is None:
                break
            await asyncio.sleep(delay_s)
        return results

    async def _bulk_once(self, lines: list[bytes], n: int, identity: Identity) -> list[Item]:
        try:
            answer = await self._call("POST", "/_bulk", lines, identity, "", content_type="application/x-ndjson")
        except SidecarError as error:
            return [error] * n
        return [next(iter(item.values())) for item in answer["items"]]

    async def _call(
        self,
        method: str,
        path: str,
        body: Any,
        identity: Identity,
        index: str,
        *,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        headers = {"accept": "application/json", "content-type": content_type, **identity.headers()}
        try:
            answer = await self._client.perform_request(method, path, headers=headers, body=body)
        except (ApiError, TransportError) as error:
            raise translate(error, index) from error
        return dict(answer.body)


def _create(index: IndexName, answer: CachedAnswer) -> list[bytes]:
    return [orjson.dumps({"create": {"_index": index, "_id": answer.id}}), orjson.dumps(answer.document())]


def _index_if_unchanged(answer: CachedAnswer, document: Mapping[str, Any]) -> list[bytes]:
    action = {
        "_index": document["_index"],
        "_id": answer.id,
        "if_seq_no": document["_seq_no"],
        "if_primary_term": document["_primary_term"],
    }
    return [orjson.dumps({"index": action}), orjson.dumps(answer.document())]


def _home(item: Item, index: IndexName) -> str:
    """The concrete index in which an id was found taken."""
    error = None if isinstance(item, SidecarError) else item.get("error")
    return str(error.get("index") or index) if isinstance(error, dict) else index


def _is_cached(document: Mapping[str, Any]) -> bool:
    source = document.get("_source")
    if not document.get("found") or not isinstance(source, dict):
        return False
    return isinstance(source.get(SOURCE_FIELD), str) and source.get(HUMAN_FIELD) is not True


def _outcome_of_look(document: Mapping[str, Any]) -> Outcome:
    """What a document that is not replaced means for its answer."""
    if "error" in document:
        error = document["error"]
        denied = isinstance(error, dict) and error.get("type") == "security_exception"
        return Outcome.REFUSED if denied else Outcome.REJECTED
    return Outcome.KEPT if document.get("found") else Outcome.CONFLICT


_BY_STATUS = {409: Outcome.CONFLICT, 429: Outcome.OVERLOADED, 401: Outcome.REFUSED, 403: Outcome.REFUSED}


def _outcome(item: Item) -> Outcome:
    match item:
        case NotAllowedByNode():
            return Outcome.REFUSED
        case UpstreamOverloaded():
            return Outcome.OVERLOADED
        case HistoryUnavailable():
            return Outcome.UNAVAILABLE
        case SidecarError():
            return Outcome.REJECTED
    status = int(item.get("status", 500))
    if status < 300:
        return Outcome.WRITTEN
    error = item.get("error")
    if isinstance(error, dict) and error.get("type") == "cluster_block_exception":
        return Outcome.BLOCKED
    by_status = _BY_STATUS.get(status)
    if by_status is not None:
        return by_status
    return Outcome.INDEX_MISSING if status == 404 else Outcome.REJECTED if status < 500 else Outcome.UNAVAILABLE
