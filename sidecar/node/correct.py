"""A person's word on one document, as the ordinary `PUT {index}/_doc/{id}` that the documentation describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import xxhash
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.errors import CorrectionError, HistoryUnavailable
from sidecar.node.client import Identity, index_path
from sidecar.node.load import assign
from sidecar.node.upstream_errors import translate
from sidecar.terms import IndexName, JsonObject
from sidecar.vote import HUMAN_FIELD

MAX_ID_BYTES = 512


@dataclass(frozen=True, slots=True)
class Found:
    """A document as it is: its hit, its members, and the version that was read."""

    index: IndexName
    id: str
    hit: dict[str, Any]
    source: JsonObject
    version: dict[str, str]


def correction_id(text: str) -> str:
    """The id of a correction that names a text: the same text again replaces it."""
    return f"correction-{xxhash.xxh3_128_hexdigest(text.encode())}"


def corrected(source: JsonObject, label_field: str, label: str, ts: str) -> JsonObject:
    """The document with the person's label and `human: true`, now; other members stay."""
    document = dict(source)
    if label_field in document:  # a dotted path may be a literal key
        document[label_field] = label
    else:
        assign(document, label_field, label)
    return document | {HUMAN_FIELD: True, "ts": ts}


class Corrections:
    """Reads and stores documents of one index through one client."""

    def __init__(self, client: AsyncElasticsearch, index: IndexName, identity: Identity) -> None:
        self._client = client
        self._index = index
        self._identity = identity

    async def find(self, id_: str) -> Found | None:
        """The document with this id, None where there is none; by a search, so that any alias will do.

        Raises  IndexMissing, CorrectionError where it cannot be read whole, and the errors of `upstream_errors`
        """
        body: JsonObject = {"size": 0}  # an id has an end; the index must be there all the same
        if len(id_.encode()) <= MAX_ID_BYTES:
            body = {"size": 2, "seq_no_primary_term": True, "query": {"ids": {"values": [id_]}}}
        try:
            answer = await self._call("POST", index_path(self._index) + "/_search", body)
        except (ApiError, TransportError) as error:
            raise translate(error, self._index) from error
        hits = answer["hits"]["hits"]
        if not hits:
            return None
        if len(hits) > 1:
            raise CorrectionError(f"several indices behind [{self._index}] hold that id; name the one that is meant")
        hit = hits[0]
        if not isinstance(hit.get("_source"), dict):
            raise CorrectionError(f"[{hit['_index']}] keeps no source of its documents; correct by the text instead")
        version = {"if_seq_no": str(hit["_seq_no"]), "if_primary_term": str(hit["_primary_term"])}
        return Found(IndexName(hit["_index"]), hit["_id"], hit, hit["_source"], version)

    async def put(
        self, id_: str, document: JsonObject, *, index: IndexName | None = None, version: dict[str, str] | None = None
    ) -> str:
        """Store and wait until a search sees it; returns `created` or `updated`.

        version  replace only what was read
        Raises   CorrectionError naming the node's reason, and the errors of `upstream_errors`
        """
        params = {"refresh": "wait_for", **(version or {})}
        path = f"{index_path(index or self._index)}/_doc/{quote(id_, safe='')}"
        try:
            answer = await self._call("PUT", path, document, params)
        except ApiError as error:
            raise self._refused(error) from error
        except TransportError as error:
            known = translate(error, self._index)
            if isinstance(known, HistoryUnavailable) and known.deadline:
                raise CorrectionError(
                    f"the correction was sent and did not become visible in time; does [{self._index}] refresh "
                    "(index.refresh_interval)?"
                ) from error
            raise known from error
        return str(answer["result"])

    def _refused(self, error: ApiError) -> CorrectionError:
        if error.status_code == 409:
            return CorrectionError("the document changed while it was being corrected; run the command again")
        body = error.body.get("error") if isinstance(error.body, dict) else None
        kind = body.get("type") if isinstance(body, dict) else None
        return CorrectionError(
            f"the node refused the correction in [{self._index}] with {error.status_code}: {kind or 'no reason given'}"
        )

    async def _call(
        self, method: str, path: str, body: JsonObject, params: dict[str, str] | None = None
    ) -> dict[str, Any]:
        headers = {"accept": "application/json", "content-type": "application/json", **self._identity.headers()}
        answer = await self._client.perform_request(method, path, params=params, headers=headers, body=body)
        return dict(answer.body)
