"""The wire contract, point by point (wire.md section 8), as plain requests to a live sidecar."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from node_harness import Json, on_node

from sidecar.app import Sidecar
from sidecar.engine import RunningNode
from sidecar.settings import Auth, History, Limits, Listen, Settings, Upstream
from sidecar.web import hash_key

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.timeout(120)
INDEX = "wire-cases"
CASES = [("refund the invoice", "billing")] * 6 + [("the parcel is late", "shipping"), ("refund it", "true")]
NOUL: Json = {"type": "noul", "instructions": "Is it so?"}


def settings_for(url: str, *, index: str = INDEX, limits: Limits | None = None, auth: Auth | None = None) -> Settings:
    return Settings(
        listen=Listen(port=0, native_port=0),
        upstream=Upstream(url=url),
        decisions=History(index=index),
        limits=limits or Limits(deadline_s=60),
        auth=auth or Auth(),
    )


class Wire:
    """Requests as bytes to one sidecar; every answer is checked for what every answer must have."""

    def __init__(self, session: aiohttp.ClientSession, sidecar: Sidecar) -> None:
        self.session, self.sidecar = session, sidecar
        self.ids: set[str] = set()

    async def send(self, body: object, path: str = "/v1/systemone", method: str = "POST", **headers: str) -> Any:
        """The answer, with its parsed body as `.said`."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"Content-Type": "application/json"} | named
        url = self.sidecar.es_url + path
        async with self.session.request(method, url, data=data, headers=named, allow_redirects=False) as answer:
            raw = await answer.read()
        request_id = answer.headers["x-typesafe-request-id"]
        assert request_id not in self.ids
        self.ids.add(request_id)
        if method != "HEAD":
            assert answer.content_type == "application/json"
            assert not raw.startswith(b"\xef\xbb\xbf")
            answer.said = json.loads(raw, parse_constant=_no_constant)  # type: ignore[attr-defined]
        return answer

    async def ask(self, questions: Json, state: object = "refund the invoice", **more: object) -> Any:
        return await self.send({"model": "jev-latest", "state": state, "questions": questions, **more})

    async def answers(self, questions: Json, state: object = "refund the invoice", **more: object) -> Json:
        answer = await self.ask(questions, state, **more)
        assert answer.status == 200, answer.said
        assert list(answer.said["answers"]) == list(questions)
        usage = answer.said["usage"]
        assert all(type(count) is int and count >= 0 for count in usage.values())
        assert usage.keys() == {"input_tokens", "output_tokens"}
        assert not answer.said["model"].startswith("jev")
        return dict(answer.said["answers"])


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Wire]:
    sidecar = Sidecar(settings)
    await sidecar.start()
    try:
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            yield Wire(session, sidecar)
    finally:
        await sidecar.stop()


@pytest.fixture(scope="module")
def history(opensearch: RunningNode) -> str:
    """The node's address, once the history is there."""

    async def fill() -> None:
        async with on_node(opensearch.url) as (node, _):
            await node.index(INDEX, [{"text": text, "label": label} for text, label in CASES])

    asyncio.run(fill())
    return opensearch.url


@pytest.fixture
async def wire(history: str) -> AsyncIterator[Wire]:
    async with running(settings_for(history)) as one:
        yield one


def choice(*options: str, **more: object) -> Json:
    return {"type": "choice", "criteria": dict.fromkeys(options), **more}


async def test_ids_and_options_come_back_byte_for_byte(wire: Wire) -> None:
    names = ["a b", " a.b ", "a/b", "한국어", "🙂👩‍👩‍👧", "q" * 300, "e\u0301", "\u00e9", "constructor", "\x00"]
    answers = await wire.answers({name: choice("billing", "Earth.Magnetosphere.Polar", "배송", name) for name in names})
    for name, answer in answers.items():
        offered = dict.fromkeys(["billing", "Earth.Magnetosphere.Polar", "배송", name])
        assert list(answer["probabilities"]) == list(offered)
        assert answer["choice"] == "billing"
        assert answer == answers["a b"] | {"probabilities": answer["probabilities"]}


