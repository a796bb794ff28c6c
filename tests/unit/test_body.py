"""Content codings, media types and the size limit of a request body."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import sys
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from sidecar.errors import SchemaViolation, TooLong, UnsupportedMedia
from sidecar.settings import Limits
from sidecar.web.body import read_body

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BODY = b'{"question": "' + bytes(range(32, 127)).replace(b'"', b"").replace(b"\\", b"") * 40 + b'"}'
LIMIT = 8192


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


class Content:
    """The body of a fake request, in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def iter_any(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def read(pieces: list[bytes], *headers: tuple[str, str], limit: int = LIMIT) -> bytes:
    request = SimpleNamespace(headers=CIMultiDict(headers), content=Content(pieces), content_length=None)
    return asyncio.run(read_body(cast(web.BaseRequest, cast(Any, request)), Limits(body_bytes=limit)))


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


CODINGS = [
    pytest.param("identity", BODY, id="identity"),
    pytest.param("", BODY, id="empty-name"),
    pytest.param("gzip", gzip.compress(BODY), id="gzip"),
    pytest.param("x-gzip", gzip.compress(BODY), id="x-gzip"),
    pytest.param(" GZIP ", gzip.compress(BODY), id="gzip-in-capitals"),
    pytest.param("gzip", gzip.compress(BODY[:100]) + gzip.compress(BODY[100:]), id="gzip-of-two-members"),
    pytest.param("deflate", zlib.compress(BODY), id="deflate-zlib"),
    pytest.param("deflate", raw_deflate(BODY), id="deflate-raw"),
    pytest.param("zstd", zstd.compress(BODY), id="zstd"),
    pytest.param("zstd", zstd.compress(BODY[:100]) + zstd.compress(BODY[100:]), id="zstd-of-two-frames"),
]


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20], ids=lambda size: f"pieces-of-{size}")
@pytest.mark.parametrize(("coding", "data"), CODINGS)
def test_a_coded_body_is_read(coding: str, data: bytes, size: int) -> None:
    assert read(cut(data, size), ("Content-Encoding", coding)) == BODY


def test_without_a_coding_the_body_is_itself() -> None:
    assert read([BODY]) == BODY
    assert read([]) == b""


UNKNOWN = ["br", "compress", "gzip, gzip", "gzip;q=1", "nonsense"]


@pytest.mark.parametrize("coding", UNKNOWN)
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(UnsupportedMedia, match=r"Content-Encoding \[.*\] is not read here; allowed: identity, gzip"):
        read([BODY], ("Content-Encoding", coding))


def test_two_lines_of_codings_are_two_codings() -> None:
    with pytest.raises(UnsupportedMedia, match="gzip, identity"):
        read([BODY], ("Content-Encoding", "gzip"), ("Content-Encoding", "identity"))


BROKEN = [
    pytest.param("gzip", gzip.compress(BODY)[:-9], id="gzip-cut-in-its-data"),
    pytest.param("gzip", gzip.compress(BODY)[:-4], id="gzip-cut-in-its-trailer"),
    pytest.param("gzip", gzip.compress(BODY)[:-8] + bytes(8), id="gzip-wrong-checksum"),
    pytest.param("gzip", gzip.compress(BODY) + b"tail", id="gzip-and-something-else"),
    pytest.param("gzip", gzip.compress(BODY) + gzip.compress(BODY)[:20], id="gzip-second-member-cut"),
    pytest.param("gzip", BODY, id="gzip-that-is-plain"),
    pytest.param("gzip", b"", id="gzip-of-nothing"),
    pytest.param("deflate", zlib.compress(BODY)[:-2], id="deflate-cut"),
    pytest.param("deflate", raw_deflate(BODY)[:-2], id="deflate-raw-cut"),
    pytest.param("deflate", zlib.compress(BODY) + b"tail", id="deflate-and-something-else"),
    pytest.param("zstd", zstd.compress(BODY)[:-2], id="zstd-cut"),
    pytest.param("zstd", BODY, id="zstd-that-is-plain"),
    pytest.param("zstd", zstd.compress(BODY) + b"tail", id="zstd-and-something-else"),
]


