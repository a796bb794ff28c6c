"""`sidecar demo`: from nothing to a decision, its evidence, a correction and the changed decision."""

from __future__ import annotations

import asyncio
import shlex
import signal
from importlib import resources
from pathlib import Path
from typing import Any

import aiohttp
import click
import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidecar.app import Sidecar
from sidecar.cli.cases import CaseFile
from sidecar.cli.options import settings_options
from sidecar.cli.progress import download_bar
from sidecar.engine import DEFAULT, DISTRIBUTIONS, RunningNode, running_node
from sidecar.errors import SidecarError
from sidecar.node import connect, own_identity, prepare_index, refresh, store_cases
from sidecar.settings import Loaded, Settings, Upstream

INDEX = "support-demo"
CLEAR = "The tracking for my parcel hasn't moved for a week, where is the courier with it?"
CLEAR_QUEUE = "shipping"
NEAR_MISS = "The parcel was delivered on time but the sensor inside is smashed. What now?"
RIGHT_QUEUE = "returns"
QUEUES = (
    "billing",
    "refunds",
    "shipping",
    "returns",
    "login",
    "bugs",
    "feature-requests",
    "sales",
    "cancellation",
)


@click.command()
@click.option("--once", is_flag=True, help="Tell the story, stop, and exit 0 only if each step did what it says.")
@settings_options("--port", "--native-port")
def demo(loaded: Loaded, once: bool) -> None:
    """Start a real node, a small support history and the sidecar, and walk through one decision.

    Keeps running until Ctrl-C, so that you can try more.
    """
    console = Console()
    console.print(f"Starting {DISTRIBUTIONS[DEFAULT].title} (the first start downloads it) …", highlight=False)
    with (
        download_bar(DISTRIBUTIONS[DEFAULT].title) as on_progress,
        running_node(DEFAULT, loaded.settings.engine, on_progress=on_progress) as node,
    ):
        console.print(Text(f"✓ node {node.version} on {node.url}", style="green"))
        settings = _demo_settings(loaded.settings, node)
        asyncio.run(_tell(console, settings, once))


def _demo_settings(settings: Settings, node: RunningNode) -> Settings:
    decisions = settings.decisions.model_copy(update={"index": INDEX})
    return settings.model_copy(update={"upstream": Upstream(url=node.url), "decisions": decisions})


async def _tell(console: Console, settings: Settings, once: bool) -> None:
    await _load_history(console, settings)
    sidecar = Sidecar(settings)
    await sidecar.start()
    try:
        async with aiohttp.ClientSession() as session:
            await Story(console, session, sidecar.es_url).tell()
        if once:
            console.print(Text("✓ every step did what it said", style="green"))
            return
        _say_what_next(console, sidecar)
        await _until_interrupted()
    finally:
        await sidecar.stop()


async def _load_history(console: Console, settings: Settings) -> None:
    client = connect(settings.upstream, connections=2, timeout_s=60)
    scope, own = settings.decisions.scope(), own_identity(settings.upstream)
    try:
        with resources.as_file(resources.files("sidecar") / "demo" / "history.csv") as path:
            cases = CaseFile(Path(path), kind=None, text="text", label="label", id_column=None)
            await prepare_index(client, scope, own)
            stored = [one async for one in store_cases(client, scope, own, cases)]
            cases.close()
        total = await refresh(client, scope, own)
    finally:
        await client.close()
    if total != len(stored):
        raise SidecarError(f"{len(stored)} demo cases were sent and {total} are in the index")
    console.print(
        Text(f"✓ history [{INDEX}]: {total} decided support messages over {len(QUEUES)} queues", style="green")
    )


