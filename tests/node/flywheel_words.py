"""A sidecar with the tiny model armed, texts that the model knows, and a look at what was written back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import xxhash
from node_harness import HISTORY_FIELDS, Client, Json, Node, on_node

from sidecar.settings import History, Local

FIELDS: Json = HISTORY_FIELDS | {"p": {"type": "float"}}
SPAM = "claim your free prize winner lottery"
HAM = "sorry mum see you at home for dinner tonight"
SPLIT: list[Json] = [{"text": SPAM, "label": "spam"}, {"text": f"{SPAM} now", "label": "ham"}]
"""Two cases that no vote at `escalate_below` 0.8 can decide."""
MEMBERS = {"text", "label", "p", "source", "ts"}


def local(model_dir: Path) -> Local:
    """The tiny model on one thread."""
    return Local(mode="local", model_dir=str(model_dir), threads=1)


def decide_id(text: str) -> str:
    """The id of a written-back text."""
    return "decide-" + xxhash.xxh3_128(text.encode()).hexdigest()


@asynccontextmanager
async def armed(url: str, history: History | None, model_dir: Path, **more: Any) -> AsyncIterator[tuple[Node, Client]]:
    """The node, and a sidecar with a head in front of it."""
    async with on_node(url, history, local=local(model_dir), **more) as pair:
        yield pair


async def status(client: Client) -> Json:
    """The flywheel's part of `/_decide/_status`."""
    url = client.sidecar.es_url + "/_decide/_status"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return dict((await answer.json())["flywheel"])


async def metrics(client: Client) -> str:
    """The metrics page."""
    async with aiohttp.ClientSession() as session, session.get(client.sidecar.native_url + "/metrics") as answer:
        return await answer.text()


async def settled(client: Client, **expected: int) -> None:
    """Wait until the flywheel has dealt with everything, and hold its counts to `expected`."""
    for _ in range(600):
        now = await status(client)
        if now["waiting"] == 0 and sum(now["outcomes"].values()) >= sum(expected.values()):
            break
        await asyncio.sleep(0.05)
    assert now == {"waiting": 0, "outcomes": expected}


async def stored(direct: Node, index: str) -> dict[str, Json]:
    """All documents of an index by id."""
    await direct.call("POST", f"/{index}/_refresh")
    hits = (await direct.call("POST", f"/{index}/_search", {"size": 1000})).body["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, bounded."""
    for _ in range(600):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the condition did not come true")
