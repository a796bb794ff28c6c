"""Forwarding by aiohttp, streaming both ways. Settings and their reasons: aiohttp re-sends what it parsed, so every
convenience of its client and server that would change bytes is switched off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from sidecar.http1 import origin_form
from sidecar.settings import Upstream

MAX_HEAD_BYTES = 128 * 1024  # above the node's own limits (4 KiB line, 16 KiB headers), so that the node judges
MAX_HEADERS = 2048
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
_NO_BODY = {204, 304}


class Forwarder:
    """Sends requests to one upstream node. Use `start` and `close`."""

    def __init__(
        self,
        upstream: Upstream,
        *,
        on_answer: Callable[[int], None],
        unreachable: Callable[[str], web.StreamResponse],
    ) -> None:
        self._upstream = upstream
        self._on_answer = on_answer
        self._unreachable = unreachable
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Open the client side; connections are made when needed."""
        self._session = aiohttp.ClientSession(
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
            # A connection serves one request. After a head that is too long the node answers 400 and reads no more
            # from that connection without closing it (measured, OpenSearch 3.8): in a pool it would hang another
            # client's request.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._upstream.connect_timeout_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            max_line_size=MAX_HEAD_BYTES,
            max_field_size=MAX_HEAD_BYTES,
            max_headers=MAX_HEADERS,
        )
        # aiohttp sends GET, HEAD, PUT and DELETE once more when a connection breaks (aiohttp #7297); only the client
        # may decide that, since the node may have done the work. There is no public switch.
        self._session._retry_connection = False

    async def close(self) -> None:
        """Close all upstream connections."""
        if self._session is not None:
            await self._session.close()

    async def forward(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass the request on and stream the answer back.

        An unreachable node, or one that broke off before its answer, is a 502; once the answer has begun, its end is
        the end of this connection. Cancelled when the client leaves, which closes the upstream connection too.
        """
        assert self._session is not None, "start() first"
        try:
            answer = await self._session.request(
                request.method,
                URL(self._upstream.url + origin_form(request.raw_path), encoded=True),
                headers=_end_to_end(request.headers, drop=_answered_here(request)),
                data=_body(request),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            self._on_answer(502)
            is_down = isinstance(error, aiohttp.ClientConnectorError | TimeoutError)
            what = "is unreachable" if is_down else "broke off before its answer"
            return self._unreachable(f"node {self._upstream.url} {what}: {type(error).__name__}")
        async with answer:
            self._on_answer(answer.status)
            return await _relay(request, answer)


async def _relay(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=_end_to_end(answer.headers))
    if request.method == hdrs.METH_HEAD or answer.status in _NO_BODY:
        response.content_length = answer.content_length
    elif answer.content_length is None and request.version >= aiohttp.HttpVersion11:
        # An HTTP/1.0 client knows no chunks; its answer ends with the connection.
        response.enable_chunked_encoding()
    await response.prepare(request)
    async for chunk in answer.content.iter_any():
        await response.write(chunk)
    await response.write_eof()
    return response


def _body(request: web.BaseRequest) -> AsyncIterator[bytes] | None:
    return _chunks(request) if request.body_exists else None


async def _chunks(request: web.BaseRequest) -> AsyncIterator[bytes]:
    yield b""  # sends the head at once: aiohttp would keep it back until the first byte of the body
    async for chunk in request.content.iter_any():
        yield chunk


def _answered_here(request: web.BaseRequest) -> tuple[str, ...]:
    """`Expect: 100-continue` was answered when the request came; any other expectation is the node's to judge."""
    return ("expect",) if request.headers.get("Expect", "").lower() == "100-continue" else ()


def _end_to_end(headers: CIMultiDictProxy[str] | CIMultiDict[str], drop: tuple[str, ...] = ()) -> CIMultiDict[str]:
    """Headers that belong to the message, not to the hop (RFC 9110 section 7.6.1); duplicates survive."""
    named = {part.strip().lower() for line in headers.getall("connection", ()) for part in line.split(",") if part}
    hop = _HOP_BY_HOP | named | set(drop)
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in hop)