class Story:
    """The guided steps. Each says what it does, does it over HTTP as any client would, and checks what came back."""

    def __init__(self, console: Console, session: aiohttp.ClientSession, url: str) -> None:
        self._console = console
        self._session = session
        self._url = url

    async def tell(self) -> None:
        """Ask, show the evidence, correct, ask again, and ask as a System One client would.

        Raises  SidecarError at the first step whose outcome is not the announced one
        """
        self._step(1, "Ask which queue a new message belongs to")
        self._expect(await self._decide(CLEAR), CLEAR_QUEUE)

        self._step(2, "A near miss: the parcel is fine, what was in it is not")
        before = await self._decide(NEAR_MISS)
        if before["label"] == RIGHT_QUEUE:
            raise SidecarError(f"the near miss was expected to go wrong and got {before['label']}")
        self._console.print(Text(f"A person would say {RIGHT_QUEUE}.", style="yellow"))

        self._step(3, "Correct it: one ordinary document, with human: true")
        document = {"text": NEAR_MISS, "label": RIGHT_QUEUE, "human": True}
        await self._send("PUT", f"/{INDEX}/_doc/correction-1?refresh=wait_for", document, expected=201)
        self._console.print("stored")

        self._step(4, "Ask again: the correction votes at once, nothing was trained")
        after = await self._decide(NEAR_MISS)
        self._expect(after, RIGHT_QUEUE)

        self._step(5, "The same through the System One API; official SDKs only need this base URL")
        answer = await self._send("POST", "/v1/systemone", _systemone_request(), expected=200)
        self._console.print_json(orjson.dumps(answer["answers"]).decode())
        if answer["answers"]["queue"]["choice"] != RIGHT_QUEUE:
            raise SidecarError(f"System One chose {answer['answers']['queue']['choice']}, expected {RIGHT_QUEUE}")

    def _step(self, number: int, title: str) -> None:
        self._console.print()
        self._console.rule(Text(f"{number}. {title}"), align="left")

    def _expect(self, decision: dict[str, Any], queue: str) -> None:
        if decision["label"] != queue:
            raise SidecarError(f"expected {queue}, the vote said {decision['label']}")
        self._console.print(Text(f"✓ {queue}", style="green"))

    async def _decide(self, question: str) -> dict[str, Any]:
        decision = await self._send("POST", "/_decide", {"index": INDEX, "question": question}, expected=200)
        self._show(decision)
        return decision

    async def _send(self, method: str, target: str, body: dict[str, Any], *, expected: int) -> dict[str, Any]:
        command = f"curl -s -X{method} '{self._url}{target}' -H 'Content-Type: application/json' -d "
        self._console.print(Text(command + shlex.quote(orjson.dumps(body).decode()), style="dim"), soft_wrap=True)
        async with self._session.request(method, self._url + target, json=body) as response:
            answer: dict[str, Any] = await response.json(content_type=None)
            if response.status != expected:
                raise SidecarError(f"{method} {target} answered {response.status}, expected {expected}: {answer}")
            return answer

    def _show(self, decision: dict[str, Any]) -> None:
        self._console.print(
            Text.assemble((decision["label"], "bold"), f"  confidence {decision['confidence']:.3f}, decided by:")
        )
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        for neighbour in decision["neighbours"][:5]:
            who = "human" if neighbour["human"] else ""
            table.add_row(f"{neighbour['weight']:.2f}", Text(neighbour["label"]), who, Text(neighbour["text"][:90]))
        self._console.print(table)


def _systemone_request() -> dict[str, Any]:
    return {
        "model": "jev-latest",
        "state": {"ticket": {"body": NEAR_MISS}},
        "questions": {
            "queue": {
                "type": "choice",
                "instructions": "Which queue should handle `ticket.body`?",
                "criteria": dict.fromkeys(QUEUES),
            }
        },
    }


def _say_what_next(console: Console, sidecar: Sidecar) -> None:
    console.print()
    console.rule(Text("Now you"), align="left")
    lines = (
        f"the node through the sidecar   curl '{sidecar.es_url}/{INDEX}/_count'",
        f"what can answer                curl '{sidecar.native_url}/v1/models'",
        f"counters for Prometheus        curl '{sidecar.native_url}/metrics'",
        f"decide in the terminal         sidecar decide 'I forgot my password' --index {INDEX} "
        f"--upstream {sidecar.es_url}",
        f"your own cases                 sidecar import FILE.csv --index NAME --upstream {sidecar.es_url}",
        f"an SDK                         TYPESAFE_BASE_URL={sidecar.es_url} TYPESAFE_API_KEY=sk-local-dummy",
    )
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    console.print(Text("Running until Ctrl-C; nothing is kept afterwards.", style="yellow"))


async def _until_interrupted() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    await stop.wait()
