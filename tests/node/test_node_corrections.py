"""Corrections, comparisons and scores as a caller sees them, on real nodes: decide.md sections 5 and 7.1."""

from __future__ import annotations

import re
from typing import Any

import pytest
from node_harness import Json, ladder, on_node

from sidecar.engine import RunningNode
from sidecar.settings import History

WRONG: Json = {"text": "refund my order", "label": "no"}
PAIRWISE = {
    "lr": {"type": "noul", "instructions": "Is `left` better than `right` for `query`?"},
    "rl": {"type": "noul", "instructions": "Is `right` better than `left` for `query`?"},
}


def person(label: str, ts: str | None = None, text: str = "refund my order") -> Json:
    return {"text": text, "label": label, "human": True} | ({} if ts is None else {"ts": ts})


async def test_a_correction_among_many_duplicates_of_the_wrong_entry(node: RunningNode) -> None:
    documents = {f"wrong-{n}": WRONG for n in range(40)} | {"right": person("yes", text="  REFUND my\n order ")}
    for weight in (1.5, 2.0):
        history = History(index="nc-many", positive_label="yes", human_weight=weight)
        async with on_node(node.url, history) as (direct, client):
            await direct.index("nc-many", documents)
            reply = await client.noul("refund my order")
            assert reply.noul() == 0.8
            told = reply.evidence["q"]
            assert (told["corrected"], told["corrected_by"], told["voted"]) == (True, "right", 10)
            own = weight / (weight + sum(1 / rank for rank in range(2, 11)))
            assert told["p_raw"] == round(own, 6)
            choice = (await client.choice("refund my order", "yes", "no")).body["answers"]["q"]
            assert (choice["choice"], choice["probabilities"]) == ("yes", {"yes": 0.8, "no": 0.2})
            audit = await client.decide("nc-many", "refund my order")
            assert (audit.body["label"], audit.body["confidence"]) == ("yes", 0.8)
            assert audit.body["corrected_by"] == "right"
            assert audit.ids()[0] == "right"
            assert audit.body["p_raw"] == told["p_raw"]
            other = await client.choice("refund my order", "no", "maybe")  # not a label that this question can answer
            assert other.body["answers"]["q"]["choice"] == "no"
            assert "corrected" not in other.evidence["q"]
    async with on_node(node.url, History(index="nc-many", positive_label="yes", human_weight=1.0)) as (_, client):
        off = await client.noul("refund my order")
        assert "corrected" not in off.evidence["q"]
        assert off.noul() < 0.5


DISAGREEING: dict[str, tuple[dict[str, Json], str]] = {
    "latest": ({"a": person("yes", "2026-01-02"), "b": person("no", "2026-01-01")}, "a"),
    "offset": ({"a": person("yes", "2026-01-01T23:00:00-05:00"), "b": person("no", "2026-01-02T01:00:00Z")}, "a"),
    "missing-is-oldest": ({"a": person("yes", "1970-01-02"), "b": person("no")}, "a"),
    "equal-then-id": ({"a": person("no", "2026-01-01"), "é": person("yes", "2026-01-01")}, "é"),
    "epoch-millis": ({"a": person("yes") | {"ts": 1893456000000}, "b": person("no", "2026-01-01")}, "a"),
}


@pytest.mark.parametrize("name", DISAGREEING)
async def test_corrections_that_disagree(node: RunningNode, name: str) -> None:
    documents, deciding = DISAGREEING[name]
    async with on_node(node.url, History(index="nc-several")) as (direct, client):
        await direct.index("nc-several", documents)
        audit = await client.decide("nc-several", "refund my order")
        assert (audit.body["corrected_by"], audit.body["label"]) == (deciding, "yes")


async def test_more_similar_corrections_than_a_lookup_holds(node: RunningNode) -> None:
    documents = {f"{n:03}": person("no", text=f"refund my order order my refund {n}") for n in range(70)}
    async with on_node(node.url, History(index="nc-cut", positive_label="yes")) as (direct, client):
        await direct.index("nc-cut", documents | {"yes": WRONG | {"label": "yes", "text": "something else"}})
        reply = await client.noul("refund my order")
        assert reply.evidence["q"]["lookup_cut"] is True
        assert "corrected" not in reply.evidence["q"]


