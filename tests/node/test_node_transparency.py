"""A node asked directly and through the sidecar gives the same answer: status, headers and body, byte for byte."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from sidecar.app import Sidecar
from sidecar.engine import RunningNode
from sidecar.settings import Listen, Settings, Upstream

KNOWN_DIFFERENCES = {"date", "server"}
"""Headers that the HTTP library of the sidecar adds."""

UNFRAMED = ("HEAD", "transfer-encoding")
"""Where a GET would be chunked, Elasticsearch 8 and 9 say so to a HEAD too; optional (RFC 9112 section 6.1)."""

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
BULK = b'{"index":{"_id":"b/1"}}\n{"text":"one","n":1}\n{"delete":{"_id":"none"}}\n{"create":{"_id":"1"}}\n{"n":2}\n'
MSEARCH = b'{"index":"INDEX"}\n{}\n{"index":"no-such"}\n{}\n'
V8 = "application/vnd.elasticsearch+json; compatible-with=8"


@dataclass(frozen=True)
class Call:
    """One request; INDEX in its target is the side's own index."""

    method: str
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()


def call(method: str, target: str, body: bytes | None = None, **headers: str) -> Call:
    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and "Content-Type" not in lines:
        lines |= NDJSON if "_bulk" in target or "_msearch" in target else JSON
    return Call(method, target, body, tuple(lines.items()))


