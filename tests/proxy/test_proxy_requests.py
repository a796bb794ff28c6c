"""What the node gets is what the client sent: target, headers, body."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from proxy_wire import LAST_CHUNK, LIMIT_S, Exchange, RawClient, ScriptedNode, chunk, ok, read_chunk, request

TARGETS = [
    pytest.param("/", id="root"),
    pytest.param("/i/_doc/a%2Fb%2fc", id="escaped-slash"),
    pytest.param("/i/_doc/a+b%2Bc%20d", id="plus"),
    pytest.param("/%3Clogs-%7Bnow%2Fd%7D%3E/_search", id="date-maths"),
    pytest.param("/i/../j/./_search", id="dots"),
    pytest.param("/%2e%2e%2Fi/_search", id="escaped-dots"),
    pytest.param("//i//_search", id="double-slashes"),
    pytest.param("/i/_search?a=1&a=2&a", id="repeated-parameters"),
    pytest.param("/i/_search?a=1;b=2", id="semicolon"),
    pytest.param("/i/_search?q=a+b%20c:%3Ad&r=%%&s=%zz", id="query-escapes"),
    pytest.param("/i/_search?q=a?b/c", id="second-question-mark"),
    pytest.param("/%41%7e%e4%F6/_doc/%C3%A9", id="needless-and-foreign-escapes"),
    pytest.param("/i,-j*,*:k/_search?filter_path=-took,hits.**._id", id="lists-and-wildcards"),
    pytest.param("/i/_doc/a|b^c'd(e)!$&=@:", id="unescaped-characters"),
    pytest.param("/_search?scroll_id=" + "x" * 60_000, id="60-kilobytes"),
]


@pytest.mark.parametrize("target", TARGETS)
async def test_the_target_goes_up_byte_for_byte(target: str, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok())
    assert (await client.ask(target)).status == 200
    assert upstream.only.head.start == f"GET {target} HTTP/1.1"


async def test_an_absolute_form_never_names_the_host(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b'{"by":"upstream"}'))
    answer = await client.ask("http://other.example:1/i/_search?q=/a")
    assert answer.body == b'{"by":"upstream"}'
    assert upstream.only.head.target.endswith("/i/_search?q=/a")


BODIES = [
    pytest.param("GET", b'{"query":{}}', id="get-with-body"),
    pytest.param("DELETE", b'{"scroll_id":"x"}', id="delete-with-body"),
    pytest.param("POST", b"", id="post-of-length-0"),
    pytest.param("POST", None, id="post-without-length"),
    pytest.param("PUT", None, id="put-without-length"),
    pytest.param("DELETE", None, id="delete-without-body"),
    pytest.param("POST", bytes(range(256)) * 4096, id="post-of-a-megabyte"),
]


@pytest.mark.parametrize(("method", "body"), BODIES)
async def test_method_and_body_go_up(
    method: str, body: bytes | None, client: RawClient, upstream: ScriptedNode
) -> None:
    upstream.answers(ok())
    answer = await client.ask("/i/_x", "Content-Type: application/x-ndjson", method=method, body=body)
    seen = upstream.only
    assert answer.status == 200
    assert (seen.head.method, seen.body) == (method, body or b"")
    assert seen.head.get("content-type") == "application/x-ndjson"
    assert not seen.head.is_chunked
    if body:
        assert seen.head.get("content-length") == str(len(body))


async def test_a_body_of_a_kept_connection_is_not_mixed_with_the_next(
    client: RawClient, upstream: ScriptedNode
) -> None:
    upstream.answers(ok())
    for number in range(5):
        await client.ask(f"/i/_doc/{number}", method="PUT", body=b"x" * number)
    assert [(each.head.target, each.body) for each in upstream.exchanges] == [
        (f"/i/_doc/{number}", b"x" * number) for number in range(5)
    ]


async def test_pipelined_requests_are_answered_in_order(client: RawClient, upstream: ScriptedNode) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.read()
        await exchange.send(ok(exchange.head.target.encode()))

    upstream.script = script
    await client.send(b"".join(request(f"/i/{number}") for number in range(3)))
    assert [(await client.answer()).body for _ in range(3)] == [b"/i/0", b"/i/1", b"/i/2"]


async def test_a_chunked_body_goes_up_as_it_comes(client: RawClient, upstream: ScriptedNode) -> None:
    """The second chunk is sent only after the first has reached the node."""
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(exchange: Exchange) -> None:
        while part := await read_chunk(exchange.reader):
            await arrived.put(part)
        await exchange.send(ok())

    upstream.script = script
    await client.send(request("/_bulk", "Transfer-Encoding: chunked", method="POST"))
    for part in (b"first\n", b"second\n", b"third\n"):
        await client.send(chunk(part))
        assert await asyncio.wait_for(arrived.get(), LIMIT_S) == part
    await client.send(LAST_CHUNK)
    assert (await client.answer()).status == 200
    assert upstream.only.head.is_chunked
    assert upstream.only.head.get("content-length") is None


async def test_a_body_with_a_length_goes_up_as_it_comes(client: RawClient, upstream: ScriptedNode) -> None:
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(exchange: Exchange) -> None:
        for _ in range(2):
            await arrived.put(await exchange.reader.readexactly(5))
        await exchange.send(ok())

    upstream.script = script
    await client.send(request("/_bulk", "Content-Length: 10", method="POST"))
    for part in (b"first", b"secnd"):
        await client.send(part)
        assert await asyncio.wait_for(arrived.get(), LIMIT_S) == part
    assert (await client.answer()).status == 200


async def test_full_duplex(client: RawClient, upstream: ScriptedNode) -> None:
    """Answer chunks flow while the request is still being sent (OpenSearch's `_bulk/stream`)."""

    async def script(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while part := await read_chunk(exchange.reader):
            await exchange.send(chunk(b"got " + part))
        await exchange.send(LAST_CHUNK)

    upstream.script = script
    await client.send(request("/_bulk/stream", "Transfer-Encoding: chunked", method="POST"))
    assert (await client.head()).is_chunked
    async with asyncio.timeout(LIMIT_S):
        for part in (b"one", b"two"):
            await client.send(chunk(part))
            assert await read_chunk(client.reader) == b"got " + part
        await client.send(LAST_CHUNK)
        assert await read_chunk(client.reader) == b""


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_coded_body_is_not_touched(coding: str, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok())
    packed = gzip.compress(b'{"index":{}}\n' * 100) if coding == "gzip" else b"(\xb5/\xfd not really zstd"
    await client.ask("/_bulk", f"Content-Encoding: {coding}", method="POST", body=packed)
    assert upstream.only.body == packed
    assert upstream.only.head.get("content-encoding") == coding


PASSED = [
    pytest.param("Authorization: Bearer eyJ.a.b", id="bearer"),
    pytest.param("Authorization: ApiKey dGVzdA==", id="api-key"),
    pytest.param("Authorization: Negotiate " + "Y" * 12_000, id="negotiate-of-12-kilobytes"),
    pytest.param("Cookie: sid=1; other=2", id="cookie"),
    pytest.param("Accept: application/vnd.elasticsearch+json; compatible-with=9", id="compatible-with"),
    pytest.param("X-Opaque-Id: caller-7", id="opaque-id"),
    pytest.param("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", id="traceparent"),
    pytest.param("X-Elastic-Client-Meta: es=9.1.0,py=3.11", id="client-meta"),
    pytest.param("X_Under_Score: kept", id="underscores"),
    pytest.param("X-Forwarded-User: ada", id="forwarded-user"),
    pytest.param("User-Agent: beats/8", id="user-agent"),
    pytest.param("X-Large: " + "h" * 16_384, id="header-of-16-kilobytes"),
]


@pytest.mark.parametrize("line", PASSED)
async def test_a_request_header_is_passed(line: str, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok())
    await client.ask("/i/_search", line)
    name, value = line.split(": ", 1)
    assert upstream.only.head.get(name.lower()) == value


async def test_no_header_is_added_and_host_is_kept(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok())
    await client.ask("/i/_search")
    end_to_end = [line for line in upstream.only.head.headers if line[0] != "connection"]
    assert end_to_end == [("host", "node.example:9200")]


async def test_duplicate_request_headers_survive(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok())
    await client.ask("/i/_search", "X-Tag: a", "X-Tag: b")
    assert upstream.only.head.all("x-tag") == ["a", "b"]


async def test_options_on_any_path_is_passed(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b"", "allow: POST", "access-control-allow-origin: *"))
    for target in ("/i/_search", "/_decide", "/v1/systemone"):
        answer = await client.ask(target, "Origin: http://a.example", method="OPTIONS")
        assert answer.head.get("access-control-allow-origin") == "*"
    assert [each.head.start for each in upstream.exchanges] == [
        f"OPTIONS {target} HTTP/1.1" for target in ("/i/_search", "/_decide", "/v1/systemone")
    ]


async def test_expect_continue_is_answered_once_before_the_body(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b'{"errors":false}'))
    await client.send(request("/_bulk", "Expect: 100-continue", "Content-Length: 4", method="POST"))
    assert (await client.head()).status == 100
    await client.send(b"body")
    answer = await client.answer()
    assert (answer.status, answer.body) == (200, b'{"errors":false}')
    assert upstream.only.body == b"body"
    assert (await client.ask("/i/_search")).status == 200