@pytest.mark.parametrize("size", [1, 1 << 20], ids=["byte-by-byte", "whole"])
@pytest.mark.parametrize(("coding", "data"), BROKEN)
def test_a_broken_body_is_json_invalid(coding: str, data: bytes, size: int) -> None:
    with pytest.raises(SchemaViolation, match=f"the body is not valid {coding}") as refused:
        read(cut(data, size), ("Content-Encoding", coding))
    assert [problem.type for problem in refused.value.problems] == ["json_invalid"]


ZEROS = bytes(256 * 1024 * 1024)
BOMBS = [
    pytest.param("gzip", gzip.compress(ZEROS, 1), id="gzip"),
    pytest.param("gzip", gzip.compress(ZEROS[: 1 << 20]) * 200, id="gzip-of-many-members"),
    pytest.param("deflate", zlib.compress(ZEROS, 1), id="deflate"),
    pytest.param("zstd", zstd.compress(ZEROS), id="zstd"),
]


@pytest.mark.parametrize(("coding", "data"), BOMBS)
def test_a_bomb_is_refused_and_never_inflated_beyond_the_limit(coding: str, data: bytes) -> None:
    limit = 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(TooLong, match=r"limits\.body_bytes") as refused:
            read([data], ("Content-Encoding", coding), limit=limit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * limit
    assert refused.value.limit == limit
    assert refused.value.actual > limit


SIZES = [pytest.param(LIMIT, True, id="at-the-limit"), pytest.param(LIMIT + 1, False, id="one-above")]


@pytest.mark.parametrize("coding", ["identity", "gzip", "deflate", "zstd"])
@pytest.mark.parametrize(("size", "fits"), SIZES)
def test_the_limit_is_exact(coding: str, size: int, fits: bool) -> None:
    pack = {"identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress}[coding]
    data = pack(b"x" * size)
    if fits:
        assert read(cut(data, 1000), ("Content-Encoding", coding)) == b"x" * size
    else:
        with pytest.raises(TooLong):
            read(cut(data, 1000), ("Content-Encoding", coding))


ACCEPTED = [
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/vnd.elasticsearch+json; compatible-with=8",
    "application/vnd.elasticsearch+json;compatible-with=9",
    "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
    "application/x-ndjson",
]


@pytest.mark.parametrize("named", ACCEPTED)
def test_a_json_media_type_is_read(named: str) -> None:
    assert read([b"{}"], ("Content-Type", named)) == b"{}"


REFUSED = [
    ("multipart/form-data; boundary=x", "without assets"),
    ("Multipart/Related", "without assets"),
    ("text/plain", "send application/json"),
    ("application/x-www-form-urlencoded", "send application/json"),
    ("application/cbor", "send application/json"),
]


@pytest.mark.parametrize(("named", "hint"), REFUSED)
def test_another_media_type_is_refused(named: str, hint: str) -> None:
    with pytest.raises(UnsupportedMedia, match=hint):
        read([b"{}"], ("Content-Type", named))


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "zstd"]), st.integers(1, 50))
def test_any_bytes_are_read_or_refused(data: bytes, coding: str, size: int) -> None:
    with contextlib.suppress(SchemaViolation, TooLong):
        read(cut(data, size), ("Content-Encoding", coding))


@given(st.binary(max_size=3000), st.sampled_from([gzip.compress, zlib.compress, zstd.compress]), st.integers(1, 50))
def test_any_cut_gives_the_same_body(data: bytes, pack: Any, size: int) -> None:
    coding = {gzip.compress: "gzip", zlib.compress: "deflate"}.get(pack, "zstd")
    assert read(cut(pack(data), size), ("Content-Encoding", coding)) == data
