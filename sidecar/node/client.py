"""One `elasticsearch` client for Elasticsearch 7, 8, 9 and OpenSearch."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from elastic_transport import AiohttpHttpNode, ApiResponseMeta, HttpHeaders, NodeConfig, OrjsonSerializer
from elastic_transport.client_utils import DEFAULT, DefaultType
from elasticsearch import AsyncElasticsearch
from elasticsearch.serializer import NdjsonSerializer

from sidecar.settings import Upstream
from sidecar.terms import IndexName

PRODUCT_HEADER = "x-elastic-product"

_VENDORED = {
    "application/vnd.elasticsearch+json": "application/json",
    "application/vnd.elasticsearch+x-ndjson": "application/x-ndjson",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose credentials a call to the node carries: one Authorization line, or none.

    opaque_id  the caller's X-Opaque-Id, kept so that the node's logs name the caller
    """

    authorization: str | None = field(default=None, repr=False)
    opaque_id: str | None = None

    def headers(self) -> dict[str, str]:
        """The request headers that carry this identity."""
        headers = {}
        if self.authorization is not None:
            headers["authorization"] = self.authorization
        if self.opaque_id is not None:
            headers["x-opaque-id"] = self.opaque_id
        return headers


def own_identity(upstream: Upstream) -> Identity:
    """The sidecar's own identity from the settings: API key first, then user and password, else none."""
    if upstream.api_key:
        return Identity(f"ApiKey {upstream.api_key}")
    if upstream.username:
        pair = f"{upstream.username}:{upstream.password}".encode()
        return Identity("Basic " + base64.b64encode(pair).decode("ascii"))
    return Identity()


class PlainMediaNode(AiohttpHttpNode):
    """Speaks plain media types, which every engine accepts, and passes the client's product check.

    The official client sends vendored types of its own major and refuses answers without its product header, so
    OpenSearch and other majors answer 406 or 400 or are refused (elasticsearch-py 9, `_async/client/_base.py`).
    """

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        self.product: str | None = None

    async def perform_request(  # type: ignore[override]  # the base class declares the synchronous signature
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: DefaultType | float | None = DEFAULT,
    ) -> tuple[ApiResponseMeta, bytes]:
        """Send one request; remember whether the node itself names its product.

        Raises  elastic_transport.ConnectionError, ConnectionTimeout, TlsError
        """
        response = await super().perform_request(
            method, target, body=body, headers=_plain(headers), request_timeout=request_timeout
        )
        self.product = response.meta.headers.get(PRODUCT_HEADER)
        answered = HttpHeaders(dict(response.meta.headers))
        answered[PRODUCT_HEADER] = "Elasticsearch"
        return response._replace(meta=replace(response.meta, headers=answered))


def _plain(headers: HttpHeaders | None) -> HttpHeaders:
    plain = HttpHeaders(dict(headers or {}))
    for name in ("accept", "content-type"):
        value = plain.get(name)
        if value is not None:
            plain[name] = _VENDORED.get(value.partition(";")[0].strip(), value)
    # The client's own description of itself is of no use to the node and tells of an inner hop.
    plain.pop("x-elastic-client-meta", None)
    return plain


def connect(upstream: Upstream, *, connections: int, timeout_s: float) -> AsyncElasticsearch:
    """A client without credentials of its own; every call brings an `Identity`.

    One retry, and only where the connection broke before an answer: an idle kept-alive connection may be closed by
    the node at the moment of use. Never on a status, so that an overloaded node is not asked again.
    """
    return AsyncElasticsearch(
        upstream.url,
        node_class=PlainMediaNode,
        connections_per_node=connections,
        request_timeout=timeout_s,
        max_retries=1,
        retry_on_status=(),
        retry_on_timeout=False,
        serializers=_serializers(),
    )


def _serializers() -> dict[str, Any]:
    return {"application/json": OrjsonSerializer(), "application/x-ndjson": NdjsonSerializer()}


def index_path(index: IndexName) -> str:
    """The index as the first part of a path: percent-encoded, so that no name reaches another API."""
    return "/" + quote(index, safe="*,-")


def product_of(client: AsyncElasticsearch) -> str | None:
    """The product header of the node's latest answer, None when the node sends none or was not asked yet."""
    for node in client.transport.node_pool.all():
        if isinstance(node, PlainMediaNode) and node.product is not None:
            return node.product
    return None