async def test_another_expectation_is_for_the_node_to_judge(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b"", status="417 Expectation Failed"))
    answer = await client.ask("/_bulk", "Expect: 200-maybe", method="POST", body=b"x")
    assert answer.status == 417
    assert upstream.only.head.get("expect") == "200-maybe"


AMBIGUOUS = [
    pytest.param(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", id="length-and-chunked"),
    pytest.param(b"Content-Length: 4\r\nContent-Length: 5\r\n", id="two-lengths"),
    pytest.param(b"Content-Length: +4\r\n", id="signed-length"),
    pytest.param(b"Content-Length : 4\r\n", id="blank-before-the-colon"),
    pytest.param(b"Transfer-Encoding: xchunked\r\n", id="unknown-transfer-coding"),
    pytest.param(b"X-A: 1\n\nGET /hidden HTTP/1.1\r\nHost: x\r\n", id="bare-line-feeds"),
    pytest.param(b"X-A: 1\x00\r\n", id="nul-in-a-header"),
]


@pytest.mark.parametrize("lines", AMBIGUOUS)
async def test_what_two_parsers_could_read_differently_is_refused(
    lines: bytes, client: RawClient, upstream: ScriptedNode
) -> None:
    """Nothing of it reaches the node, and the connection ends (request smuggling)."""
    upstream.answers(ok())
    hidden = b"0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    await client.send(b"POST /i/_doc HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n" + hidden)
    assert (await client.answer()).status == 400
    async with asyncio.timeout(LIMIT_S):
        await client.reader.read()  # to the end
    assert upstream.exchanges == []


async def test_a_chunk_that_breaks_the_framing_is_not_passed_as_an_end(
    client: RawClient, upstream: ScriptedNode
) -> None:
    ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def script(exchange: Exchange) -> None:
        assert await read_chunk(exchange.reader) == b"first"
        begun.set()
        try:
            ended.set_result(await read_chunk(exchange.reader) == b"")
        except (asyncio.IncompleteReadError, ConnectionError):
            ended.set_result(False)

    begun = asyncio.Event()
    upstream.script = script
    await client.send(request("/_bulk", "Transfer-Encoding: chunked", method="POST") + chunk(b"first"))
    await asyncio.wait_for(begun.wait(), LIMIT_S)
    await client.send(b"nonsense\r\n")
    await client.leave()
    assert await asyncio.wait_for(ended, LIMIT_S) is False