@pytest.mark.parametrize("count", [1, 2, 26, 64, 128, 255])
async def test_options_up_to_255(count: int, wire: Wire) -> None:
    options = ["billing", *(f"option {number}" for number in range(count - 1))]
    answer = (await wire.answers({"q": choice(*options)}))["q"]
    shares = answer["probabilities"]
    assert list(shares) == options
    assert abs(sum(shares.values()) - 1) < 1e-6
    assert answer["choice"] == max(shares, key=shares.__getitem__) == "billing"
    top = shares["billing"]
    formula = 1.0 if count == 1 else (top - 1 / count) / (1 - 1 / count)
    assert answer["confidence"] == pytest.approx(formula, abs=2e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10])
async def test_levels_up_to_10_and_their_legend_unchanged(count: int, wire: Wire) -> None:
    levels: list[Any] = ["billing", "shipping", "true", {"nested": [{"deep": None}]}, ["x", 1], *"abcde"][:count]
    if count == 1:
        answer = await wire.ask({"q": {"type": "score", "criteria": levels}}, "refund the invoice")
        assert answer.status in (200, 422)
        return
    answer = (await wire.ask({"q": {"type": "score", "criteria": levels}})).said
    if "answers" in answer:
        score = answer["answers"]["q"]
        assert list(score["legend"].values()) == levels
        assert list(score["probabilities"]) == [str(number) for number in range(count)]
    else:
        assert "nouls" in answer["detail"]["message"]


ACCEPTED: list[tuple[str, Json, object]] = [
    ("absent-instructions", choice("billing"), "refund"),
    ("null-description", {"type": "choice", "criteria": {"billing": None, "x": {"a": [1]}}}, "refund"),
    ("one-side-true", {"type": "noul", "criteria": {"true": "yes"}}, "refund"),
    ("one-side-false", {"type": "noul", "criteria": {"false": ["no"]}}, "refund"),
    ("null-criteria", {"type": "noul", "instructions": {"a": ["b"]}, "criteria": None}, "refund"),
    ("nested-state", NOUL, {"a": [{"b": "refund"}, 1, None, True]}),
    ("array-state", NOUL, ["refund", {"x": "invoice"}]),
    ("unknown-members", NOUL | {"x_note": 1}, "refund"),
]


@pytest.mark.parametrize(("question", "state"), [pytest.param(*rest, id=name) for name, *rest in ACCEPTED])
async def test_it_is_accepted(question: Json, state: object, wire: Wire) -> None:
    await wire.answers({"q": question}, state, x_nonce="1", extra={"deep": []}, model="jev-latest")


def body_with(question: object, **more: object) -> Json:
    return {"model": "m", "state": "refund", "questions": {"q": question}} | more


REFUSED: list[tuple[str, object]] = [
    ("broken-json", b'{"state": '),
    ("empty", b""),
    ("bom", b"\xef\xbb\xbf" + json.dumps(body_with(NOUL)).encode()),
    ("nan", b'{"state":"a","x":NaN,"questions":{}}'),
    ("infinity", b'{"state":"a","x":-Infinity,"questions":{}}'),
    ("lone-surrogate", b'{"state":"\\ud800","questions":{"q":{"type":"noul","instructions":"x"}}}'),
    ("bad-utf-8", b'{"state":"\xff"}'),
    ("too-deep", b"[" * 70 + b"]" * 70),
    ("number-of-2000-digits", b'{"x":' + b"9" * 2000 + b"}"),
    ("missing-state", {"model": "m", "questions": {"q": NOUL}}),
    ("null-state", body_with(NOUL, state=None)),
    ("number-state", body_with(NOUL, state=1)),
    ("missing-questions", {"model": "m", "state": "a"}),
    ("empty-questions", body_with(NOUL, questions={})),
    ("301-questions", body_with(NOUL, questions={str(number): NOUL for number in range(301)})),
    ("missing-type", body_with({"instructions": "x"})),
    ("unknown-type", body_with({"type": "rank", "instructions": "x"})),
    ("box", body_with({"type": "box", "instructions": "x"})),
    ("choice-without-options", body_with({"type": "choice", "criteria": {}})),
    ("choice-without-criteria", body_with({"type": "choice", "instructions": "x"})),
    ("256-options", body_with(choice(*(str(number) for number in range(256))))),
    ("11-levels", body_with({"type": "score", "criteria": ["x"] * 11})),
    ("null-level", body_with({"type": "score", "criteria": ["x", None]})),
    ("score-as-map", body_with({"type": "score", "criteria": {"0": "x"}})),
    ("noul-with-nothing", body_with({"type": "noul"})),
    ("list-body", []),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in REFUSED])
