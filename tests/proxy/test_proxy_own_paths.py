"""Which requests never reach the node, which always do, and what travels with a vote."""

from __future__ import annotations

import json

import pytest
from proxy_wire import Exchange, RawClient, ScriptedNode, ok, settings_for

from sidecar.app import Sidecar

PASSED = [
    pytest.param("GET", "/v1/_search", id="search-in-an-index-v1"),
    pytest.param("PUT", "/v1/_doc/1", id="document-in-an-index-v1"),
    pytest.param("GET", "/v1", id="index-v1"),
    pytest.param("POST", "/v1/systemone/_search", id="below-systemone"),
    pytest.param("POST", "/v1/systemone/", id="systemone-with-slash"),
    pytest.param("POST", "//v1/systemone", id="systemone-with-two-slashes"),
    pytest.param("POST", "/v1%2Fsystemone", id="systemone-with-escaped-slash"),
    pytest.param("GET", "/v1/Models", id="models-in-capitals"),
    pytest.param("GET", "/_decided", id="longer-name"),
    pytest.param("GET", "/i/_decide", id="below-an-index"),
    pytest.param("POST", "/_decide%2Fx", id="escaped-slash"),
    pytest.param("POST", "/?path=/_decide", id="in-the-query"),
    pytest.param("POST", "/rerank", id="rerank"),
    pytest.param("POST", "/v2/rerank", id="rerank-v2"),
    pytest.param("GET", "/metrics", id="metrics-belong-to-the-native-port"),
    pytest.param("GET", "/health/live", id="health-belongs-to-the-native-port"),
    pytest.param("POST", "/histories/x/v1/systemone", id="histories-belong-to-the-native-port"),
]


@pytest.mark.parametrize(("method", "target"), PASSED)
async def test_it_passes_to_the_node(method: str, target: str, client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b'{"by":"the node"}'))
    answer = await client.ask(target, method=method, body=b"{}")
    assert answer.body == b'{"by":"the node"}'
    assert upstream.only.head.start == f"{method} {target} HTTP/1.1"


OURS = [
    pytest.param("/_decide", id="plain"),
    pytest.param("/_decide/", id="slash-at-the-end"),
    pytest.param("/_decide?pretty", id="query"),
    pytest.param("//_decide", id="two-slashes"),
    pytest.param("/%5Fdecide", id="escaped"),
    pytest.param("http://other.example/_decide", id="absolute-form"),
    pytest.param("/v1/systemone", id="systemone"),
    pytest.param("/v1/systemone?x=1", id="systemone-with-query"),
]


@pytest.mark.parametrize("target", OURS)
async def test_it_is_answered_here(target: str, client: RawClient, upstream: ScriptedNode) -> None:
    """Broken JSON is refused before the node is asked."""
    answer = await client.ask(target, "Content-Type: application/json", method="POST", body=b"{")
    assert answer.status == 422
    assert answer.head.get("x-typesafe-request-id")
    assert upstream.exchanges == []


async def test_an_unknown_path_of_ours_is_a_404_from_here(client: RawClient, upstream: ScriptedNode) -> None:
    answer = await client.ask("/_decide/nothing")
    assert answer.status == 404
    assert json.loads(answer.body)["status"] == 404
    assert upstream.exchanges == []


WRONG_METHODS = [
    pytest.param("GET", "/_decide", "POST", id="get-decide"),
    pytest.param("PUT", "/_decide", "POST", id="put-decide"),
    pytest.param("DELETE", "/v1/systemone", "POST", id="delete-systemone"),
    pytest.param("POST", "/v1/models", "GET", id="post-models"),
    pytest.param("POST", "/_decide/_status", "GET", id="post-status"),
]


@pytest.mark.parametrize(("method", "target", "allowed"), WRONG_METHODS)
async def test_a_wrong_method_is_a_405(
    method: str, target: str, allowed: str, client: RawClient, upstream: ScriptedNode
) -> None:
    answer = await client.ask(target, method=method)
    assert answer.status == 405
    assert allowed in (answer.head.get("allow") or "").split(", ")
    said = json.loads(answer.body)
    assert said["status"] == 405
    assert f"Incorrect HTTP method for uri [{target}]" in said["error"]["root_cause"][0]["reason"]
    assert upstream.exchanges == []


