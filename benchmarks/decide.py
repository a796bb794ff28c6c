"""What a decision costs beside the bare search: `/_decide` against `_search`, 100 questions against their `_msearch`.

Interleaved in one run: every text is asked both ways, one after the other, in turns of who is first, so that both
meet the same node in the same state. Both go over one kept-alive connection of the same client.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable

import aiohttp

from benchmarks import datasets
from benchmarks.counting import counting
from benchmarks.results import Results, say
from benchmarks.running import Bench, running_bench
from sidecar.app import Sidecar
from sidecar.settings import History, Listen, Settings, Upstream
from sidecar.vote import SEARCH_PARAMS, TIE_MARGIN, build_vote_search

ENGINES = ("opensearch3", "elasticsearch9")
INDEX = "banking77"
K = 10
WARM_UP, ROUNDS, BATCHES, BATCH = 300, 1000, 40, 100
FLAGS = ("--index", INDEX, "--positive-label", "card_arrival")


async def timed(call: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds that one call takes."""
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


class Caller:
    """Asks the node directly and the sidecar for the same texts."""

    def __init__(self, session: aiohttp.ClientSession, bench: Bench) -> None:
        self._session = session
        self._node = bench.node.url
        self._sidecar = bench.url
        self._scope = Settings().of_index(INDEX).scope()

    async def search(self, text: str) -> None:
        """The vote's own search, on the node."""
        url = f"{self._node}/{INDEX}/_search"
        body = build_vote_search(text, self._scope, K + TIE_MARGIN)
        async with self._session.post(url, json=body, params=dict(SEARCH_PARAMS)) as response:
            assert response.status == 200, await response.text()
            await response.read()

    async def decide(self, text: str) -> None:
        """The same text through `/_decide`."""
        async with self._session.post(f"{self._sidecar}/_decide", json={"index": INDEX, "question": text}) as response:
            assert response.status == 200, await response.text()
            await response.read()

    async def msearch(self, texts: list[str]) -> None:
        """The bare searches of many texts, in one request."""
        header = json.dumps({"index": INDEX, **SEARCH_PARAMS})
        lines = [
            line
            for text in texts
            for line in (header, json.dumps(build_vote_search(text, self._scope, K + TIE_MARGIN)))
        ]
        headers = {"Content-Type": "application/x-ndjson"}
        body = ("\n".join(lines) + "\n").encode()
        async with self._session.post(f"{self._node}/_msearch", data=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            await response.read()

    async def systemone(self, texts: list[str]) -> None:
        """The same texts as one request of as many nouls."""
        state = {"d": {f"t{i}": text for i, text in enumerate(texts)}}
        questions = {
            f"q{i}": {"type": "noul", "instructions": f"Is `d.t{i}` about a card that has not come?"}
            for i in range(len(texts))
        }
        body = {"model": "jev-latest", "state": state, "questions": questions}
        async with self._session.post(f"{self._sidecar}/v1/systemone", json=body) as response:
            assert response.status == 200, await response.text()
            await response.read()


async def measure(bench: Bench, engine: str, results: Results) -> None:
    """Fill the index, warm both ways up, then measure in turns."""
    history, test = datasets.banking77()
    await bench.load(INDEX, history)
    texts = [row.text for row in test]
    async with aiohttp.ClientSession() as session:
        caller = Caller(session, bench)
        for text in texts[:WARM_UP]:
            await caller.search(text)
            await caller.decide(text)
        direct: list[float] = []
        through: list[float] = []
        for turn, text in enumerate(texts[WARM_UP : WARM_UP + ROUNDS]):
            calls = [(caller.search, direct), (caller.decide, through)]
            for call, times in calls if turn % 2 else reversed(calls):
                times.append(await timed(lambda call=call, text=text: call(text)))  # type: ignore[misc]
        added = statistics.median(through) - statistics.median(direct)
        say(f"{engine}: p50 direct {statistics.median(direct):.2f} ms, /_decide {statistics.median(through):.2f} ms")
        results.add(f"decide.added_p50_ms.{engine}", round(added, 3), "ms", "direct _search", ROUNDS)

        bare: list[float] = []
        asked: list[float] = []
        for turn in range(BATCHES + 5):
            start = (turn * BATCH) % (len(texts) - BATCH)
            batch = texts[start : start + BATCH]
            calls_many = [(caller.msearch, bare), (caller.systemone, asked)]
            for many, times in calls_many if turn % 2 else reversed(calls_many):
                took = await timed(lambda many=many, batch=batch: many(batch))  # type: ignore[misc]
                if turn >= 5:
                    times.append(took)
        ratio = statistics.median(asked) / statistics.median(bare)
        say(f"{engine}: p50 _msearch {statistics.median(bare):.1f} ms, 100 questions {statistics.median(asked):.1f} ms")
        results.add(f"decide.batch100_ratio.{engine}", round(ratio, 3), "ratio", "bare _msearch of 100", BATCHES)


async def count_searches(bench: Bench, results: Results) -> None:
    """300 questions in one request: how many `_msearch` leave, and how many searches the node runs for them."""
    history, test = datasets.banking77()
    async with counting(bench.node.url) as counter, aiohttp.ClientSession() as session:
        settings = Settings(
            upstream=Upstream(url=counter.url),
            listen=Listen(port=0, native_port=0),
            decisions=History(index=INDEX, positive_label=FLAGS[-1]),
        )
        sidecar = Sidecar(settings)
        await sidecar.start()
        try:

            async def ask(texts: list[str]) -> tuple[int, int]:
                state = {f"t{i}": text for i, text in enumerate(texts)}
                questions = {f"q{i}": {"type": "noul", "instructions": f"Is `t{i}` it?"} for i in range(len(texts))}
                searched, sent = await searches_run(session, bench), counter.msearches
                body = {"model": "jev-latest", "state": state, "questions": questions}
                async with session.post(f"{sidecar.es_url}/v1/systemone", json=body) as response:
                    assert response.status == 200, await response.text()
                return counter.msearches - sent, await searches_run(session, bench) - searched

            await ask([history[0].text])  # the label's presence is cached from here on
            distinct = list(dict.fromkeys(row.text for row in test))[:300]
            msearches, _ = await ask(distinct)
            results.add("decide.msearches_for_300_distinct", msearches, "requests", "300 distinct texts", 300)
            msearches, items = await ask([distinct[0]] * 300)
            assert msearches == 1, f"{msearches} _msearch for one text"
            results.add("decide.msearch_items_for_300_equal", items, "searches", "300 equal texts", 300)
        finally:
            await sidecar.stop()


async def searches_run(session: aiohttp.ClientSession, bench: Bench) -> int:
    """Searches that the node has run on the index, by its own statistics (one shard: one query each)."""
    async with session.get(f"{bench.node.url}/{INDEX}/_stats/search") as response:
        body = await response.json()
        return int(body["_all"]["primaries"]["search"]["query_total"])


def main() -> None:
    """Measure on every engine, one after the other."""
    results = Results("decide")
    for engine in ENGINES:
        say(f"starting {engine} …")
        with running_bench(engine, *FLAGS) as bench:
            asyncio.run(measure(bench, engine, results))
            if engine == ENGINES[0]:
                asyncio.run(count_searches(bench, results))
    results.keep()


if __name__ == "__main__":
    main()