async def test_it_is_refused_in_list_form(body: object, wire: Wire) -> None:
    answer = await wire.send(body)
    assert answer.status == 422, answer.said
    assert answer.said["detail"], answer.said
    assert all({"loc", "msg", "type"} <= problem.keys() for problem in answer.said["detail"])
    assert all(problem["loc"][0] == "body" for problem in answer.said["detail"])
    assert "message" not in answer.said
    assert "message" not in answer.said["error"]
    if isinstance(body, bytes):
        assert answer.said["detail"][0]["type"] == "json_invalid"


async def test_of_duplicate_keys_the_last_wins(wire: Wire) -> None:
    answer = await wire.send(b'{"state":1,"state":"refund","questions":{"q":{"type":"noul","instructions":"x"}}}')
    assert answer.status == 200


def _deflate_raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


CODINGS: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("identity", "identity", bytes),
    ("gzip", "gzip", gzip.compress),
    ("deflate", "deflate", zlib.compress),
    ("deflate-raw", "deflate", _deflate_raw),
    ("zstd", "zstd", zstd.compress),
    ("zstd-capitals", "ZSTD", zstd.compress),
]


@pytest.mark.parametrize(("coding", "pack"), [pytest.param(*rest, id=name) for name, *rest in CODINGS])
async def test_a_coded_body_is_answered_as_its_plain_twin(
    coding: str, pack: Callable[[bytes], bytes], wire: Wire
) -> None:
    body = json.dumps(body_with(NOUL, state="refund the invoice " * 400)).encode()
    plain, coded = await wire.send(body), await wire.send(pack(body), Content_Encoding=coding)
    assert (plain.status, coded.status) == (200, 200), coded.said
    assert coded.said["answers"] == plain.said["answers"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
async def test_a_body_that_is_not_in_its_coding(coding: str, wire: Wire) -> None:
    assert (await wire.send(b"{}" * 2000, Content_Encoding=coding)).status == 422


async def test_what_is_not_read_is_a_415(wire: Wire) -> None:
    good = json.dumps(body_with(NOUL)).encode()
    form = b'--x\r\nContent-Disposition: form-data; name="request"\r\n\r\n{}\r\n--x--\r\n'
    image = {"a": {"type": "image", "data_base64": "AA==", "format": "png"}}
    for answer in (
        await wire.send(good, Content_Encoding="br"),
        await wire.send(form, Content_Type="multipart/form-data; boundary=x"),
        await wire.send(good, Content_Type="text/html"),
        await wire.send(body_with(NOUL, assets=image)),
    ):
        assert answer.status == 415
        assert answer.said["detail"]["error_type"] == "unsupported_media_type"


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
async def test_a_body_above_the_limit_is_the_422_of_long_requests(coding: str, history: str) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {"identity": bytes, "gzip": gzip.compress, "zstd": zstd.compress}
    async with running(settings_for(history, limits=Limits(body_bytes=4096))) as wire:
        body = packers[coding](json.dumps(body_with(NOUL, state="a " * 4000)).encode())
        answer = await wire.send(body, Content_Encoding=coding)
        assert answer.status == 422
        assert answer.said["detail"]["error_type"] == "max_tokens_exceeded"
        assert answer.said["detail"]["limit"] == 4096
        assert answer.said["error"]["type"] == "payload_too_large_exception"
        assert "limits.body_bytes" in answer.said["detail"]["message"]


async def test_methods_and_paths(wire: Wire) -> None:
    for path, allowed in (("/v1/systemone", "POST"), ("/_decide", "POST"), ("/v1/models", "GET, HEAD")):
        answer = await wire.send(None, path, "DELETE")
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)
    assert (await wire.send(None, "/v1/systemone", "HEAD")).status == 405
    assert (await wire.send(None, "/v1/models", "HEAD")).status == 200
    listed = (await wire.send(None, "/v1/models", "GET")).said["models"]
    assert listed
    for model in listed:
        assert {name: type(value) for name, value in model.items()} == dict.fromkeys(
            ("name", "description", "release_date"), str
        )
        assert not model["name"].startswith("jev")