async def test_a_pairwise_comparison(node: RunningNode) -> None:
    documents = [
        {"text": "good apple pear", "label": "true"},
        {"text": "good apple", "label": "true"},
        {"text": "apple maybe", "label": "false"},
        {"text": "bad plum", "label": "false"},
        {"text": "bad plum maybe", "label": "false"},
        {"text": "plum pear", "label": "true"},
    ]
    async with on_node(node.url, History(index="nc-pairs", k=3)) as (direct, client):
        await direct.index("nc-pairs", documents)
        state = {"left": "good apple", "right": "bad plum", "query": "fruit", "unused": "bad bad bad"}
        reply = await client.ask(PAIRWISE, state)
        shares = {}
        for side in ("left", "right"):
            shares[side] = (await client.noul(f"{state[side]} fruit")).noul()
        assert shares["left"] > shares["right"]
        forward, reverse = reply.noul("lr"), reply.noul("rl")
        assert forward + reverse == pytest.approx(1.0, abs=1e-6)
        assert forward == pytest.approx(0.5 + (shares["left"] - shares["right"]) / 2, abs=1e-6)
        for name, order in (("lr", ("left", "right")), ("rl", ("right", "left"))):
            told = reply.evidence[name]["comparative"]
            assert list(told) == ["first", "second"]
            assert [told["first"]["share"], told["second"]["share"]] == [shares[side] for side in order]
            assert [told[place]["voted"] for place in told] == [3, 3]
            assert "p_cal" not in reply.evidence[name]
            assert set(reply.evidence[name]["references"]["used"]) == {"left", "right", "query"}
        assert reply.evidence["lr"]["comparative"]["first"]["label"] == "true"
        assert reply.evidence["lr"]["comparative"]["second"]["label"] == "false"
        silent = await client.ask(PAIRWISE, state | {"right": "zebra", "query": ""})
        assert (silent.status, silent.kind) == (422, "no_support")
        full = await client.ask(PAIRWISE, state, x_evidence="full")
        sides = full.evidence["lr"]["comparative"]
        assert [len(sides[place]["neighbours"]) for place in sides] == [3, 3]
        same = await client.ask(PAIRWISE, state | {"left": "apple", "right": "apple"})
        assert (same.noul("lr"), same.noul("rl")) == (0.5, 0.5)


async def test_a_corrected_score(node: RunningNode) -> None:
    documents = {str(n): {"text": "how bad", "label": "mild"} for n in range(12)}
    documents["right"] = {"text": "How bad", "label": "severe", "human": True}
    async with on_node(node.url, History(index="nc-score")) as (direct, client):
        await direct.index("nc-score", documents)
        levels = {"type": "score", "instructions": "How bad?", "criteria": ["mild", "medium", "severe"]}
        reply = await client.ask({"q": levels}, "how bad")
        got = reply.body["answers"]["q"]
        assert got["probabilities"] == {"0": 0.2, "1": 0.0, "2": 0.8}
        assert got["score"] == 1.6
        assert reply.evidence["q"]["corrected_by"] == "right"
        refused = await client.ask({"q": levels | {"criteria": ["good", "bad"]}}, "how bad")
        assert (refused.status, refused.kind) == (422, "illegal_argument")


async def test_the_full_evidence_lists_neighbours_and_never_a_text(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nc-full", k=3, positive_label="ham")) as (direct, client):
        await direct.index("nc-full", ladder())
        reply = await client.noul("alpha", x_evidence="full")
        neighbours: list[Any] = reply.evidence["q"]["neighbours"]
        assert neighbours == [
            {"id": str(rank), "label": "ham", "weight": round(1 / (rank + 1), 6)} for rank in range(3)
        ]
        assert "filler" not in str(reply.body)
        assert "neighbours" not in (await client.noul("alpha")).evidence["q"]


async def test_an_identical_request_has_an_identical_answer(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nc-twice")) as (direct, client):
        await direct.index("nc-twice", ladder({"label": lambda rank: "true" if rank % 3 else "false"}, size=30))
        questions = {
            "n": {"type": "noul", "instructions": "Is it?"},
            "c": {"type": "choice", "instructions": "Which?", "criteria": {"false": "x", "true": "y"}},
        }
        for path, body in (
            ("/v1/systemone", {"state": "alpha filler", "questions": questions, "x_evidence": "full"}),
            ("/_decide", {"index": "nc-twice", "question": "alpha filler"}),
        ):
            answers = {re.sub(rb'"took_ms":\d+', b"", await client.raw(path, body)) for _ in range(5)}
            assert len(answers) == 1
