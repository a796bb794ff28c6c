"""Small questions about the node itself: does it answer, and which origins does it allow."""

from __future__ import annotations

import asyncio

from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.node.client import Identity

_NODE_FACTS = "/_nodes/_local/http"  # answered by all engines; some distributions refuse GET /


class NodeProbe:
    """Asks under the sidecar's own identity; every question ends after `timeout_s` seconds."""

    def __init__(self, client: AsyncElasticsearch, own: Identity, timeout_s: float) -> None:
        self._client = client
        self._own = own
        self._timeout_s = timeout_s

    async def is_ready(self) -> bool:
        """Whether the node answers, if only to refuse these credentials."""
        try:
            await self._ask({})
        except ApiError as error:
            return error.status_code in (401, 403)
        except (TransportError, TimeoutError):
            return False
        return True

    async def cors_headers(self, origin: str) -> tuple[tuple[str, str], ...]:
        """The CORS headers that the node sends to this origin; none where CORS is off or the node is away."""
        try:
            headers = await self._ask({"origin": origin})
        except ApiError as error:
            headers = dict(error.meta.headers)
        except (TransportError, TimeoutError):
            return ()
        kept = {name.lower(): value for name, value in headers.items()}
        if "access-control-allow-origin" not in kept:
            return ()
        return tuple(
            (name, value) for name, value in kept.items() if name.startswith("access-control-") or name == "vary"
        )

    async def _ask(self, extra: dict[str, str]) -> dict[str, str]:
        async with asyncio.timeout(self._timeout_s):
            answer = await self._client.perform_request(
                "GET",
                _NODE_FACTS,
                params={"filter_path": "nodes.*.version"},
                headers={"accept": "application/json", **self._own.headers(), **extra},
            )
        return dict(answer.meta.headers)
