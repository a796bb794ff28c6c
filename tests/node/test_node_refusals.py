"""What goes wrong on the node's side, and what the caller is told: decide.md section 10 on real nodes."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import Counter
from typing import Any

import pytest
from node_harness import HISTORY_FIELDS, Client, Json, Reply, ladder, on_node, recording, serving

from sidecar.engine import RunningNode, running_node
from sidecar.settings import History, Limits, Upstream

SECRET = "confidential-words-of-a-case"


async def both(client: Client, index: str, text: str = SECRET) -> tuple[Reply, Reply]:
    """Both surfaces on one index; no error may quote a text."""
    replies = await client.noul(text), await client.decide(index, text)
    for reply in replies:
        assert reply.status == 200 or SECRET not in str(reply.body)
        assert "x-typesafe-request-id" in reply.headers
    return replies


def without(name: str) -> Json:
    return {field: kind for field, kind in HISTORY_FIELDS.items() if field != name}


TEXT = HISTORY_FIELDS["text"]
MAPPINGS: dict[str, tuple[Json, Json, tuple[str, ...]]] = {
    # mapping, further mapping members, what the message says
    "text-keyword": (HISTORY_FIELDS | {"text": {"type": "keyword"}}, {}, ("[text]", "keyword, not text")),
    "text-number": (
        HISTORY_FIELDS | {"text": {"type": "integer", "ignore_malformed": True}},
        {},
        ("[text]", "not text"),
    ),
    "text-missing": (without("text"), {"dynamic": False}, ("[text]", "not in the mapping")),
    "text-not-indexed": (HISTORY_FIELDS | {"text": TEXT | {"index": False}}, {}, ("[text]", "index: false")),
    "label-missing": (without("label"), {"dynamic": False}, ("[label]", "not in the mapping")),
}


@pytest.mark.parametrize("name", MAPPINGS)
async def test_a_mapping_that_can_never_vote(node: RunningNode, name: str) -> None:
    properties, mappings, said = MAPPINGS[name]
    async with on_node(node.url, History(index="nr-mapping")) as (direct, client):
        await direct.index("nr-mapping", [{"text": SECRET + " more", "label": "x"}], properties, mappings=mappings)
        for reply in await both(client, "nr-mapping"):
            assert (reply.status, reply.kind) == (422, "history_index_error")
            assert reply.body["detail"]["error_type"] == "history_index_error"
            for part in ("[nr-mapping]", *said):
                assert part in reply.reason
        await direct.index("nr-mapping", [], properties, mappings=mappings)
        if name.endswith("missing"):  # an empty index may still become a history
            async with serving(node.url, History(index="nr-mapping")) as fresh:
                noul, audit = await both(fresh, "nr-mapping")
                assert (noul.kind, audit.status) == ("no_support", 200)


async def test_fields_below_a_disabled_object(node: RunningNode) -> None:
    properties = HISTORY_FIELDS | {"body": {"type": "object", "enabled": False}}
    for history, field in (
        (History(index="nr-disabled", text_field="body.text"), "[body.text]"),
        (History(index="nr-disabled", label_field="body.label"), "[body.label]"),
    ):
        async with on_node(node.url, history) as (direct, client):
            document = {"text": SECRET, "label": "x", "body": {"text": SECRET, "label": "x"}}
            await direct.index("nr-disabled", [document], properties)
            for reply in await both(client, "nr-disabled"):
                assert (reply.status, reply.kind) == (422, "history_index_error")
                assert field in reply.reason
                assert "enabled: false" in reply.reason


async def test_a_missing_and_a_closed_index(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nr-closed")) as (direct, client):
        await direct.call("DELETE", "/nr-closed", ok=False)
        for reply in await both(client, "nr-closed"):
            assert (reply.status, reply.kind) == (422, "history_index_error")
            assert "[nr-closed] does not exist" in reply.reason
        await direct.index("nr-closed", ladder())
        await direct.call("POST", "/nr-closed/_close")
        for reply in await both(client, "nr-closed"):
            assert (reply.status, reply.kind) == (422, "history_index_error")
            assert "[nr-closed] is closed" in reply.reason
        await direct.call("DELETE", "/nr-closed")


async def test_a_partial_result_is_not_a_vote(node: RunningNode) -> None:
    histories = {"all": History(index="nr-part-*"), "alias": History(index="nr-parts")}
    async with on_node(node.url, History(index="nr-part-red"), histories=histories) as (direct, client):
        await direct.index("nr-part-green", [{"text": SECRET, "label": "true"}])
        settings = {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "index.routing.allocation.require._name": "nosuchnode",
        }
        red = {"settings": settings, "mappings": {"properties": HISTORY_FIELDS}}
        await direct.call("DELETE", "/nr-part-red", ok=False)
        await direct.call("PUT", "/nr-part-red?wait_for_active_shards=0&timeout=1s", red)
        actions = [{"add": {"index": f"nr-part-{name}", "alias": "nr-parts"}} for name in ("green", "red")]
        await direct.call("POST", "/_aliases", {"actions": actions})
        replies = [*await both(client, "nr-part-red"), await client.decide("nr-parts", SECRET)]
        replies += [await client.noul(SECRET, model=name) for name in histories]
        for reply in replies:
            assert (reply.status, reply.kind) == (503, "history_unavailable")
            assert "answers" not in reply.body
            assert int(reply.headers["Retry-After"]) > 0
            assert SECRET not in str(reply.body)
        assert (await client.decide("nr-part-green", SECRET)).body["label"] == "true"
        await direct.call("DELETE", "/nr-part-red")


@pytest.mark.parametrize("change", ["timed_out", "failed", "fewer", "no-report"])
async def test_every_sign_of_a_partial_result_counts(opensearch: RunningNode, change: str) -> None:
    def alter(answer: Json) -> None:
        one: dict[str, Any] = answer["responses"][0]
        match change:
            case "timed_out":
                one["timed_out"] = True
            case "failed":
                one["_shards"]["failed"] = 1
            case "fewer":
                one["_shards"]["successful"] -= 1
            case _:
                del one["_shards"]

    async with recording(opensearch.url) as recorder, on_node(opensearch.url) as (direct, _):
        await direct.index("nr-signs", ladder({"label": lambda rank: "true"}))
        async with serving(recorder.url, History(index="nr-signs")) as client:
            recorder.alter = alter
            for reply in await both(client, "nr-signs", "alpha"):
                assert reply.status == (504 if change == "timed_out" else 503)
                assert (reply.kind, "Retry-After" in reply.headers) == ("history_unavailable", True)


async def test_an_index_in_the_flood_stage_still_votes(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nr-flood")) as (direct, client):
        await direct.index("nr-flood", ladder({"label": lambda rank: "true"}))
        await direct.call("PUT", "/nr-flood/_settings", {"index.blocks.read_only_allow_delete": True})
        assert (await client.noul("alpha")).noul() == 1.0
        await direct.call("PUT", "/nr-flood/_settings", {"index.blocks.read_only_allow_delete": None})


async def test_an_index_closed_for_reading_is_no_question_of_credentials(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nr-block")) as (direct, client):
        await direct.index("nr-block", ladder())
        await direct.call("PUT", "/nr-block/_settings", {"index.blocks.read": True})
        for reply in await both(client, "nr-block"):
            assert (reply.status, reply.kind) == (422, "history_index_error")
            assert "[nr-block]" in reply.reason
        await direct.call("DELETE", "/nr-block")


@pytest.mark.parametrize("name", ["opensearch3", "elasticsearch7", "elasticsearch8", "elasticsearch9"])
async def test_a_node_that_refuses_hangs_and_dies(name: str) -> None:
    config = {"thread_pool.search.size": 1, "thread_pool.search.queue_size": 1}
    with running_node(name, config=config) as node:
        history = History(index="nr-own")
        async with on_node(node.url, history, limits=Limits(deadline_s=60)) as (direct, client):
            await direct.index("nr-own", ladder({"label": lambda rank: "true"}, size=300))
            words = " ".join(f"filler{number}" for number in range(500))
            replies = await asyncio.gather(*(client.noul(f"alpha filler {words} {n}") for n in range(60)))
            statuses = Counter(reply.status for reply in replies)
            assert set(statuses) <= {200, 429, 503}
            assert statuses[429] + statuses[503] > 0
            for reply in replies:
                if reply.status != 200:
                    assert int(reply.headers["Retry-After"]) > 0
                    assert reply.kind in ("too_many_requests", "history_unavailable")
            assert await client.noul_once_free("alpha") == 1.0
        async with serving(node.url, history, limits=Limits(deadline_s=0.5)) as client:
            await asyncio.to_thread(node.pause)
            for reply in await both(client, "nr-own"):
                assert (reply.status, reply.kind) == (504, "history_unavailable")
                assert "limits.deadline_s" in reply.reason
                assert int(reply.headers["Retry-After"]) > 0
            await asyncio.to_thread(node.resume)
        async with serving(node.url, history) as client:
            assert await client.noul_once_free("alpha") == 1.0
            await asyncio.to_thread(node.kill)
            for reply in await both(client, "nr-own"):
                assert (reply.status, reply.kind) == (503, "history_unavailable")
                assert int(reply.headers["Retry-After"]) > 0
                assert "unreachable" in reply.reason


async def test_own_overload(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nr-over"), limits=Limits(concurrent_requests=1)) as (direct, client):
        await direct.index("nr-over", ladder({"label": lambda rank: "true"}))
        replies = await asyncio.gather(*(client.noul("alpha") for _ in range(20)))
        refused = [reply for reply in replies if reply.status != 200]
        assert refused
        for reply in refused:
            assert (reply.status, reply.kind) == (429, "too_many_requests")
            assert "limits.concurrent_requests" in reply.reason
            assert int(reply.headers["Retry-After"]) > 0
        assert (await client.noul("alpha")).noul() == 1.0


def _pbkdf2(password: str) -> str:
    salt = bytes(range(32))
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, 32)
    return f"{base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def _basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


async def test_identities_on_a_secured_node() -> None:
    passwords = {"boss": "of-boss", "ada": "of-ada", "own": "of-own"}
    files = {
        "users": "".join(f"{user}:{{PBKDF2}}10000${_pbkdf2(word)}\n" for user, word in passwords.items()),
        "users_roles": "superuser:boss\nreader:ada\nside:own\n",
        "roles.yml": "reader: {indices: [{names: ['hers'], privileges: [read, view_index_metadata]}]}\n"
        "side: {cluster: [monitor], indices: [{names: ['ours'], privileges: [read, view_index_metadata]}]}\n",
    }
    with running_node("elasticsearch8", config={"xpack.security.enabled": True}, files=files) as node:
        async with on_node(node.url, headers=_basic("boss", "of-boss")) as (direct, _):
            for index in ("hers", "ours"):
                await direct.index(index, [{"text": "alpha", "label": "true"}])
        async with recording(node.url) as recorder:
            upstream = Upstream(url=recorder.url, username="own", password="of-own")
            async with serving(node.url, History(index="ours"), upstream=upstream) as client:
                recorder.seen.clear()
                voted = await client.noul("alpha", headers={"Authorization": "Bearer key-of-system-one"})
                assert voted.noul() == 1.0
                own = _basic("own", "of-own")["Authorization"]
                assert {one.authorization for one in recorder.seen} == {own}
                ada = _basic("ada", "of-ada")
                recorder.seen.clear()
                assert (await client.decide("hers", "alpha", headers=ada)).body["label"] == "true"
                assert {one.authorization for one in recorder.seen} == {ada["Authorization"]}
                foreign = await client.decide("ours", "alpha", headers=ada)
                assert (foreign.status, foreign.kind) == (403, "security_exception")
                wrong = await client.decide("hers", "alpha", headers=_basic("ada", "wrong"))
                assert (wrong.status, wrong.kind) == (401, "security_exception")
                assert "WWW-Authenticate" in wrong.headers
                nobody = await client.decide("ours", "alpha")
                assert (nobody.status, "WWW-Authenticate" in nobody.headers) == (401, True)
                # Not in a cache of somebody else's making either: the label is counted as who asks.
                known = await client.decide("hers", "alpha", positive_label="x", headers=ada)
                assert known.body["positive_known"] is False
        bad = Upstream(url=node.url, username="own", password="stale")
        async with serving(node.url, History(index="ours"), upstream=bad) as client:
            refused = await client.noul("alpha")
            assert (refused.status, refused.kind) == (401, "security_exception")
        narrow = Upstream(url=node.url, username="ada", password="of-ada")
        async with serving(node.url, History(index="ours"), upstream=narrow) as client:
            assert (await client.noul("alpha")).status == 403
