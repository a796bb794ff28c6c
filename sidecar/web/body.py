"""Reading a request body: content codings and the size limit on what comes out of them."""

from __future__ import annotations

import sys
import zlib
from typing import Protocol

from aiohttp import web

from sidecar.errors import Problem, SchemaViolation, TooLong, UnsupportedMedia
from sidecar.settings import Limits

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

_JSON_TYPES = {
    "",
    "application/json",
    "application/vnd.elasticsearch+json",
    "application/vnd.elasticsearch+x-ndjson",
    "application/x-ndjson",
    "text/json",
}
CODINGS = ("identity", "gzip", "deflate", "zstd")


_BROKEN = (zlib.error, ZstdError, EOFError)


class _Unpacker(Protocol):
    """One gzip member, zlib stream or zstd frame: what `zlib.decompressobj` and `ZstdDecompressor` have in common."""

    @property
    def eof(self) -> bool:
        """Whether its end was seen."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What followed its end."""
        ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """The next decoded bytes, at most `max_length`."""
        ...


async def read_body(request: web.BaseRequest, limits: Limits) -> bytes:
    """The decoded body of a request to one of our endpoints.

    Buffers at most `limits.body_bytes` decoded bytes plus one read of the socket; a coded body is never inflated
    beyond that. Cancelled with the request.
    Raises  UnsupportedMedia, TooLong, SchemaViolation for a body that its coding cannot hold
    """
    _check_media_type(request)
    coding = ", ".join(request.headers.getall("Content-Encoding", ("identity",))).strip().lower()
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
    body = _CodedBody(coding)
    out: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        try:
            decoded = body.decode(chunk, limit - size + 1)
        except _BROKEN as error:
            raise _not_valid(coding) from error
        size += len(decoded)
        if size > limit:
            raise _too_long(limit, size)
        out.append(decoded)
    if not body.is_whole:
        raise _not_valid(coding)
    return b"".join(out)


class _CodedBody:
    """Decodes a body piece by piece. A body may hold several gzip members (RFC 1952 section 2.2) or zstd frames
    (RFC 8878 section 3.1), which are one text."""

    def __init__(self, coding: str) -> None:
        if coding not in ("gzip", "x-gzip", "deflate", "zstd"):
            raise UnsupportedMedia(f"Content-Encoding [{coding}] is not read here; allowed: {', '.join(CODINGS)}")
        self._coding = coding
        self._unpacker: _Unpacker | None = None
        self._head = b""

    @property
    def is_whole(self) -> bool:
        """Whether what was fed ends where the coding says."""
        return self._unpacker is not None and self._unpacker.eof and not self._head

    def decode(self, data: bytes, max_length: int) -> bytes:
        """The next decoded bytes, at most `max_length`; raises one of `_BROKEN`."""
        out: list[bytes] = []
        data = self._head + data
        self._head = b""
        while data and max_length > 0:
            if self._unpacker is None or self._unpacker.eof:
                if len(data) < 2:  # a deflate body shows its form in two bytes
                    self._head = data
                    break
                self._unpacker = self._next(data)
            decoded = self._unpacker.decompress(data, max_length)
            out.append(decoded)
            max_length -= len(decoded)
            data = self._unpacker.unused_data if self._unpacker.eof else b""
        return b"".join(out)

    def _next(self, data: bytes) -> _Unpacker:
        if self._coding == "zstd":
            return ZstdDecompressor()
        if self._coding != "deflate":
            return zlib.decompressobj(wbits=31)
        if self._unpacker is not None:
            raise EOFError("a deflate body is one stream")
        # RFC 9110 section 8.4.1.2 means the zlib format; some senders leave its wrapper out.
        wrapped = (data[0] << 8 | data[1]) % 31 == 0 and data[0] & 15 == 8
        return zlib.decompressobj(wbits=15 if wrapped else -15)


def _not_valid(coding: str) -> SchemaViolation:
    return SchemaViolation((Problem(("body",), f"the body is not valid {coding}", "json_invalid"),))


def _too_long(limit: int, actual: int) -> TooLong:
    return TooLong("the request body is too large", limit=limit, actual=actual, setting="limits.body_bytes")
