"""Local answers that become history: decide.md section 8 on real nodes."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from flywheel_words import (
    FIELDS,
    HAM,
    MEMBERS,
    SPAM,
    SPLIT,
    armed,
    decide_id,
    local,
    metrics,
    settled,
    status,
    stored,
    until,
)
from node_harness import Json, Node, Seen, on_node, recording, serving

from sidecar.engine import RunningNode
from sidecar.node import write_back
from sidecar.settings import History

HISTORY = History(index="fw", positive_label="spam")
SEED: dict[str, Json] = {"seed-spam": {"text": "alpha", "label": "spam"}, "seed-ham": {"text": "beta", "label": "ham"}}
SPAM_ID, HAM_ID = decide_id(SPAM), decide_id(HAM)
TS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits between repeats, short."""
    monkeypatch.setattr(write_back, "RETRY_DELAYS_S", (0.01, 0.02))


@pytest.fixture(params=("opensearch3", "elasticsearch9"))
def pair_node(request: pytest.FixtureRequest, engines: Any) -> RunningNode:
    """One node of each family, for what does not hang on the release."""
    return engines(request.param)  # type: ignore[no-any-return]


async def test_an_answer_is_written_and_votes_next_time(node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", SEED, FIELDS)
        yes, no = await client.noul(SPAM), await client.noul(HAM)
        await settled(client, written=2)
        documents = await stored(direct, "fw")
        assert documents.keys() == {*SEED, SPAM_ID, HAM_ID}
        for id_, text, label, p in (
            (SPAM_ID, SPAM, "spam", yes.noul()),
            (HAM_ID, HAM, "ham", round(1 - no.noul(), 6)),  # the other label of two, not `not spam`
        ):
            document = documents[id_]
            assert document.keys() == MEMBERS
            assert (document["text"], document["label"], document["p"], document["source"]) == (text, label, p, "local")
            assert TS.fullmatch(document["ts"])
        again = await client.noul(SPAM)
        assert (again.noul(), again.evidence["q"]["tier"]) == (1.0, "history")
        audit = (await client.decide("fw", HAM)).body
        assert (audit["label"], audit["tier"]) == ("ham", "history")
        assert audit["neighbours"][0]["source"] == "local"
        assert (await status(client))["outcomes"] == {"written": 2}
        assert 'sidecar_write_backs_total{outcome="written"} 2.0' in await metrics(client)


async def test_a_repeat_overwrites(node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        old = {"text": SPAM, "label": "ham", "source": "local", "p": 0.6, "ts": "2020-01-01T00:00:00.000Z"}
        await direct.index("fw", SEED | {SPAM_ID: old, "more": {"text": SPAM, "label": "spam"}}, FIELDS)
        assert (await client.noul(SPAM)).evidence["q"]["escalation"]["outcome"] == "answered"
        await settled(client, written=1)
        after = (await stored(direct, "fw"))[SPAM_ID]
        assert (after["label"], after["ts"] > old["ts"]) == ("spam", True)
        version = (await direct.call("GET", f"/fw/_doc/{SPAM_ID}")).body["_version"]
        assert version == 2


PROTECTED: dict[str, Json] = {
    "human": {"text": "else", "label": "ham", "human": True, "source": "local"},
    "no-source": {"text": "else", "label": "ham"},
    "null-source": {"text": "else", "label": "ham", "source": None},
}


@pytest.mark.parametrize("name", PROTECTED)
async def test_a_persons_or_seeded_document_is_never_replaced(
    node: RunningNode, tiny_model_dir: Path, name: str
) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", SEED | {SPAM_ID: PROTECTED[name]}, FIELDS)
        assert (await client.noul(SPAM)).noul() > 0.8
        await settled(client, kept_document=1)
        assert (await stored(direct, "fw"))[SPAM_ID] == PROTECTED[name]


@pytest.mark.parametrize("name", PROTECTED)
async def test_nor_when_it_comes_between_the_look_and_the_write(
    pair_node: RunningNode, tiny_model_dir: Path, name: str
) -> None:
    old = {"text": "else", "label": "ham", "source": "local"}
    async with recording(pair_node.url) as recorder, on_node(pair_node.url) as (direct, _):
        await direct.index("fw", SEED | {SPAM_ID: old}, FIELDS)

        async def interleave(seen: Seen) -> None:
            if b"if_seq_no" in seen.body:
                await direct.call("PUT", f"/fw/_doc/{SPAM_ID}", PROTECTED[name])

        recorder.before = interleave
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            assert (await client.noul(SPAM)).noul() > 0.8
            await settled(client, conflict=1)
        assert (await stored(direct, "fw"))[SPAM_ID] == PROTECTED[name]


async def test_a_document_that_goes_between_the_look_and_the_write(
    opensearch: RunningNode, tiny_model_dir: Path
) -> None:
    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        await direct.index("fw", SEED | {SPAM_ID: {"text": "else", "label": "ham", "source": "local"}}, FIELDS)

        async def interleave(seen: Seen) -> None:
            if seen.path.startswith("/_mget"):
                await direct.call("DELETE", f"/fw/_doc/{SPAM_ID}", ok=False)

        recorder.before = interleave
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            assert (await client.noul(SPAM)).noul() > 0.8
            await settled(client, conflict=1)


async def test_a_missing_index_of_a_configured_history_is_created(node: RunningNode, tiny_model_dir: Path) -> None:
    history = History(index="fw-new", positive_label="spam")
    async with armed(node.url, history, tiny_model_dir) as (direct, client):
        await direct.call("DELETE", "/fw-new", ok=False)
        await client.noul(HAM)
        await settled(client, written=1)
        documents = await stored(direct, "fw-new")
        assert [one["label"] for one in documents.values()] == ["not spam"]
        mapping = (await direct.call("GET", "/fw-new/_mapping")).body["fw-new"]["mappings"]["properties"]
        assert mapping == {
            "text": {"type": "text"},
            "label": {"type": "keyword"},
            "p": {"type": "float"},
            "source": {"type": "keyword"},
            "ts": {"type": "date"},
            "human": {"type": "boolean"},
        }
        again = await client.noul(HAM)  # the history knows `not spam` and still no `spam`
        assert (again.noul() < 0.2, again.evidence["q"]["tier"]) == (True, "local")
        await settled(client, written=2)
        await direct.call("DELETE", "/fw-new")


async def test_a_typo_creates_nothing(node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.call("DELETE", "/fw-typo", ok=False)
        typo = await client.decide("fw-typo", SPAM, positive_label="spam")
        assert (typo.body["tier"], typo.body["label"]) == ("local", "spam")
        await settled(client, index_missing=1)
        assert (await direct.call("GET", "/fw-typo/_search", ok=False)).status == 404
        await client.decide("fw-typo", SPAM, positive_label="spam", create=True)
        await settled(client, index_missing=1, written=1)
        assert (await stored(direct, "fw-typo")).keys() == {SPAM_ID}
        mapping = (await direct.call("GET", "/fw-typo/_mapping")).body["fw-typo"]["mappings"]["properties"]
        assert (mapping["label"], mapping["p"]) == ({"type": "keyword"}, {"type": "float"})
        await direct.call("DELETE", "/fw-typo")


async def test_what_is_not_written(pair_node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(pair_node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", SEED, FIELDS)
        await client.noul("alpha")  # history
        score = {"s": {"type": "score", "instructions": "How?", "criteria": ["calm", "furious"]}}
        assert (await client.ask(score, "they are enraged livid")).status == 200
        sides = {"q": {"type": "noul", "instructions": "Is `left` better than `right`?"}}
        assert (await client.ask(sides, {"left": SPAM, "right": HAM})).status == 200
        long = f"{SPAM} " + "the and very now " * 300
        cut = await client.noul(long)
        assert cut.evidence["q"]["premise_cut"]["used"] < cut.evidence["q"]["premise_cut"]["given"]
        assert "premise_cut" in (await client.decide("fw", long)).body
        await settled(client)
        assert (await stored(direct, "fw")).keys() == SEED.keys()
    unsure = HISTORY.model_copy(update={"min_confidence": 1.1})
    async with armed(pair_node.url, unsure, tiny_model_dir) as (_, client):
        audit = (await client.decide("fw", SPAM)).body
        assert (audit["tier"], audit["abstain"], audit["label"]) == ("local", True, "spam")
        await settled(client)
    silent = HISTORY.model_copy(update={"write_back": False})
    async with armed(pair_node.url, silent, tiny_model_dir) as (_, client):
        assert (await client.noul(SPAM)).evidence["q"]["tier"] == "local"
        assert (await client.decide("fw", HAM)).body["tier"] == "local"
        await settled(client)
    pattern = HISTORY.model_copy(update={"index": "fw*"})
    async with armed(pair_node.url, pattern, tiny_model_dir) as (direct, client):
        assert (await client.noul(SPAM)).evidence["q"]["tier"] == "local"
        await settled(client)
        assert (await stored(direct, "fw")).keys() == SEED.keys()


async def test_a_cached_no_does_not_pollute_a_choice(pair_node: RunningNode, tiny_model_dir: Path) -> None:
    three = SEED | {"third": {"text": "gamma", "label": "eggs"}}
    async with armed(pair_node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", three, FIELDS)
        assert (await client.noul(HAM)).noul() < 0.2
        await settled(client, written=1)
        assert (await stored(direct, "fw"))[HAM_ID]["label"] == "not spam"
        noul = await client.noul(HAM)
        assert (noul.noul(), noul.evidence["q"]["tier"]) == (0.0, "history")
        choice = await client.choice(HAM, "spam", "ham")
        assert choice.evidence["q"]["tier"] == "local"
        assert choice.body["answers"]["q"]["choice"] == "ham"
        await settled(client, written=2)  # the choice's answer is the document of this text now
        assert (await stored(direct, "fw"))[HAM_ID]["label"] == "ham"


BLOCKS = {"flood-stage": "index.blocks.read_only_allow_delete", "write": "index.blocks.write"}


@pytest.mark.parametrize("name", BLOCKS)
async def test_a_blocked_index(node: RunningNode, tiny_model_dir: Path, name: str) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", SEED, FIELDS)
        await direct.call("PUT", "/fw/_settings", {BLOCKS[name]: True})
        assert (await client.noul(SPAM)).noul() > 0.8
        await settled(client, blocked=1)
        await direct.call("PUT", "/fw/_settings", {BLOCKS[name]: None})
        assert (await client.noul(SPAM)).noul() > 0.8
        await settled(client, blocked=1, written=1)


@pytest.mark.parametrize("whole", [True, False], ids=["whole-answer", "items"])
async def test_a_full_queue_of_the_node(opensearch: RunningNode, tiny_model_dir: Path, whole: bool) -> None:
    error = {"type": "es_rejected_execution_exception", "reason": "full"}
    refusals = 0

    async def busy(seen: Seen) -> web.Response | None:
        nonlocal refusals
        if not seen.path.startswith("/_bulk") or refusals == 0:
            return None
        refusals -= 1
        if whole:
            return web.json_response({"error": error, "status": 429}, status=429)
        items = [{"create": {"_index": "fw", "_id": "x", "status": 429, "error": error}}]
        return web.json_response({"errors": True, "items": items})

    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        recorder.before = busy
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            await direct.index("fw", SEED, FIELDS)
            refusals = 2
            assert (await client.noul(SPAM)).noul() > 0.8
            await settled(client, written=1)
            refusals = 3
            assert (await client.noul(HAM)).noul() < 0.2
            await settled(client, written=1, overloaded=1)
        assert (await stored(direct, "fw")).keys() == {*SEED, SPAM_ID}


STEPS = {
    # which of the flywheel's own calls fails: the path, how many of it pass before, and the counts
    "look-for-the-index": ("/fw/_search", 0, {"unavailable": 2}),
    "create": ("/_bulk", 0, {"unavailable": 2}),
    "look-at-the-taken": ("/_mget", 0, {"written": 1, "unavailable": 1}),
    "replace": ("/_bulk", 1, {"written": 1, "unavailable": 1}),
}
TWO = {name: {"type": "noul", "instructions": f"Is `{name}` it?"} for name in ("new", "taken")}


@pytest.mark.parametrize("name", STEPS)
async def test_a_node_that_goes_away_at_any_step(opensearch: RunningNode, tiny_model_dir: Path, name: str) -> None:
    path, nth, counts = STEPS[name]
    met = 0

    async def gone(seen: Seen) -> web.Response | None:
        nonlocal met
        if not seen.path.startswith(path) or (path == "/fw/_search" and b'"size":0}' not in seen.body):
            return None
        met += 1
        return web.Response(status=503) if met > nth else None

    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        old = {"text": "else", "label": "ham", "source": "local"}
        await direct.index("fw", SEED | {SPAM_ID: old}, FIELDS)
        recorder.before = gone
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            reply = await client.ask(TWO, {"new": HAM, "taken": SPAM})
            assert (reply.noul("new") < 0.2, reply.noul("taken") > 0.8) == (True, True)
            await settled(client, **counts)
            assert met > nth
        assert (HAM_ID in await stored(direct, "fw")) == ("written" in counts)
        assert (await stored(direct, "fw"))[SPAM_ID] == old


async def test_a_node_that_goes_away_as_the_index_is_made(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async def gone(seen: Seen) -> web.Response | None:
        return web.Response(status=503) if seen.method == "PUT" else None

    history = HISTORY.model_copy(update={"index": "fw-unmade"})
    async with recording(opensearch.url) as recorder, armed(recorder.url, history, tiny_model_dir) as (_, client):
        recorder.before = gone
        assert (await client.noul(SPAM)).noul() > 0.8
        await settled(client, unavailable=1)


async def test_an_alias_without_a_write_index_and_a_data_stream(node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(node.url, History(index="fw-alias", positive_label="spam"), tiny_model_dir) as (direct, client):
        await direct.index("fw-one", SEED, FIELDS)
        await direct.index("fw-two", [], FIELDS)
        add: list[Json] = [{"add": {"index": name, "alias": "fw-alias"}} for name in ("fw-one", "fw-two")]
        await direct.call("POST", "/_aliases", {"actions": add})
        assert (await client.noul(SPAM)).noul() > 0.8
        await settled(client, rejected=1)
        add[1]["add"]["is_write_index"] = True
        await direct.call("POST", "/_aliases", {"actions": add})
        await client.noul(SPAM)
        await settled(client, rejected=1, written=1)
        assert (await stored(direct, "fw-two")).keys() == {SPAM_ID}
        # A repeat through the alias of several finds the document in its own index.
        await direct.call(
            "PUT", f"/fw-two/_doc/{SPAM_ID}?refresh=true", {"text": "x", "label": "ham", "source": "local"}
        )
        await client.noul(SPAM)
        await settled(client, rejected=1, written=2)
        assert (await stored(direct, "fw-two"))[SPAM_ID]["label"] == "spam"
        for name in ("fw-one", "fw-two"):
            await direct.call("DELETE", f"/{name}")


async def test_a_data_stream(node: RunningNode, tiny_model_dir: Path) -> None:
    template = {
        "index_patterns": ["fw-stream*"],
        "data_stream": {},
        "priority": 500,
        "template": {
            "settings": {"number_of_replicas": 0},
            "mappings": {"properties": FIELDS | {"@timestamp": {"type": "date"}}},
        },
    }
    async with armed(node.url, History(index="fw-stream", positive_label="spam"), tiny_model_dir) as (direct, client):
        made = await direct.call("PUT", "/_index_template/fw-stream", template, ok=False)
        made = await direct.call("PUT", "/_data_stream/fw-stream", ok=False) if made.status == 200 else made
        if made.status != 200:
            pytest.skip(f"this distribution has no data streams: {made.status}")
        try:
            assert (await client.noul(SPAM)).noul() > 0.8
            await settled(client, rejected=1)
            assert await stored(direct, "fw-stream") == {}
        finally:
            await direct.call("DELETE", "/_data_stream/fw-stream", ok=False)
            await direct.call("DELETE", "/_index_template/fw-stream", ok=False)


async def test_two_sidecars_on_one_index(pair_node: RunningNode, tiny_model_dir: Path) -> None:
    texts = [f"{SPAM} {word}" for word in ("one", "two", "three", "four", "five", "six")]
    # No vote on near twins, so that every text is the head's: all writers meet on the same ids.
    history = HISTORY.model_copy(update={"index": "fw-twins", "escalate_below": 1.0})
    async with (
        armed(pair_node.url, history, tiny_model_dir) as (direct, first),
        serving(pair_node.url, history, local=local(tiny_model_dir)) as second,
    ):
        await direct.call("DELETE", "/fw-twins", ok=False)
        replies = await asyncio.gather(*(side.noul(text) for text in texts * 2 for side in (first, second)))
        assert {reply.status for reply in replies} == {200}
        for side in (first, second):
            for _ in range(600):
                if (await status(side))["waiting"] == 0:
                    break
                await asyncio.sleep(0.05)
            assert (await status(side))["outcomes"].keys() <= {"written", "conflict"}
        documents = await stored(direct, "fw-twins")
        assert documents.keys() == {decide_id(text) for text in texts}
        assert {one["label"] for one in documents.values()} == {"spam"}
        await direct.call("DELETE", "/fw-twins")


async def test_a_graceful_stop_writes_what_waits(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    gate = asyncio.Event()

    async def hold(seen: Seen) -> None:
        if seen.path.startswith("/_bulk"):
            await gate.wait()

    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        await direct.index("fw", SEED, FIELDS)
        recorder.before = hold
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            assert (await client.noul(SPAM)).noul() > 0.8
            assert (await client.noul(HAM)).noul() < 0.2
            assert (await status(client))["waiting"] == 2
            asyncio.get_running_loop().call_later(0.2, gate.set)
        assert (await stored(direct, "fw")).keys() == {*SEED, SPAM_ID, HAM_ID}


@pytest.mark.parametrize("at", ["/_msearch", "/fw/_field_caps", "cors"])
async def test_a_cancelled_request_writes_nothing(opensearch: RunningNode, tiny_model_dir: Path, at: str) -> None:
    gate, asked = asyncio.Event(), asyncio.Event()

    async def hold(seen: Seen) -> None:
        # The last wait of a request is for the node's CORS rules, after the decision.
        if seen.path.startswith(at) or (at == "cors" and not seen.path.startswith(("/_msearch", "/fw"))):
            asked.set()
            await gate.wait()

    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        await direct.index("fw", SEED, FIELDS)
        async with armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):
            recorder.before = hold
            asking = client.noul(SPAM, headers={"Origin": "http://page.example"})
            request = asyncio.get_running_loop().create_task(asking)
            await asyncio.wait_for(asked.wait(), 30)
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)
            await until(lambda: client.sidecar._surface._in_flight == 0)
            await asyncio.sleep(0.2)
            recorder.before = None
            gate.set()
            assert (await client.noul(HAM)).noul() < 0.2  # a later answer has come all the way
            await settled(client, written=1)
        assert (await stored(direct, "fw")).keys() == {*SEED, HAM_ID}


async def test_the_most_probable_of_several_answers_on_one_text(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(opensearch.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fw", SPLIT, FIELDS)
        options = dict.fromkeys(("spam", "ham", "weather", "sport"), "x")
        questions = {
            "which": {"type": "choice", "instructions": "Which?", "criteria": options},
            "is": {"type": "noul", "instructions": "Is it?"},
        }
        answers = (await client.ask(questions, SPAM)).body["answers"]
        best = max(answers["is"]["noul"], max(answers["which"]["probabilities"].values()))
        await settled(client, written=1)
        assert (await stored(direct, "fw"))[SPAM_ID]["p"] == best


async def _text_and_label_elsewhere(direct: Node) -> None:
    await direct.index("fw", {"a": {"body": {"text": "alpha", "queue": "spam"}}}, {
        "body": {"properties": {"text": {"type": "text"}, "queue": {"type": "keyword"}}},
    })  # fmt: skip


async def test_dotted_fields_and_a_label_field_of_the_callers(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    history = History(index="fw", positive_label="spam", text_field="body.text", label_field="body.queue")
    async with armed(opensearch.url, history, tiny_model_dir) as (direct, client):
        await _text_and_label_elsewhere(direct)
        await client.decide("fw", SPAM)
        await settled(client, written=1)
        assert (await stored(direct, "fw"))[SPAM_ID]["body"] == {"text": SPAM, "queue": "spam"}
    async with armed(opensearch.url, HISTORY, tiny_model_dir) as (direct, client):
        await _text_and_label_elsewhere(direct)
        await client.decide("fw", SPAM, text_field="body.text", label_field="body.queue")
        await settled(client, written=1)
        own = decide_id(f"body.queue\0{SPAM}")
        assert (await stored(direct, "fw"))[own]["body"] == {"text": SPAM, "queue": "spam"}
