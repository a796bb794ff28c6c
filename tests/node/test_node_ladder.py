"""Every row of the ladder's table (decide.md section 7) on real nodes, with a head that knows some words."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from flywheel_words import FIELDS, HAM, SPAM, SPLIT, armed, settled, stored
from node_harness import Client, Json, ladder, on_node, recording

from sidecar.engine import RunningNode, free_port
from sidecar.settings import History

HISTORY = History(index="fl-ladder", positive_label="spam")
UNKNOWN = "where is my parcel courier"


async def test_a_clear_vote_is_historys(node: RunningNode, tiny_model_dir: Path) -> None:
    documents = ladder({"label": lambda rank: "spam" if rank < 9 else "ham"})
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", documents, FIELDS)
        reply = await client.noul("alpha")
        assert reply.noul() == 0.965858
        assert reply.evidence["q"]["tier"] == "history"
        assert "escalation" not in reply.evidence["q"]
        assert "local_model" not in reply.body["decisions"]
        assert (await client.decide("fl-ladder", "alpha")).body["tier"] == "history"
        await settled(client)
        assert len(await stored(direct, "fl-ladder")) == 10


async def test_a_split_vote_is_the_heads(node: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", SPLIT, FIELDS)
        reply = await client.noul(SPAM)
        assert reply.noul() > 0.8
        told = reply.evidence["q"]
        assert (told["tier"], told["source"], told["model"]) == ("local", "local", "xerj-decide-local-1")
        assert told["escalation"] == {"from_support": 0.666667, "outcome": "answered"}
        assert (told["found"], told["voted"], told["p_raw"]) == (2, 2, 0.666667)
        assert told["hypotheses"] == ["spam", "not spam"]
        decisions = reply.body["decisions"]
        assert (reply.body["model"], decisions["local_model"], decisions["local_answered"]) == (
            "xerj-history-vote-1",
            "xerj-decide-local-1",
            1,
        )
        audit = (await client.decide("fl-ladder", f"{SPAM} please")).body
        assert (audit["tier"], audit["label"], audit["neighbours"]) == ("local", "spam", [])
        assert (audit["escalation"]["outcome"], audit["model"]) == ("answered", "xerj-decide-local-1")
    async with on_node(node.url, HISTORY) as (direct, client):
        await direct.index("fl-ladder", SPLIT, FIELDS)
        unarmed = await client.noul(SPAM)
        assert unarmed.noul() == 0.666667
        assert "escalation" not in unarmed.evidence["q"]
    never = HISTORY.model_copy(update={"escalate_below": 0.0})
    async with armed(node.url, never, tiny_model_dir) as (_, client):
        assert (await client.noul(SPAM)).noul() == 0.666667


async def test_no_history_selected(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(opensearch.url, None, tiny_model_dir) as (_, client):
        reply = await client.choice(SPAM, "spam", "ham")
        assert (reply.body["model"], reply.body["answers"]["q"]["choice"]) == ("xerj-decide-local-1", "spam")
        audit = await client.send("/_decide", {"question": HAM, "positive_label": "spam"})
        assert (audit.body["label"], audit.body["tier"]) == ("not spam", "local")
        await settled(client)
    async with on_node(opensearch.url) as (_, client):
        refused = await client.noul(SPAM)
        assert (refused.status, refused.kind) == (503, "not_configured")
        assert "Retry-After" in refused.headers
        assert (await client.send("/_decide", {"question": SPAM})).status == 422


async def test_a_missing_index(node: RunningNode, tiny_model_dir: Path) -> None:
    history = HISTORY.model_copy(update={"index": "fl-missing", "write_back": False})
    async with armed(node.url, history, tiny_model_dir) as (direct, client):
        await direct.call("DELETE", "/fl-missing", ok=False)
        reply = await client.noul(SPAM)
        assert reply.noul() > 0.8
        assert reply.evidence["q"]["tier"] == "local"
        audit = await client.decide("fl-missing", SPAM)
        assert (audit.body["tier"], audit.body["label"], audit.body["p_raw"]) == ("local", "spam", None)
        await settled(client)
    async with on_node(node.url, history) as (_, client):
        for refused in (await client.noul(SPAM), await client.decide("fl-missing", SPAM)):
            assert (refused.status, refused.kind) == (422, "history_index_error")


SILENT: dict[str, list[Json]] = {
    "empty-index": [],
    "no-neighbour": [{"text": "something else", "label": "spam"}],
    "unlabelled": [{"text": SPAM}],
}


@pytest.mark.parametrize("name", SILENT)
async def test_no_labelled_neighbour(node: RunningNode, tiny_model_dir: Path, name: str) -> None:
    history = HISTORY.model_copy(update={"write_back": False})
    async with armed(node.url, history, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", SILENT[name], FIELDS)
        reply = await client.noul(SPAM)
        assert reply.noul() > 0.8
        assert reply.evidence["q"]["tier"] == "local"
        assert "escalation" not in reply.evidence["q"]
        assert (await client.decide("fl-ladder", SPAM)).body["tier"] == "local"
        score = {"s": {"type": "score", "instructions": "How?", "criteria": ["calm", "furious"]}}
        level = await client.ask(score, "they are enraged livid and shouting")
        assert level.body["answers"]["s"]["score"] > 0.5
        await settled(client)
    async with on_node(node.url, history) as (_, client):
        refused = await client.ask({n: {"type": "noul", "instructions": "?"} for n in ("one", "two")}, SPAM)
        assert (refused.status, refused.kind) == (422, "no_support")
        assert "`one`" in refused.reason
        assert "`two`" in refused.reason
        audit = (await client.decide("fl-ladder", SPAM)).body
        assert (audit["abstain"], audit["tier"], audit["label"]) == (True, None, None)


async def test_votes_that_say_nothing_to_the_question(node: RunningNode, tiny_model_dir: Path) -> None:
    documents = [{"text": SPAM, "label": "other"}]
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", documents, FIELDS)
        noul = await client.noul(SPAM)
        assert (noul.noul() > 0.8, noul.evidence["q"]["tier"]) == (True, "local")
        choice = await client.choice(SPAM, "spam", "ham")
        assert (choice.body["answers"]["q"]["choice"], choice.evidence["q"]["tier"]) == ("spam", "local")
    async with on_node(node.url, HISTORY) as (direct, client):
        await direct.index("fl-ladder", documents, FIELDS)
        assert (await client.noul(SPAM)).kind == "no_support"
        assert (await client.choice(SPAM, "spam", "ham")).kind == "no_support"


async def test_a_split_vote_without_the_positive_label_stays_historys(
    opensearch: RunningNode, tiny_model_dir: Path
) -> None:
    documents = [{"text": SPAM, "label": "a"}, {"text": f"{SPAM} now", "label": "b"}]
    async with armed(opensearch.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", documents, FIELDS)
        audit = (await client.decide("fl-ladder", SPAM)).body
        assert (audit["tier"], audit["label"], audit["positive_known"]) == ("history", "a", False)


async def test_a_node_in_trouble_is_never_hidden_by_the_head(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(f"http://127.0.0.1:{free_port()}", HISTORY, tiny_model_dir) as (_, client):
        for reply in (await client.noul(SPAM), await client.decide("fl-ladder", SPAM)):
            assert (reply.status, reply.kind) == (503, "history_unavailable")
        await settled(client)
    async with recording(opensearch.url) as recorder, armed(recorder.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", SPLIT, FIELDS)

        def lame(answer: Json) -> None:
            for item in answer["responses"]:
                item["_shards"] = {"total": 2, "successful": 1, "skipped": 0, "failed": 0}

        recorder.alter = lame
        assert (await client.noul(SPAM)).kind == "history_unavailable"
        recorder.alter = None
        broken = {key: kind for key, kind in FIELDS.items() if key != "text"}
        await direct.index("fl-ladder", [{"label": "x"}], broken | {"text": {"type": "keyword"}})
        for reply in (await client.noul(SPAM), await client.decide("fl-ladder", SPAM)):
            assert (reply.status, reply.kind) == (422, "history_index_error")
        await settled(client)


async def test_a_request_of_the_wrong_shape_is_never_rescued(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async with armed(opensearch.url, HISTORY, tiny_model_dir) as (_, client):
        assert (await client.ask({}, SPAM)).status == 422
        assert (await client.noul("   ")).status == 422
        assert (await client.decide("fl-ladder", " ")).status == 422
        assert (await client.decide("*", SPAM)).status == 422
        blank = await client.ask({"q": {"type": "noul", "instructions": "Is `a.b` it?"}}, {"a": {"c": SPAM}})
        assert blank.status == 422


async def test_a_head_that_fails(node: RunningNode, tmp_path: Path) -> None:
    async with armed(node.url, HISTORY, tmp_path / "nowhere") as (direct, client):
        await direct.index("fl-ladder", SPLIT, FIELDS)
        reply = await client.noul(SPAM)
        assert reply.noul() == 0.666667
        told = reply.evidence["q"]
        assert (told["tier"], told["escalation"]) == (
            "history",
            {"from_support": 0.666667, "outcome": "unavailable"},
        )
        audit = (await client.decide("fl-ladder", SPAM)).body
        assert (audit["tier"], audit["escalation"]["outcome"]) == ("history", "unavailable")
        for refused in (await client.noul(UNKNOWN), await client.decide("fl-ladder", UNKNOWN)):
            assert (refused.status, refused.kind) == (503, "local_decide_unavailable")
            assert "Retry-After" in refused.headers
            for part in ("nowhere", "model.safetensors", "XERJ_DECIDE_MODEL_DIR"):
                assert part in refused.reason
        await settled(client)


async def test_a_correction_is_never_escalated_over(node: RunningNode, tiny_model_dir: Path) -> None:
    documents = [*SPLIT * 3, {"text": SPAM.upper(), "label": "ham", "human": True}]
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", documents, FIELDS)
        reply = await client.noul(SPAM)
        assert reply.noul() == 0.2
        assert (reply.evidence["q"]["tier"], reply.evidence["q"]["corrected"]) == ("history", True)
        choice = await client.choice(SPAM, "spam", "ham")
        assert choice.body["answers"]["q"]["choice"] == "ham"
        assert (await client.decide("fl-ladder", SPAM)).body["label"] == "ham"
        await settled(client)


CHANGES = ("PUT", "POST", "_bulk", "_update")


@pytest.mark.parametrize("how", CHANGES)
async def test_a_correction_through_the_port_changes_the_next_decision(
    node: RunningNode, tiny_model_dir: Path, how: str
) -> None:
    person = {"text": SPAM, "label": "ham", "human": True}
    async with armed(node.url, HISTORY, tiny_model_dir) as (direct, client):
        await direct.index("fl-ladder", SPLIT, FIELDS)
        assert (await client.decide("fl-ladder", SPAM)).body["label"] == "spam"
        await settled(client, written=1)
        await _correct(client, how, person)
        after = await client.decide("fl-ladder", SPAM)
        assert (after.body["label"], after.body["tier"], after.body["corrected"]) == ("ham", "history", True)
        await settled(client, written=1)


async def _correct(client: Client, how: str, person: Json) -> None:
    base, wait = client.sidecar.es_url + "/fl-ladder", "refresh=wait_for"
    lines = json.dumps({"index": {"_id": "fixed"}}) + "\n" + json.dumps(person) + "\n"
    update = json.dumps({"doc": {"label": "ham", "human": True}})
    calls = {
        "PUT": ("PUT", f"{base}/_doc/fixed?{wait}", json.dumps(person)),
        "POST": ("POST", f"{base}/_doc?{wait}", json.dumps(person)),
        "_bulk": ("POST", f"{base}/_bulk?{wait}", lines),
        "_update": ("POST", f"{base}/_update/0?{wait}", update),
    }
    method, url, data = calls[how]
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, data=data, headers={"Content-Type": "application/json"}) as answer,
    ):
        assert answer.status in (200, 201), await answer.text()


async def test_a_scripted_overload_of_the_node(opensearch: RunningNode, tiny_model_dir: Path) -> None:
    async with recording(opensearch.url) as recorder, armed(recorder.url, HISTORY, tiny_model_dir) as (_, client):

        async def busy(seen: object) -> web.Response | None:
            return web.json_response({"error": {"type": "es_rejected_execution_exception"}, "status": 429}, status=429)

        recorder.before = busy
        reply = await client.noul(SPAM)
        assert reply.status in (429, 503)
        await settled(client)