async def test_the_same_request_twice_gives_the_same_answers(wire: Wire) -> None:
    questions = {"a": NOUL, "b": choice("billing", "shipping"), "c": NOUL | {"criteria": {"true": "x"}}}
    first = await wire.answers(questions)
    assert await wire.answers(questions, x_nonce="2") == first
    assert await wire.answers({name: questions[name] for name in "cab"}) == first
    assert await wire.answers({"other": NOUL}) == {"other": first["a"]}


@pytest.mark.parametrize("value", ["Bearer x", "Basic eDp5", "ApiKey zzz", "nonsense", "Bearer"])
async def test_any_authorization_is_accepted_where_auth_is_off(value: str, wire: Wire) -> None:
    danger = {"TypeSafe-Danger-Zone-Images": "true", "X-TypeSafe-Retry-Count": "1"}
    assert (await wire.send(body_with(NOUL), Authorization=value, **danger)).status == 200


async def test_keys_that_are_configured_are_asked_for(history: str) -> None:
    auth = Auth(keys={"ada": hash_key("sk-good")})
    async with running(settings_for(history, auth=auth)) as wire:
        for headers in ({}, {"Authorization": "Bearer sk-bad"}, {"Authorization": "Basic c2stZ29vZA=="}):
            for path, method, body in (("/v1/systemone", "POST", body_with(NOUL)), ("/v1/models", "GET", None)):
                answer = await wire.send(body, path, method, **headers)
                assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
                assert answer.said["detail"]["error_type"] == "authentication_error"
                assert answer.said["detail"]["message"]
        assert (await wire.send(body_with(NOUL), Authorization="bearer sk-good")).status == 200


async def test_without_a_history_it_is_a_503_that_says_when_to_come_back(history: str) -> None:
    async with running(settings_for(history, index="")) as wire:
        answer = await wire.send(body_with(NOUL))
        assert answer.status == 503
        assert answer.said["detail"]["error_type"] == "not_configured"
        assert "decisions.index" in answer.said["detail"]["message"]
        assert int(answer.headers["Retry-After"]) >= 0
        assert int(answer.headers["retry-after-ms"]) >= 0


async def test_cors_headers_are_the_nodes_own() -> None:
    async with silent_node(cors="http://a.example") as (url, _), running(settings_for(url)) as wire:
        answer = await wire.send(b"{", Origin="http://a.example")
        assert answer.headers["Access-Control-Allow-Origin"] == "http://a.example"
        assert "Access-Control-Allow-Origin" not in (await wire.send(b"{")).headers


class Calls:
    """What a node that never answers a search has seen."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()


@asynccontextmanager
async def silent_node(cors: str = "") -> AsyncIterator[tuple[str, Calls]]:
    """A node that is alive and never answers a search."""
    calls = Calls()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"GET /_nodes"):
                    calls.asked.set()
                    while await reader.read(65536):
                        pass
                    calls.left.set()
                    break
                extra = f"access-control-allow-origin: {cors}\r\n" if b"origin: " in head.lower() else ""
                head_of_answer = (
                    f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n{extra}\r\n"
                )
                writer.write(head_of_answer.encode() + b"{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", calls
    finally:
        server.close()


async def test_a_deadline_that_passes_is_a_504() -> None:
    async with silent_node() as (url, calls), running(settings_for(url, limits=Limits(deadline_s=0.3))) as wire:
        for path, body in (("/v1/systemone", body_with(NOUL)), ("/_decide", {"index": "a", "question": "b"})):
            answer = await wire.send(body, path)
            assert answer.status == 504
            assert answer.said["detail"]["error_type"] == "history_unavailable"
            assert int(answer.headers["Retry-After"]) >= 0
        await asyncio.wait_for(calls.left.wait(), 10)


async def test_more_decisions_than_allowed_are_a_429_and_a_client_that_leaves_cancels_its_search() -> None:
    limits = Limits(concurrent_requests=1, deadline_s=60)
    async with silent_node() as (url, calls), running(settings_for(url, limits=limits)) as wire:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(wire.send(body_with(NOUL)))
            await asyncio.wait_for(calls.asked.wait(), 10)
            refused = await wire.send(body_with(NOUL))
            first.cancel()
        assert refused.status == 429
        assert refused.said["detail"]["error_type"] == "too_many_requests"
        assert int(refused.headers["Retry-After"]) >= 0
        await asyncio.wait_for(calls.left.wait(), 10)
