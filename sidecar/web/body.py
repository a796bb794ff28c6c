"""Reading a request body: content codings and the size limit on what comes out of them."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

from aiohttp import web

from sidecar.errors import Problem, SchemaViolation, TooLong, UnsupportedMedia
from sidecar.settings import Limits

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

_JSON_TYPES = {"", "application/json", "application/vnd.elasticsearch+json", "application/x-ndjson", "text/json"}
CODINGS = ("identity", "gzip", "deflate", "zstd")


class _Decoder(Protocol):
    """Feeds on coded bytes and gives decoded ones, at most `max_length` at a time."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """The next decoded bytes."""
        ...


async def read_body(request: web.BaseRequest, limits: Limits) -> bytes:
    """The decoded body of a request to one of our endpoints.

    Buffers at most `limits.body_bytes` decoded bytes plus one read of the socket; a coded body is never inflated
    beyond that. Cancelled with the request.
    Raises  UnsupportedMedia, TooLong, SchemaViolation for a body that its coding cannot hold
    """
    _check_media_type(request)
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        return await _read_plain(request, limits.body_bytes)
    return await _read_coded(request, coding, limits.body_bytes)


def _check_media_type(request: web.BaseRequest) -> None:
    named = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if named.startswith("multipart/"):
        raise UnsupportedMedia("images are not read here: send the request as application/json, without assets")
    if named not in _JSON_TYPES:
        raise UnsupportedMedia(f"Content-Type [{named}] is not read here; send application/json")


async def _read_plain(request: web.BaseRequest, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise _too_long(limit, request.content_length or size)
        chunks.append(chunk)
    return b"".join(chunks)


async def _read_coded(request: web.BaseRequest, coding: str, limit: int) -> bytes:
    decode = _decoder(coding)
    out: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        try:
            decoded = decode(chunk, limit - size + 1)
        except (zlib.error, ZstdError, EOFError) as error:
            raise SchemaViolation((Problem(("body",), f"the body is not valid {coding}", "json_invalid"),)) from error
        size += len(decoded)
        if size > limit:
            raise _too_long(limit, size)
        out.append(decoded)
    return b"".join(out)


def _decoder(coding: str) -> Callable[[bytes, int], bytes]:
    if coding in ("gzip", "x-gzip"):
        return zlib.decompressobj(wbits=31).decompress
    if coding == "deflate":
        return _deflate()
    if coding == "zstd":
        zstd = ZstdDecompressor()
        return lambda data, limit: b"" if zstd.eof else zstd.decompress(data, limit)
    raise UnsupportedMedia(f"Content-Encoding [{coding}] is not read here; allowed: {', '.join(CODINGS)}")


def _deflate() -> Callable[[bytes, int], bytes]:
    """RFC 9110 section 8.4.1.2 means the zlib format; some senders leave its wrapper out."""
    inflater: zlib._Decompress | None = None

    def decode(data: bytes, limit: int) -> bytes:
        nonlocal inflater
        if inflater is None:
            wrapped = len(data) > 1 and (data[0] << 8 | data[1]) % 31 == 0 and data[0] & 15 == 8
            inflater = zlib.decompressobj(wbits=15 if wrapped else -15)
        return inflater.decompress(data, limit)

    return decode


def _too_long(limit: int, actual: int) -> TooLong:
    return TooLong("the request body is too large", limit=limit, actual=actual, setting="limits.body_bytes")
