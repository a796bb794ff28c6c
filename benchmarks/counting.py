"""A relay between sidecar and node that counts requests, so that the node's side of the story is counted, not told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

_NEEDLE = b"POST /_msearch"


class Counter:
    """How many `_msearch` requests went by. `url` is where the sidecar is to send them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.msearches = 0

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool) -> None:
        """Pass bytes on until either side ends."""
        tail = b""
        try:
            while chunk := await reader.read(65536):
                if count:
                    seen = tail + chunk
                    self.msearches += seen.count(_NEEDLE)
                    tail = seen[-(len(_NEEDLE) - 1) :]
                writer.write(chunk)
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()


@asynccontextmanager
async def counting(upstream: str) -> AsyncIterator[Counter]:
    """A relay in front of a node."""
    node = urlsplit(upstream)
    counter = Counter("")

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        node_reader, node_writer = await asyncio.open_connection(node.hostname, node.port)
        await asyncio.gather(
            counter.copy(reader, node_writer, count=True), counter.copy(node_reader, writer, count=False)
        )

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    counter.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield counter
