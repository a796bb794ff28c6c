"""Two ends of a wire that speak bytes: a node that records what it got and answers as told, and a raw client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from sidecar.settings import History, Listen, Settings, Upstream

LIMIT_S = 20
"""How long a test waits for something that must happen."""

READY_PATH = "/_nodes/_local/http"
"""What the sidecar itself asks a node at its start; answered and not recorded."""

Headers: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class Head:
    """Start line and headers; names in lower case, values as sent, order and duplicates kept."""

    start: str
    headers: Headers

    @classmethod
    async def read(cls, reader: asyncio.StreamReader) -> Head:
        raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = raw[:-4].split("\r\n")
        pairs = (line.split(":", 1) for line in lines)
        return cls(start, [(name.lower(), value.strip()) for name, value in pairs])

    def all(self, name: str) -> list[str]:
        """Every value of that header."""
        return [value for known, value in self.headers if known == name]

    def get(self, name: str) -> str | None:
        """The only value of that header, None without one."""
        values = self.all(name)
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def status(self) -> int:
        return int(self.start.split(" ")[1])

    @property
    def method(self) -> str:
        return self.start.split(" ")[0]

    @property
    def target(self) -> str:
        return self.start.split(" ")[1]

    @property
    def is_chunked(self) -> bool:
        return self.get("transfer-encoding") == "chunked"


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    """The next chunk of a chunked body, b"" at its end; IncompleteReadError where the body breaks off."""
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    return (await reader.readexactly(size + 2))[:-2]


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    """A framed body, without its framing."""
    if not head.is_chunked:
        return await reader.readexactly(int(head.get("content-length") or 0))
    parts = []
    while part := await read_chunk(reader):
        parts.append(part)
    return b"".join(parts)


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


@dataclass
class Exchange:
    """One request as the node sees it."""

    head: Head
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: bytes | None = None

    async def read(self) -> bytes:
        """The whole body of the request."""
        if self.head.get("expect") == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.body = await read_body(self.reader, self.head)
        return self.body

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def peer_left(self) -> None:
        """Return when the other side has closed the connection."""
        async with asyncio.timeout(LIMIT_S):
            with contextlib.suppress(ConnectionError):
                while await self.reader.read(65536):
                    pass


Script: TypeAlias = Callable[[Exchange], Awaitable[None]]


def ok(body: bytes = b"{}", *headers: str, status: str = "200 OK") -> bytes:
    """An answer with its length."""
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class ScriptedNode:
    """A node that does as told. A script that raises ConnectionAbortedError breaks the connection off."""

    exchanges: list[Exchange] = field(default_factory=list)
    script: Script | None = None
    product: str | None = "Elasticsearch"
    port: int = 0
    _server: asyncio.Server | None = None

    def answers(self, raw: bytes) -> None:
        """Answer every request with these bytes after reading it."""

        async def script(exchange: Exchange) -> None:
            await exchange.read()
            await exchange.send(raw)

        self.script = script

    @property
    def only(self) -> Exchange:
        """The one request that came."""
        assert len(self.exchanges) == 1, [exchange.head.start for exchange in self.exchanges]
        return self.exchanges[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                exchange = Exchange(await Head.read(reader), reader, writer)
                if exchange.head.target.startswith(READY_PATH):
                    product = [f"x-elastic-product: {self.product}"] if self.product else []
                    await exchange.send(ok(b'{"nodes":{}}', *product))
                    continue
                self.exchanges.append(exchange)
                assert self.script is not None, "no script"
                await self.script(exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedNode]:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self.stop()

    def stop(self) -> None:
        """Listen no longer; connections of an exchange in progress stay."""
        if self._server is not None:
            self._server.close()


@dataclass
class Answer:
    """A whole answer as a client read it."""

    head: Head
    body: bytes

    @property
    def status(self) -> int:
        return self.head.status


class RawClient:
    """A client that sends exactly what it is given."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, url: str) -> RawClient:
        host, port = url.removeprefix("http://").rsplit(":", 1)
        return cls(*await asyncio.open_connection(host, int(port), limit=1 << 20))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> Head:
        """The next answer's head."""
        async with asyncio.timeout(LIMIT_S):
            return await Head.read(self.reader)

    async def answer(self, *, bodiless: bool = False) -> Answer:
        """The next answer; `bodiless` where the method or status leaves no body."""
        async with asyncio.timeout(LIMIT_S):
            head = await Head.read(self.reader)
            if bodiless:
                return Answer(head, b"")
            if head.is_chunked or head.get("content-length") is not None:
                return Answer(head, await read_body(self.reader, head))
            return Answer(head, await self.reader.read())

    async def ask(
        self, target: str, *headers: str, method: str = "GET", body: bytes | None = None, bodiless: bool = False
    ) -> Answer:
        """Send one request and read its answer."""
        await self.send(request(target, *headers, method=method, body=body))
        return await self.answer(bodiless=bodiless or method == "HEAD")

    async def leave(self) -> None:
        """Close at once."""
        self.writer.transport.abort()


def request(target: str, *headers: str, method: str = "GET", body: bytes | None = None) -> bytes:
    """A request as bytes; with a body its length is added."""
    lines = [f"{method} {target} HTTP/1.1", "Host: node.example:9200", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def settings_for(port: int) -> Settings:
    """Settings of a sidecar on free ports in front of that port."""
    return Settings(
        listen=Listen(port=0, native_port=0),
        upstream=Upstream(url=f"http://127.0.0.1:{port}"),
        decisions=History(index="cases"),
    )
