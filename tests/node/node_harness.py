"""A sidecar in this process in front of a real node, and a hand on the node itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from sidecar.app import Sidecar
from sidecar.settings import History, Limits, Listen, Local, Settings, Upstream

Json = dict[str, Any]

HISTORY_FIELDS: Json = {
    "text": {"type": "text"},
    "label": {"type": "keyword"},
    "human": {"type": "boolean"},
    "source": {"type": "keyword"},
    "ts": {"type": "date"},
}


@dataclass(frozen=True)
class Reply:
    """An answer of the sidecar or the node."""

    status: int
    body: Json
    headers: Mapping[str, str]

    @property
    def reason(self) -> str:
        """What an error says."""
        return str(self.body["error"]["reason"])

    @property
    def kind(self) -> str:
        """The type of an error."""
        return str(self.body["error"]["type"])

    @property
    def evidence(self) -> Json:
        """The evidence of every question."""
        return dict(self.body["decisions"]["evidence"])

    def noul(self, name: str = "q") -> float:
        """The probability of a noul; the reply must be a 200."""
        assert self.status == 200, self.body
        return float(self.body["answers"][name]["noul"])

    def ids(self) -> list[str]:
        """The neighbours of a `/_decide`."""
        assert self.status == 200, self.body
        return [str(neighbour["_id"]) for neighbour in self.body["neighbours"]]


class Node:
    """The node, asked directly."""

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._session = session
        self._headers = dict(headers or {})
        self.url = url

    async def call(self, method: str, path: str, body: object = None, *, ok: bool = True) -> Reply:
        """One request with a JSON body."""
        data = None if body is None else json.dumps(body)
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        async with self._session.request(method, self.url + path, data=data, headers=headers) as answer:
            text = await answer.text()
            reply = Reply(answer.status, json.loads(text) if text[:1] == "{" else {}, answer.headers)
        assert not ok or reply.status < 400, reply.body
        return reply

    async def index(
        self,
        name: str,
        documents: Iterable[Json] | Mapping[str, Json] = (),
        properties: Json | None = None,
        *,
        settings: Json | None = None,
        mappings: Json | None = None,
    ) -> None:
        """Make an index anew, with these documents; ids are 0, 1, … where none are named."""
        await self.call("DELETE", f"/{name}", ok=False)
        mapping = (mappings or {}) | {"properties": HISTORY_FIELDS if properties is None else properties}
        body = {"settings": {"number_of_shards": 1, "number_of_replicas": 0} | (settings or {}), "mappings": mapping}
        await self.call("PUT", f"/{name}", body)
        named = documents.items() if isinstance(documents, Mapping) else enumerate(documents)
        lines = [json.dumps(part) for id_, one in named for part in ({"index": {"_id": str(id_)}}, one)]
        if lines:
            await self._bulk(name, lines)

    async def _bulk(self, name: str, lines: list[str]) -> None:
        data = "\n".join(lines) + "\n"
        headers = self._headers | {"Content-Type": "application/x-ndjson"}
        async with self._session.post(f"{self.url}/{name}/_bulk?refresh=true", data=data, headers=headers) as answer:
            body = await answer.json()
        assert not body["errors"], body


class Client:
    """Calls on a running sidecar."""

    def __init__(self, session: aiohttp.ClientSession, sidecar: Sidecar) -> None:
        self._session = session
        self.sidecar = sidecar

    async def send(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Reply:
        """POST to the ES port; `/histories/…` is served by the native port."""
        base = self.sidecar.native_url if path.startswith("/histories/") else self.sidecar.es_url
        async with self._session.post(base + path, json=body, headers=headers) as answer:
            return Reply(answer.status, await answer.json(), answer.headers)

    async def raw(self, path: str, body: object) -> bytes:
        """The bytes of an answer."""
        async with self._session.post(self.sidecar.es_url + path, json=body) as answer:
            return await answer.read()

    async def ask(self, questions: Json, state: object, *, path: str = "/v1/systemone", **more: Any) -> Reply:
        """POST /v1/systemone."""
        headers = more.pop("headers", None)
        return await self.send(path, {"state": state, "questions": questions, **more}, headers)

    async def noul(self, text: str, instructions: str = "Is it?", **more: Any) -> Reply:
        """One noul `q` about a text."""
        return await self.ask({"q": {"type": "noul", "instructions": instructions}}, text, **more)

    async def noul_once_free(self, text: str) -> float:
        """The noul about a text as soon as the node takes work again."""
        for _ in range(1_000):
            reply = await self.noul(text)
            if reply.status not in (429, 503):
                break
            await asyncio.sleep(0.05)
        return reply.noul()

    async def choice(self, text: str, *options: str, **more: Any) -> Reply:
        """One choice `q` about a text."""
        question = {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options, "x")}
        return await self.ask({"q": question}, text, **more)

    async def decide(self, index: str, question: str, **more: Any) -> Reply:
        """POST /_decide."""
        headers = more.pop("headers", None)
        return await self.send("/_decide", {"index": index, "question": question, **more}, headers)


@asynccontextmanager
async def serving(
    url: str,
    history: History | None = None,
    *,
    histories: Mapping[str, History] | None = None,
    limits: Limits | None = None,
    upstream: Upstream | None = None,
    local: Local | None = None,
) -> AsyncIterator[Client]:
    """A sidecar in front of the node at `url`, for one test."""
    settings = Settings(
        listen=Listen(port=0, native_port=0),
        upstream=upstream or Upstream(url=url),
        decisions=history or History(),
        histories=dict(histories or {}),
        limits=limits or Limits(deadline_s=60),
        local=local or Local(),
    )
    sidecar = Sidecar(settings)
    await sidecar.start()
    try:
        async with aiohttp.ClientSession() as session:
            yield Client(session, sidecar)
    finally:
        await sidecar.stop()


@asynccontextmanager
async def on_node(
    url: str, history: History | None = None, *, headers: Mapping[str, str] | None = None, **more: Any
) -> AsyncIterator[tuple[Node, Client]]:
    """The node and a sidecar in front of it."""
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session,
        serving(url, history, **more) as client,
    ):
        yield Node(session, url, headers), client


@dataclass
class Seen:
    """One request that reached the node."""

    method: str
    path: str
    authorization: str | None
    body: bytes

    @property
    def items(self) -> int:
        """Searches of an `_msearch`."""
        return self.body.count(b"\n") // 2


@dataclass
class Recorder:
    """What a sidecar asked of the node. `alter` may change an answer's JSON on its way back.

    `before` is awaited ahead of a request's way to the node; an answer that it returns stands for the node's.
    """

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    alter: Callable[[Json], None] | None = None
    before: Callable[[Seen], Awaitable[web.Response | None]] | None = None

    @property
    def searches(self) -> list[Seen]:
        """The `_msearch` requests."""
        return [one for one in self.seen if one.path.startswith("/_msearch")]


@asynccontextmanager
async def recording(url: str) -> AsyncIterator[Recorder]:
    """Stand between a sidecar and its node and write down what passes."""
    recorder = Recorder()

    async def pass_on(request: web.Request) -> web.Response:
        body = await request.read()
        seen = Seen(request.method, request.path_qs, request.headers.get("Authorization"), body)
        recorder.seen.append(seen)
        scripted = None if recorder.before is None else await recorder.before(seen)
        if scripted is not None:
            return scripted
        kept = {
            name: value
            for name, value in request.headers.items()
            if name.lower() not in ("host", "content-length", "transfer-encoding", "accept-encoding")
        }
        async with session.request(request.method, url + request.path_qs, data=body, headers=kept) as answer:
            content = await answer.read()
            if recorder.alter is not None and request.path == "/_msearch":
                parsed = json.loads(content)
                recorder.alter(parsed)
                content = json.dumps(parsed).encode()
            names = ("Content-Type", "WWW-Authenticate")
            headers = {name: answer.headers[name] for name in names if name in answer.headers}
            return web.Response(status=answer.status, body=content, headers=headers)

    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_route("*", "/{path:.*}", pass_on)
    runner = web.AppRunner(application, access_log=None)
    async with aiohttp.ClientSession() as session, contextlib.AsyncExitStack() as stack:
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        recorder.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield recorder


def ladder(label_fields: Mapping[str, Callable[[int], Any]] | None = None, size: int = 10, **more: Any) -> list[Json]:
    """Documents about `alpha` with distinct scores: the n-th has n fillers, so its id is its rank from 0."""
    fields = label_fields or {"label": lambda rank: "ham"}
    return [
        {"text": " ".join(["alpha", *["filler"] * rank]), **{name: of(rank) for name, of in fields.items()}, **more}
        for rank in range(size)
    ]