async def test_head_of_a_path_of_ours(client: RawClient, upstream: ScriptedNode) -> None:
    """As the node would: 405 with `Allow` where only POST is served, the length of the GET where that is."""
    refused = await client.ask("/_decide", method="HEAD")
    assert (refused.status, refused.head.get("allow")) == (405, "POST")
    listed = await client.ask("/v1/models")
    head = await client.ask("/v1/models", method="HEAD")
    assert (listed.status, head.status) == (200, 200)
    assert head.head.get("content-length") == str(len(listed.body))
    assert upstream.exchanges == []


async def test_a_sidecar_key_never_reaches_the_node(client: RawClient, upstream: ScriptedNode) -> None:
    upstream.answers(ok(b'{"error":{"type":"index_not_found_exception"},"status":404}', status="404 Not Found"))
    question = {"type": "noul", "instructions": "Is `text` a greeting?"}
    body = json.dumps({"model": "m", "state": {"text": "hello"}, "questions": {"q": question}}).encode()
    lines = ("Authorization: Bearer key-of-a-caller", "Content-Type: application/json")
    answer = await client.ask("/v1/systemone", *lines, method="POST", body=body)
    assert answer.status == 422, answer.body
    assert upstream.exchanges, "the history was never asked"
    for exchange in upstream.exchanges:
        assert exchange.head.get("authorization") is None


async def test_decide_asks_the_node_as_the_caller(client: RawClient, upstream: ScriptedNode) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.read()
        raw = b'{"error":{"type":"security_exception","reason":"no"},"status":401}'
        await exchange.send(ok(raw, 'www-authenticate: Basic realm="s"', status="401 Unauthorized"))

    upstream.script = script
    body = json.dumps({"index": "cases", "question": "hello"}).encode()
    answer = await client.ask(
        "/_decide",
        "Authorization: Basic YWRhOnNlY3JldA==",
        "X-Opaque-Id: caller-7",
        "Content-Type: application/json",
        method="POST",
        body=body,
    )
    assert answer.status == 401
    assert answer.head.get("www-authenticate") == 'Basic realm="s"'
    assert answer.head.get("x-opaque-id") == "caller-7"
    assert {exchange.head.get("authorization") for exchange in upstream.exchanges} == {"Basic YWRhOnNlY3JldA=="}
    assert {exchange.head.get("x-opaque-id") for exchange in upstream.exchanges} == {"caller-7"}


@pytest.mark.parametrize("product", ["Elasticsearch", None])
async def test_own_answers_carry_the_product_header_exactly_when_the_node_does(
    product: str | None, upstream: ScriptedNode
) -> None:
    upstream.product = product
    running = Sidecar(settings_for(upstream.port))
    await running.start()
    try:
        client = await RawClient.connect(running.es_url)
        assert (await client.ask("/v1/models")).head.get("x-elastic-product") == product
        assert (await client.ask("/_decide")).head.get("x-elastic-product") == product
        await client.leave()
    finally:
        await running.stop()


async def test_a_decision_that_needs_a_node_that_is_down(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    upstream.stop()
    client = await RawClient.connect(sidecar.es_url)
    body = json.dumps({"index": "cases", "question": "hello"}).encode()
    answer = await client.ask("/_decide", "Content-Type: application/json", method="POST", body=body)
    assert answer.status == 503
    assert answer.head.get("retry-after")
    assert json.loads(answer.body)["detail"]["error_type"] == "history_unavailable"
    await client.leave()


async def test_a_body_with_broken_framing_is_refused_without_an_internal_error(
    client: RawClient, upstream: ScriptedNode
) -> None:
    await client.send(
        b"POST /_decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\nnonsense\r\n'
    )
    assert (await client.answer()).status == 400
    assert upstream.exchanges == []


async def test_the_native_port_passes_nothing(sidecar: Sidecar, upstream: ScriptedNode) -> None:
    client = await RawClient.connect(sidecar.native_url)
    for target in ("/", "/i/_search", "/_decide", "/v2/rerank"):
        answer = await client.ask(target)
        assert answer.status == 404
        assert json.loads(answer.body)["status"] == 404
    for target in ("/health/live", "/health/ready", "/metrics", "/v1/models"):
        assert (await client.ask(target)).status == 200
    assert upstream.exchanges == []
    await client.leave()
