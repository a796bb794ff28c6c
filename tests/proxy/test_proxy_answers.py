"""What the client gets is what the node answered: status, headers, body, framing, and its breaks."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable

import pytest
from proxy_wire import (
    LAST_CHUNK,
    LIMIT_S,
    Exchange,
    RawClient,
    ScriptedNode,
    chunk,
    ok,
    read_chunk,
    request,
)

from sidecar.app import Sidecar

CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"

STATUSES = [
    pytest.param("201 Created", b'{"result":"created"}', id="created"),
    pytest.param("400 Bad Request", b'{"status":400}', id="bad-request"),
    pytest.param("401 Unauthorized", b'{"status":401}', id="unauthorized"),
    pytest.param("404 Not Found", b'{"found":false}', id="not-found"),
    pytest.param("409 Conflict", b'{"status":409}', id="conflict"),
    pytest.param("429 Too Many Requests", b'{"status":429}', id="too-many-requests"),
    pytest.param("500 Internal Server Error", b"", id="empty-error"),
    pytest.param("503 Service Unavailable", b'{"status":503}', id="unavailable"),
]


@pytest.mark.parametrize(("status", "body"), STATUSES)
async def test_status_and_body_are_passed(status: str, body: bytes, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(body, "retry-after: 7", "x-elastic-product: Elasticsearch", status=status))
    answer = await client.ask("/i/_search")
    assert answer.head.start == f"HTTP/1.1 {status}"
    assert answer.body == body
    assert answer.head.get("content-length") == str(len(body))
    assert answer.head.get("retry-after") == "7"
    assert answer.head.get("x-elastic-product") == "Elasticsearch"
    assert len(upstream.exchanges) == 1


DUPLICATES = [
    pytest.param("warning", ['299 Elasticsearch-8 "first"', '299 Elasticsearch-8 "second, with comma"'], id="warning"),
    pytest.param("www-authenticate", ['Basic realm="s"', "Bearer", "ApiKey"], id="www-authenticate"),
    pytest.param("set-cookie", ["a=1; Path=/", "b=2"], id="set-cookie"),
    pytest.param(
        "warning", [f'299 Elasticsearch-8 "deprecation {number}"' for number in range(200)], id="200-warnings"
    ),
    pytest.param("warning", ["299 - " + "w" * 16_384], id="header-of-16-kilobytes"),
]


@pytest.mark.parametrize(("name", "values"), DUPLICATES)
async def test_duplicate_and_large_headers_survive(
    name: str, values: list[str], client: RawClient, upstream: ScriptedNode
) -> None:
    upstream.answers(ok(b"{}", *(f"{name}: {value}" for value in values)))
    assert (await client.ask("/i/_search")).head.all(name) == values


async def test_head_keeps_the_length_and_has_no_body(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4711\r\n\r\n")
    answer = await client.ask("/i/_doc/1", method="HEAD")
    assert answer.head.get("content-length") == "4711"
    upstream.answers(ok(b"next"))
    assert (await client.ask("/i")).body == b"next"  # no stray byte between the two answers


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_answer_without_body(status: str, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(f'HTTP/1.1 {status}\r\netag: "x"\r\n\r\n'.encode())
    answer = await client.ask("/i", bodiless=True)
    assert answer.head.start == f"HTTP/1.1 {status}"
    assert answer.head.get("etag") == '"x"'
    upstream.answers(ok(b"next"))
    assert (await client.ask("/i")).body == b"next"


async def test_a_chunked_answer_comes_as_it_is_made(client: RawClient, upstream: ScriptedNode) -> None:
    """The node sends the next chunk only after the client has read the one before."""
    seen: asyncio.Queue[None] = asyncio.Queue()

    async def script(exchange: Exchange) -> None:
        await exchange.send(CHUNKED_HEAD)
        for part in (b"first", b"second", b"third"):
            await exchange.send(chunk(part))
            await seen.get()
        await exchange.send(LAST_CHUNK)

    upstream.script = script
    await client.send(request("/_cat/shards"))
    assert (await client.head()).is_chunked
    async with asyncio.timeout(LIMIT_S):
        for part in (b"first", b"second", b"third"):
            assert await read_chunk(client.reader) == part
            await seen.put(None)
        assert await read_chunk(client.reader) == b""


async def test_an_answer_with_a_length_comes_as_it_is_made(client: RawClient, upstream: ScriptedNode) -> None:
    seen: asyncio.Queue[None] = asyncio.Queue()

    async def script(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfirst")
        await seen.get()
        await exchange.send(b"secnd")

    upstream.script = script
    await client.send(request("/_nodes/stats"))
    await client.head()
    async with asyncio.timeout(LIMIT_S):
        assert await client.reader.readexactly(5) == b"first"
        await seen.put(None)
        assert await client.reader.readexactly(5) == b"secnd"


async def test_an_answer_that_ends_with_the_connection(client: RawClient, upstream: ScriptedNode) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall of it")
        raise ConnectionAbortedError

    upstream.script = script
    assert (await client.ask("/")).body == b"all of it"


async def test_a_gzip_answer_is_not_touched(client: RawClient, upstream: ScriptedNode) -> None:
    packed = gzip.compress(b'{"hits":{}}' * 1000)
    upstream.answers(ok(packed, "content-encoding: gzip"))
    answer = await client.ask("/i/_search", "Accept-Encoding: gzip")
    assert answer.body == packed
    assert answer.head.get("content-encoding") == "gzip"
    assert upstream.only.head.get("accept-encoding") == "gzip"


async def test_a_redirect_is_not_followed(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b"", "location: /other", status="302 Found"))
    answer = await client.ask("/i")
    assert (answer.status, answer.head.get("location")) == (302, "/other")
    assert len(upstream.exchanges) == 1


async def test_cookies_are_not_stored(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b"{}", "set-cookie: sid=secret; Path=/"))
    await client.ask("/i")
    await client.ask("/i")
    assert [each.head.get("cookie") for each in upstream.exchanges] == [None, None]


async def test_an_http_1_0_client_gets_a_chunked_answer_without_chunks(
    client: RawClient, upstream: ScriptedNode
) -> None:
    upstream.answers(CHUNKED_HEAD + chunk(b"one ") + chunk(b"two") + LAST_CHUNK)
    await client.send(b"GET /_cat/shards HTTP/1.0\r\nHost: x\r\n\r\n")
    answer = await client.answer()
    assert answer.status == 200
    assert answer.body == b"one two"


async def test_an_early_refusal_reaches_a_client_that_still_uploads(client: RawClient, upstream: ScriptedNode) -> None:
    """Elasticsearch answers 413 before it has read the body, and closes."""

    async def script(exchange: Exchange) -> None:
        await exchange.reader.readexactly(1000)
        await exchange.send(b"HTTP/1.1 413 Request Entity Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await exchange.peer_left()

    upstream.script = script

    async def upload() -> None:
        size, part = 64 * 1024 * 1024, bytes(65536)
        await client.send(request("/_bulk", f"Content-Length: {size}", method="POST"))
        try:
            for _ in range(size // len(part)):
                await client.send(part)
        except ConnectionError:
            pass  # the sidecar may close behind its answer, as the node does

    uploading = asyncio.ensure_future(upload())
    answer = await client.answer()
    assert (answer.status, answer.body) == (413, b"")
    uploading.cancel()
    await asyncio.wait([uploading])


async def test_a_slow_reader_holds_the_node_back(client: RawClient, upstream: ScriptedNode) -> None:
    """What the node has sent is never more than the sockets' and our own small buffers ahead of the client."""
    part = bytes(65536)
    whole, ahead_limit, sent = 96 * 1024 * 1024, 32 * 1024 * 1024, 0

    async def script(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.send(f"HTTP/1.1 200 OK\r\ncontent-length: {whole}\r\n\r\n".encode())
        for _ in range(whole // len(part)):
            await exchange.send(part)
            sent += len(part)

    upstream.script = script
    await client.send(request("/i/_search?size=10000"))
    await client.head()
    await until_still(lambda: sent)
    assert 0 < sent < ahead_limit
    received = 0
    async with asyncio.timeout(LIMIT_S):
        while received < whole:
            received += len(await client.reader.read(1 << 20))
            assert sent - received < ahead_limit
    assert received == whole


async def test_a_slow_node_holds_the_client_back(client: RawClient, upstream: ScriptedNode) -> None:
    part, go_on = bytes(65536), asyncio.Event()
    whole, ahead_limit, sent = 96 * 1024 * 1024, 32 * 1024 * 1024, 0

    async def script(exchange: Exchange) -> None:
        await go_on.wait()
        for _ in range(whole // len(part)):
            await exchange.reader.readexactly(len(part))
        await exchange.send(ok())

    async def upload() -> None:
        nonlocal sent
        await client.send(request("/_bulk", f"Content-Length: {whole}", method="POST"))
        for _ in range(whole // len(part)):
            await client.send(part)
            sent += len(part)

    upstream.script = script
    uploading = asyncio.ensure_future(upload())
    await until_still(lambda: sent)
    assert 0 < sent < ahead_limit
    go_on.set()
    assert (await client.answer()).status == 200
    await uploading


async def until_still(number: Callable[[], int]) -> None:
    """Return when a number has not moved over many turns of the loop, each of which polls every socket."""
    last, still = number(), 0
    async with asyncio.timeout(LIMIT_S):
        while last == 0 or still < 300:
            await asyncio.sleep(0.001)
            still = still + 1 if number() == last else 0
            last = number()


BREAKS = [
    pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n" + b"x" * 40, id="within-a-length"),
    pytest.param(CHUNKED_HEAD + chunk(b"x" * 40), id="between-chunks"),
    pytest.param(CHUNKED_HEAD + b"64\r\n" + b"x" * 40, id="within-a-chunk"),
]


@pytest.mark.parametrize("raw", BREAKS)
async def test_a_broken_answer_is_seen_as_broken(raw: bytes, client: RawClient, upstream: ScriptedNode) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.send(raw)
        raise ConnectionAbortedError

    upstream.script = script
    await client.send(request("/i/_search"))
    assert (await client.head()).status == 200
    async with asyncio.timeout(LIMIT_S):
        rest = await read_to_the_end(client.reader)
    assert b"x" * 41 not in rest
    assert not rest.endswith(LAST_CHUNK)
    assert len(upstream.exchanges) == 1


async def read_to_the_end(reader: asyncio.StreamReader) -> bytes:
    """Everything until the connection is closed or reset."""
    got = b""
    try:
        while part := await reader.read(65536):
            got += part
    except ConnectionError:
        pass
    return got


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("body", [None, b"{}"], ids=["without-body", "with-body"])
async def test_nothing_is_sent_twice(
    method: str, body: bytes | None, client: RawClient, upstream: ScriptedNode
) -> None:
    """The node breaks off after it read the request, on a connection that has served before."""
    upstream.answers(ok())
    await client.ask("/warm")

    async def script(exchange: Exchange) -> None:
        await exchange.read()
        raise ConnectionAbortedError

    upstream.script = script
    answer = await client.ask("/i/_doc/1", method=method, body=body)
    assert answer.status == 502
    assert [each.head.target for each in upstream.exchanges] == ["/warm", "/i/_doc/1"]


async def test_a_client_that_leaves_takes_its_request_along(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    """The node cancels a search when its connection closes."""
    asked, left = asyncio.Event(), asyncio.Event()

    async def script(exchange: Exchange) -> None:
        asked.set()
        await exchange.peer_left()
        left.set()

    upstream.script = script
    client = await RawClient.connect(sidecar.es_url)
    await client.send(request("/i/_search"))
    await asyncio.wait_for(asked.wait(), LIMIT_S)
    await client.leave()
    await asyncio.wait_for(left.wait(), LIMIT_S)


async def test_a_client_that_leaves_within_an_answer_stops_it(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    stopped = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.send(CHUNKED_HEAD)
        try:
            while True:
                await exchange.send(chunk(bytes(65536)))
        except ConnectionError:
            stopped.set()

    upstream.script = script
    client = await RawClient.connect(sidecar.es_url)
    await client.send(request("/i/_search"))
    await client.head()
    await client.leave()
    await asyncio.wait_for(stopped.wait(), LIMIT_S)


async def test_a_client_that_leaves_within_an_upload_is_not_completed(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    begun = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.reader.readexactly(4)
        begun.set()
        try:
            got.set_result(await exchange.reader.readexactly(6))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            got.set_result(getattr(error, "partial", b""))

    upstream.script = script
    client = await RawClient.connect(sidecar.es_url)
    await client.send(request("/_bulk", "Content-Length: 10", method="POST") + b"half")
    await asyncio.wait_for(begun.wait(), LIMIT_S)
    await client.leave()
    assert await asyncio.wait_for(got, LIMIT_S) == b""


async def test_a_node_that_is_down_is_a_502_of_its_own_shape(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    upstream.stop()
    client = await RawClient.connect(sidecar.es_url)
    for method in ("GET", "POST"):
        answer = await client.ask("/i/_search", method=method, body=b"{}")
        assert answer.status == 502
        assert answer.head.get("content-type") in ("application/json", "application/json; charset=utf-8")
        said = json.loads(answer.body)
        assert said["status"] == 502
        assert said["error"] == said["error"]["root_cause"][0] | {"root_cause": said["error"]["root_cause"]}
        assert f"127.0.0.1:{upstream.port} is unreachable" in said["error"]["reason"]
    await client.leave()