# In order: each side has an index of its own and goes through the same states. `took` and the like are filtered out.
CALLS = {
    "root": call("GET", "/"),
    "head-root": call("HEAD", "/"),
    "head-missing-index": call("HEAD", "/INDEX"),
    "create-index": call("PUT", "/INDEX", b'{"settings":{"number_of_shards":1,"number_of_replicas":0}}'),
    "create-index-again": call("PUT", "/INDEX?error_trace=false", b"{}"),
    "head-index": call("HEAD", "/INDEX"),
    "put-document": call("PUT", "/INDEX/_doc/1?refresh=true", b'{"text":"hello world","n":1}'),
    "put-odd-id": call("PUT", "/INDEX/_doc/a%2Fb+c%20d%25?refresh=true", b'{"text":"odd","n":2}'),
    "get-odd-id": call("GET", "/INDEX/_doc/a%2Fb+c%20d%25"),
    "get-decoded-id": call("GET", "/INDEX/_doc/a/b"),
    "get-document": call("GET", "/INDEX/_doc/1?pretty"),
    "get-missing-document": call("GET", "/INDEX/_doc/none"),
    "head-document": call("HEAD", "/INDEX/_doc/1"),
    "head-missing-document": call("HEAD", "/INDEX/_doc/none"),
    "conflict": call("PUT", "/INDEX/_doc/1?op_type=create", b"{}"),
    "bulk": call("POST", "/INDEX/_bulk?refresh=true&filter_path=-took", BULK),
    "bulk-gzip": call(
        "POST", "/INDEX/_bulk?filter_path=-took", gzip.compress(BULK, mtime=0), Content_Encoding="gzip"
    ),
    "bulk-without-newline": call("POST", "/INDEX/_bulk", b'{"index":{}}\n{"n":3}'),
    "refresh": call("POST", "/INDEX/_refresh"),
    "get-with-body": call("GET", "/INDEX/_search?filter_path=-took", b'{"query":{"match":{"text":"hello"}}}'),
    "search-with-plus": call("GET", "/INDEX/_search?q=text:hello+world&filter_path=-took"),
    "search-gzip-answer": call("GET", "/INDEX/_search?filter_path=hits.total", Accept_Encoding="gzip"),
    "search-broken": call("POST", "/INDEX/_search", b'{"query":{"nonsense":{}}}'),
    "search-no-json": call("POST", "/INDEX/_search", b"{"),
    "search-form": call("POST", "/INDEX/_search", b"q=1", Content_Type="application/x-www-form-urlencoded"),
    "search-vendored": call("GET", "/INDEX/_search?filter_path=hits.total", b"{}", Accept=V8, Content_Type=V8),
    "msearch": call("POST", "/_msearch?filter_path=-took,-responses.took", MSEARCH),
    "scroll": call("POST", "/INDEX/_search?scroll=1m&size=1&sort=_doc&filter_path=hits.hits", b"{}"),
    "scroll-unknown": call("DELETE", "/_search/scroll", b'{"scroll_id":"bm9uc2Vuc2U="}'),
    "count": call("GET", "/INDEX/_count"),
    "count-date-maths": call("GET", "/%3CINDEX-%7Bnow%2Fd%7D%3E/_count?ignore_unavailable=false"),
    "repeated-parameter": call("GET", "/INDEX/_count?q=a&q=b"),
    "unknown-parameter": call("GET", "/INDEX/_count?nonsense=1"),
    "missing-index": call("GET", "/INDEX-none/_search"),
    "wrong-method": call("PUT", "/INDEX/_refresh"),
    "wrong-method-delete": call("DELETE", "/_cat/indices"),
    "options": call("OPTIONS", "/INDEX/_doc/1"),
    "no-handler": call("GET", "/_nonsense/INDEX"),
    "cat": call("GET", "/_cat/indices/INDEX?v&h=index,docs.count,pri,rep"),
    "cat-json": call("GET", "/_cat/indices/INDEX?h=index,docs.count&format=json"),
    "cat-help": call("GET", "/_cat"),
    "health": call("GET", "/_cluster/health/INDEX?filter_path=status,active_shards", X_Opaque_Id="caller-7"),
    "mapping": call("GET", "/INDEX/_mapping"),
    "field-caps": call("POST", "/INDEX/_field_caps?fields=*&filter_path=fields.text"),
    "analyze": call("GET", "/_analyze", b'{"analyzer":"standard","text":"a b/c"}'),
    "line-of-6-kilobytes": call("GET", "/INDEX/_count?q=" + "x" * 6_000),
    "header-of-20-kilobytes": call("GET", "/INDEX/_count", X_Large="h" * 20_000),
    "delete-document": call("DELETE", "/INDEX/_doc/1"),
    "delete-index": call("DELETE", "/INDEX"),
    "delete-missing-index": call("DELETE", "/INDEX"),
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


def ask(url: str, index: str, wanted: Call) -> Answer:
    """Send the call as bytes; the answer with the side's index put back to INDEX."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    try:
        connection.putrequest(
            wanted.method, wanted.target.replace("INDEX", index), skip_host=False, skip_accept_encoding=True
        )
        for name, value in wanted.headers:
            connection.putheader(name, value)
        body = None if wanted.body is None else wanted.body.replace(b"INDEX", index.encode())
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        headers = [
            (name.lower(), value.replace(index, "INDEX"))
            for name, value in answer.getheaders()
            if name.lower() not in KNOWN_DIFFERENCES and (wanted.method, name.lower()) != UNFRAMED
        ]
        return Answer(answer.status, answer.reason, sorted(headers), neutral(answer.read(), index))
    finally:
        connection.close()


def neutral(body: bytes, index: str) -> bytes:
    """The body without what differs between two indices: their names and their unique ids."""
    unique = re.sub(rb'(?<="index_uuid":")[\w-]{22}|(?<=/)[\w-]{22}(?=\])', b"UUID", body)
    return unique.replace(index.encode(), b"INDEX")


@pytest.fixture
async def through(node: RunningNode) -> AsyncIterator[str]:
    """Address of a sidecar in front of the node."""
    running = Sidecar(Settings(listen=Listen(port=0, native_port=0), upstream=Upstream(url=node.url)))
    await running.start()
    yield running.es_url
    await running.stop()


async def test_the_answer_is_the_same_through_the_sidecar(node: RunningNode, through: str) -> None:
    """One walk through all calls, since each leaves the state for the next; every difference is told."""
    differences: dict[str, tuple[Answer, Answer]] = {}
    statuses: set[int] = set()
    for name, wanted in CALLS.items():
        direct = await asyncio.to_thread(ask, node.url, "straight", wanted)
        passed = await asyncio.to_thread(ask, through, "thruport", wanted)
        statuses.add(direct.status)
        if direct != passed:
            differences[name] = (direct, passed)
    assert differences == {}
    assert {200, 201, 400, 404, 405, 409} <= statuses


SCROLL = {"query": {"match_all": {}}, "size": 2, "sort": ["n"]}


async def test_a_scroll_walks_to_its_end_through_the_sidecar(node: RunningNode, through: str) -> None:
    def send(method: str, target: str, body: Any) -> Any:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return json.loads(ask(through, "unused", call(method, target, raw)).body)

    def walk() -> list[int]:
        lines = b"".join(b'{"index":{}}\n{"n":%d}\n' % number for number in range(5))
        assert send("POST", "/scrolled/_bulk?refresh=true", lines)["errors"] is False
        page = send("GET", "/scrolled/_search?scroll=1m", SCROLL)
        seen: list[int] = []
        while page["hits"]["hits"]:
            seen += [hit["_source"]["n"] for hit in page["hits"]["hits"]]
            page = send("POST", "/_search/scroll", {"scroll": "1m", "scroll_id": page["_scroll_id"]})
        assert send("DELETE", "/_search/scroll", {"scroll_id": page["_scroll_id"]})["succeeded"] is True
        send("DELETE", "/scrolled", {})
        return seen

    assert await asyncio.to_thread(walk) == [0, 1, 2, 3, 4]
