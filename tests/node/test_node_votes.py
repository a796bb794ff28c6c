"""The vote of decide.md section 5 on real nodes: worked numbers, ties, labels in every form, scopes, histories."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from node_harness import HISTORY_FIELDS, Json, ladder, on_node, recording, serving

from sidecar.engine import RunningNode
from sidecar.settings import History, QuestionScope

RANKED = sum(1 / rank for rank in range(1, 11))
TOP_RANKS = [round(sum(1 / rank for rank in range(1, top + 1)) / RANKED, 6) for top in range(1, 11)]
"""What the top m ranks of one label hold at k = 10."""


def spam_up_to(top: int) -> Callable[[int], str]:
    return lambda rank: "spam" if rank < top else "ham"


async def test_worked_numbers(node: RunningNode) -> None:
    fields = {f"m{top}": spam_up_to(top) for top in range(1, 11)}
    scopes = {name: QuestionScope(label_field=name) for name in fields}
    history = History(index="nv-worked", positive_label="spam", questions=scopes)
    async with on_node(node.url, history) as (direct, client):
        await direct.index("nv-worked", ladder(fields))
        asked = {name: {"type": "noul", "instructions": "Spam?"} for name in fields}
        reply = await client.ask(asked, "alpha")
        assert [reply.noul(name) for name in fields] == TOP_RANKS
        assert reply.evidence["m10"]["support"] == 1.0
        audit = await client.decide("nv-worked", "alpha", label_field="m1")
        assert audit.ids() == [str(rank) for rank in range(10)]
        scores = [neighbour["_score"] for neighbour in audit.body["neighbours"]]
        assert all(one > two for one, two in pairwise(scores))
        weights = [neighbour["weight"] for neighbour in audit.body["neighbours"]]
        assert weights == [round(1 / rank, 6) for rank in range(1, 11)]
        assert (audit.body["label"], audit.body["confidence"], audit.body["p_raw"]) == ("ham", 0.658583, 0.341417)


async def test_a_choice_spreads_what_other_labels_hold(node: RunningNode) -> None:
    labels = ["a", "b", "other", "b", "other", "a", "other", "other", "other", "other"]
    async with on_node(node.url, History(index="nv-choice")) as (direct, client):
        await direct.index("nv-choice", ladder({"label": lambda rank: labels[rank]}))
        reply = await client.choice("alpha", "a", "b", "none")
        got = reply.body["answers"]["q"]
        total = sum(1 / rank for rank in range(1, 11))
        supports = {"a": (1 + 1 / 6) / total, "b": (1 / 2 + 1 / 4) / total, "none": 0.0}
        spread = (1 - sum(supports.values())) / 3
        assert got["choice"] == "a"
        assert got["probabilities"] == pytest.approx({o: s + spread for o, s in supports.items()}, abs=2e-6)
        assert sum(round(p * 1e6) for p in got["probabilities"].values()) == 1_000_000
        assert reply.evidence["q"]["support"] == pytest.approx(supports["a"], abs=1e-6)
        silent = await client.choice("alpha", "never", "none")
        assert (silent.status, silent.kind) == (422, "no_support")
        assert '"other"' in silent.reason


async def test_a_score_by_text_and_by_index(node: RunningNode) -> None:
    fields: dict[str, Callable[[int], Any]] = {
        "word": lambda rank: "low" if rank == 0 else "high",
        "number": lambda rank: 0 if rank == 0 else 2,
        "mixed": lambda rank: "0" if rank == 0 else "many",
        "double": lambda rank: 0.0 if rank == 0 else 2.0,
        "unsteady": lambda rank: 7 if rank == 11 else rank % 2,
    }
    properties = HISTORY_FIELDS | {
        "number": {"type": "integer"},
        "double": {"type": "double"},
        "unsteady": {"type": "integer"},
    }
    scopes = {name: QuestionScope(label_field=name) for name in fields}
    async with on_node(node.url, History(index="nv-score", questions=scopes)) as (direct, client):
        await direct.index("nv-score", ladder(fields, size=12), properties)
        levels = {"type": "score", "instructions": "How much?", "criteria": ["low", "middle", "high"]}
        reply = await client.ask(dict.fromkeys(("word", "number", "double"), levels), "alpha")
        assert reply.status == 200, reply.body
        for name in ("word", "number", "double"):
            got = reply.body["answers"][name]
            assert got["probabilities"] == {"0": 0.341417, "1": 0.0, "2": 0.658583}
            assert got["score"] == pytest.approx(1.317166, abs=1e-6)
        for name in ("mixed", "unsteady"):
            refused = await client.ask({name: levels}, "alpha")
            assert (refused.status, refused.kind) == (422, "illegal_argument")
            assert "/_decide" in refused.reason


async def test_equal_scores_are_ordered(node: RunningNode) -> None:
    same = {"text": "twin words", "label": "a"}
    async with on_node(node.url) as (direct, client):
        await direct.index("nv-ties-b", {"d": same, "B": same, "é": same, "c": same | {"human": True}, "both": same})
        await direct.index("nv-ties-a", {"both": same, "Z": same | {"human": True}})
        actions = [{"add": {"index": f"nv-ties-{part}", "alias": "nv-ties"}} for part in "ab"]
        await direct.call("POST", "/_aliases", {"actions": actions})
        reply = await client.decide("nv-ties", "twin words", k=7)
        assert reply.ids() == ["Z", "c", "B", "both", "both", "d", "é"]
        indices = [n["_index"] for n in reply.body["neighbours"] if n["_id"] == "both"]
        assert indices == ["nv-ties-a", "nv-ties-b"]


async def test_a_tie_at_the_kth_place_is_followed_up(node: RunningNode) -> None:
    async with recording(node.url) as recorder, on_node(node.url) as (direct, _), serving(recorder.url) as client:
        tied = {f"{number:03}": {"text": "twin words", "label": "a"} for number in reversed(range(40))}
        await direct.index("nv-kth", {"top": {"text": "twin words words", "label": "b"}} | tied)
        reply = await client.decide("nv-kth", "words twin words", k=4)
        assert reply.ids() == ["top", "000", "001", "002"]
        assert "ties_cut" not in reply.body
        assert len(recorder.searches) == 2
        assert recorder.searches[1].items == 1


async def test_more_ties_than_a_follow_up_holds(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nv-many")) as (direct, client):
        await direct.index("nv-many", [{"text": "twin words", "label": "true"}] * 1_005)
        audit = await client.decide("nv-many", "twin words")
        assert audit.body["ties_cut"] is True
        reply = await client.noul("twin words")
        assert reply.noul() == 1.0
        assert reply.evidence["q"]["ties_cut"] is True


async def test_hits_without_a_usable_label_use_up_no_rank(node: RunningNode) -> None:
    unusable: list[Json] = [{}, {"label": None}, {"label": " "}, {"label": ["a", "b"]}, {"label": []}, {"label": ""}]
    documents = [{"text": "alpha"} | one for one in unusable]
    documents += [{"text": "alpha beta gamma", "label": "spam"}, {"text": "alpha beta gamma delta", "label": "ham"}]
    async with on_node(node.url, History(index="nv-unusable", positive_label="spam")) as (direct, client):
        await direct.index("nv-unusable", documents)
        reply = await client.noul("alpha")
        assert reply.noul() == 0.666667
        told = reply.evidence["q"]
        assert (told["found"], told["voted"], told["unusable"]) == (5, 2, 3)  # absent, null and [] are not even hits
        audit = await client.decide("nv-unusable", "alpha")
        assert [n["weight"] for n in audit.body["neighbours"]] == [1.0, 0.5]
        await direct.index("nv-unusable", [*documents[:6], {"text": "alpha", "label": "\r"}])
        silent = await client.noul("alpha")
        assert silent.kind == "no_support"
        assert "found 4, voted 0, unusable 4" in silent.reason
        assert "\\r" in silent.reason
        assert "`q`" in silent.reason
        assert "[nv-unusable]" in silent.reason


async def test_twenty_unusable_hits_are_walked_past(node: RunningNode) -> None:
    blocked = [{"text": "alpha", "label": ["a", "b"]}] * 25
    async with on_node(node.url, History(index="nv-blocked")) as (direct, client):
        await direct.index("nv-blocked", [*blocked, {"text": "alpha and more words", "label": "true"}])
        reply = await client.noul("alpha")
        assert reply.noul() == 1.0
        assert (reply.evidence["q"]["found"], reply.evidence["q"]["unusable"]) == (26, 25)


KEYWORD = {"type": "keyword"}
LONG = "long " * 80 + "label"
# mapping of the label field, the documents' values, the label that all of them are
LABELS: dict[str, tuple[Json | None, list[Any], str]] = {
    "boolean": ({"type": "boolean"}, [True, True], "true"),
    "boolean-dynamic": (None, [False, False], "false"),
    "integers": ({"type": "double"}, [1, 1.0, 1e0], "1"),
    "integers-long": ({"type": "long"}, [7, 7], "7"),
    "numbers-as-keywords": (KEYWORD, [1, 1.0, "1"], "1"),
    "list-of-one": (KEYWORD, [["spam"], "spam"], "spam"),
    "dynamic": (None, ["spam", "spam"], "spam"),
    "long-ignored": ({"type": "keyword", "ignore_above": 20}, [LONG, LONG], LONG),
    "long-dynamic": (None, [LONG, LONG], LONG),
    "text": ({"type": "text"}, ["Spam, or so", "Spam, or so"], "Spam, or so"),
}


@pytest.mark.parametrize("name", LABELS)
async def test_labels(node: RunningNode, name: str) -> None:
    mapping, values, label = LABELS[name]
    properties = {name: kind for name, kind in HISTORY_FIELDS.items() if name != "label"}
    if mapping is not None:
        properties["label"] = mapping
    other = False if isinstance(values[0], bool) and values[0] else 0 if isinstance(values[0], int | float) else "other"
    other = True if values[0] is False else other
    documents = [{"text": "alpha", "label": value} for value in values]
    # Far from the question: the label is known there although no neighbour carries it.
    documents += [{"text": "omega", "label": other}]
    async with on_node(node.url, History(index="nv-labels", positive_label=label)) as (direct, client):
        await direct.index("nv-labels", documents, properties)
        reply = await client.noul("alpha")
        if name == "long-ignored" and node.engine == "opensearch":
            # It names no ignored field in `_ignored`, so that such a label cannot be told from none.
            assert reply.kind == "no_support"
            return
        assert reply.noul() == 1.0
        assert reply.evidence["q"]["label"] == label
        assert reply.evidence["q"]["voted"] == len(values)
        far = await client.noul("omega")
        assert far.noul() == 0.0


@pytest.mark.parametrize(
    "place",
    [
        {"meta": {"label": "spam"}},
        {"meta.label": "spam"},
        {"meta": {"label": ["spam"]}},
    ],
    ids=["nested", "literal", "nested-list"],
)
async def test_dotted_fields(node: RunningNode, place: Json) -> None:
    history = History(index="nv-dotted", label_field="meta.label", text_field="body.text", positive_label="spam")
    properties = {
        "meta": {"properties": {"label": KEYWORD}},
        "body": {"properties": {"text": {"type": "text"}}},
    }
    async with on_node(node.url, history) as (direct, client):
        await direct.index(
            "nv-dotted", [place | {"body": {"text": "alpha"}}, place | {"body.text": "alpha"}], properties
        )
        reply = await client.noul("alpha")
        assert reply.noul() == 1.0
        assert reply.evidence["q"]["voted"] == 2
        audit = await client.decide("nv-dotted", "alpha", label_field="meta.label", text_field="body.text")
        assert [n["text"] for n in audit.body["neighbours"]] == ["alpha", "alpha"]


@pytest.mark.parametrize("kind", ["alias", "disabled", "disabled-text-label", "synthetic"])
async def test_labels_that_the_source_cannot_hold(node: RunningNode, kind: str) -> None:
    """A person's "spam" at rank 1 and a "ham" at rank 2; the weights show that `human` was read as well."""
    properties, mappings, settings = dict(HISTORY_FIELDS), {}, {}
    label = "label"
    if kind == "alias":
        properties |= {"kept": KEYWORD, "label": {"type": "alias", "path": "kept"}}
        label = "kept"
    elif kind == "synthetic":
        if node.name == "elasticsearch8":
            mappings = {"_source": {"mode": "synthetic"}}
        elif node.name == "elasticsearch9":
            settings = {"index.mapping.source.mode": "synthetic"}
        else:
            pytest.skip(f"{node.name} has no synthetic source")
        properties["text"] = {"type": "text", "store": True}
    else:
        mappings = {"_source": {"enabled": False}}
        if kind == "disabled-text-label":
            properties["label"] = {"type": "text", "fields": {"keyword": KEYWORD}}
    documents = [
        {"text": "alpha", label: "spam", "human": True, "ts": "2026-01-01T00:00:00Z"},
        {"text": "alpha beta gamma", label: "ham"},
        {"text": "omega", label: "ham"},
    ]
    async with on_node(node.url, History(index="nv-unkept", positive_label="spam")) as (direct, client):
        await direct.index("nv-unkept", documents, properties, mappings=mappings, settings=settings)
        reply = await client.choice("alpha", "spam", "ham")
        assert reply.status == 200, reply.body
        assert reply.evidence["q"]["support"] == 0.8
        assert reply.body["answers"]["q"]["choice"] == "spam"
        audit = await client.decide("nv-unkept", "alpha")
        assert [(n["label"], n["human"], n["weight"]) for n in audit.body["neighbours"]] == [
            ("spam", True, 2.0),
            ("ham", False, 0.5),
        ]
        unknown = await client.decide("nv-unkept", "alpha", positive_label="nobody")
        assert unknown.body["positive_known"] is False
        other = await client.decide("nv-unkept", "omega")
        assert (other.body["p_raw"], other.body.get("positive_known")) == (0.0, None)


@pytest.mark.parametrize(("weight", "label"), [(1.0, "plain"), (2.0, "person")])
async def test_human_weight(node: RunningNode, weight: float, label: str) -> None:
    """One ordinary document ahead of two of a person's."""
    documents: list[Json] = [
        {"text": "alpha", "label": "plain"},
        {"text": "alpha one", "label": "person", "human": True},
        {"text": "alpha one two", "label": "person", "human": True},
    ]
    async with on_node(node.url, History(index="nv-human", human_weight=weight)) as (direct, client):
        await direct.index("nv-human", documents)
        assert (await client.decide("nv-human", "alpha")).body["label"] == label
        assert (await client.choice("alpha", "plain", "person")).body["answers"]["q"]["choice"] == label


@pytest.mark.parametrize(
    ("mapping", "value", "counts"),
    [
        ({"type": "boolean"}, True, True),
        ({"type": "boolean"}, "true", False),
        ({"type": "boolean"}, False, False),
        ({"type": "text"}, "true", False),
        ({"type": "text"}, True, True),
        ({"type": "keyword"}, "true", False),
        ({"type": "integer"}, 1, False),
        ({"type": "date"}, "2026-01-01", False),
    ],
    ids=lambda value: str(value),
)
async def test_human_is_exactly_json_true(node: RunningNode, mapping: Json, value: object, counts: bool) -> None:
    documents = [{"text": "alpha", "label": "true", "human": value}, {"text": "alpha beta", "label": "x"}]
    async with on_node(node.url, History(index="nv-exactly")) as (direct, client):
        await direct.index("nv-exactly", documents, HISTORY_FIELDS | {"human": mapping})
        audit = await client.decide("nv-exactly", "alpha")
        assert audit.body["neighbours"][0]["human"] is counts
        assert audit.body.get("corrected", False) is counts


async def test_cached_negatives_vote_only_where_they_belong(node: RunningNode) -> None:
    documents: list[Json] = [
        {"text": "alpha", "label": "not spam", "source": "local"},
        {"text": "alpha beta", "label": "not a bug"},
        {"text": "alpha beta gamma", "label": "spam", "source": "local"},
    ]
    scopes = {"bug": QuestionScope(positive_label="not a bug")}
    async with on_node(node.url, History(index="nv-not", positive_label="spam", questions=scopes)) as (direct, client):
        await direct.index("nv-not", documents)
        assert (await client.noul("alpha")).evidence["q"]["voted"] == 3
        spam = await client.choice("alpha", "spam", "not a bug")
        assert (spam.evidence["q"]["voted"], spam.evidence["q"]["unusable"]) == (2, 1)
        assert spam.body["answers"]["q"]["choice"] == "not a bug"
        own = await client.choice("alpha", "not spam", "spam")
        assert own.body["answers"]["q"]["choice"] == "not spam"
        assert own.evidence["q"]["voted"] == 3
        other = await client.ask({"bug": {"type": "noul", "instructions": "Bug?"}}, "alpha")
        assert (other.noul("bug"), other.evidence["bug"]["voted"]) == (0.666667, 2)
        audit = await client.decide("nv-not", "alpha", positive_label="bug")
        assert (audit.body["voted"], audit.body["unusable"]) == (2, 1)
        assert (await client.decide("nv-not", "alpha")).body["neighbours"][0]["source"] == "local"


async def test_question_scopes(node: RunningNode) -> None:
    documents: list[Json] = [
        {"text": "alpha", "label": "spam", "queue": "billing", "lang": "en"},
        {"text": "alpha beta", "label": "ham", "queue": "sales", "lang": "fr"},
    ]
    scopes = {
        "queue": QuestionScope(label_field="queue", positive_label="billing"),
        "french": QuestionScope(filter={"term": {"lang": "fr"}}),
        "nothing": QuestionScope(filter={"term": {"lang": "xx"}}),
    }
    properties = HISTORY_FIELDS | {"queue": KEYWORD, "lang": KEYWORD}
    async with on_node(node.url, History(index="nv-scopes", positive_label="ham", questions=scopes)) as (
        direct,
        client,
    ):
        await direct.index("nv-scopes", documents, properties)
        noul = {"type": "noul", "instructions": "Is it?"}
        reply = await client.ask({"queue": noul, "french": noul, "plain": noul}, "alpha")
        assert [reply.noul(name) for name in ("queue", "french", "plain")] == [0.666667, 1.0, 0.333333]
        silent = await client.ask({"nothing": noul, "plain": noul}, "alpha")
        assert (silent.status, silent.kind) == (422, "no_support")
        assert "`nothing`" in silent.reason
        assert "`plain`" not in silent.reason
        assert "answers" not in silent.body


async def test_a_broken_filter_is_named(node: RunningNode) -> None:
    scopes = {"q": QuestionScope(filter={"nonsense": {}})}
    async with on_node(node.url, History(index="nv-filter", questions=scopes)) as (direct, client):
        await direct.index("nv-filter", ladder())
        reply = await client.noul("alpha")
        assert (reply.status, reply.kind) == (422, "history_index_error")
        assert "filter" in reply.reason


async def test_histories_are_selected_by_path_model_and_default(node: RunningNode) -> None:
    histories = {name: History(index=f"nv-of-{name}", positive_label=name) for name in ("one", "two")}
    histories["all"] = History(index="nv-of-*", positive_label="two")
    histories["list"] = History(index="nv-of-one,nv-of-two", positive_label="two")
    histories["alias"] = History(index="nv-alias", positive_label="two")
    histories["empty-pattern"] = History(index="nv-nobody-*")
    async with on_node(node.url, History(index="nv-of-two"), histories=histories) as (direct, client):
        await direct.index("nv-of-one", [{"text": "alpha", "label": "one"}, {"text": "beta", "label": "true"}])
        await direct.index("nv-of-two", [{"text": "alpha beta", "label": "two"}, {"text": "beta", "label": "true"}])
        actions = [{"add": {"index": "nv-of-two", "alias": "nv-alias"}}]
        await direct.call("POST", "/_aliases", {"actions": actions})
        expected = {"one": ("nv-of-one", 1.0), "two": ("nv-of-two", 1.0), "alias": ("nv-alias", 1.0)}
        expected |= {name: (histories[name].index, 0.333333) for name in ("all", "list")}
        for name, (index, noul) in expected.items():
            by_path = await client.noul("alpha", path=f"/histories/{name}/v1/systemone")
            by_model = await client.noul("alpha", model=name)
            for reply in (by_path, by_model):
                assert (reply.noul(), reply.body["decisions"]["index"]) == (noul, index), name
        default = await client.noul("alpha", model="jev-latest")
        assert (default.noul(), default.body["decisions"]["index"]) == (0.0, "nv-of-two")
        assert default.body["model"] == "xerj-history-vote-1"
        assert default.body["decisions"]["requested_model"] == "jev-latest"
        wins = await client.noul("alpha", path="/histories/one/v1/systemone", model="two")
        assert wins.body["decisions"]["index"] == "nv-of-one"
        assert (await client.noul("alpha", path="/histories/none/v1/systemone")).status == 404
        assert (await client.noul("alpha", model="empty-pattern")).kind == "no_support"
        for pattern in ("nv-of-*", "nv-of-one,nv-of-two", "..", "_all"):
            assert (await client.decide(pattern, "alpha")).status == 422


async def test_an_unknown_positive_label(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nv-positive", positive_label="spamm")) as (direct, client):
        await direct.index("nv-positive", ladder({"label": spam_up_to(4)}))
        refused = await client.noul("alpha")
        assert (refused.status, refused.kind) == (422, "no_support")
        for part in ("spamm", "positive_label", '"spam"', '"ham"'):
            assert part in refused.reason
        audit = await client.decide("nv-positive", "alpha")
        assert (audit.status, audit.body["p_raw"], audit.body["positive_known"]) == (200, 0.0, False)
        assert (audit.body["label"], audit.body["confidence"], audit.body["abstain"]) == ("spam", 0.711286, False)
        # Absence is never cached: the next document may bring the label.
        await direct.call("PUT", "/nv-positive/_doc/new?refresh=true", {"text": "omega", "label": "spamm"})
        assert (await client.noul("alpha")).noul() == 0.0
        assert "positive_known" not in (await client.decide("nv-positive", "alpha")).body


@pytest.mark.parametrize(
    ("documents", "text"),
    [([], "alpha"), ([{"text": "omega", "label": "x"}], "alpha"), ([{"text": "alpha"}], "alpha")],
    ids=["empty", "nothing-near", "unlabelled"],
)
async def test_no_labelled_neighbour(node: RunningNode, documents: list[Json], text: str) -> None:
    async with on_node(node.url, History(index="nv-silent")) as (direct, client):
        await direct.index("nv-silent", documents)
        asked = {name: {"type": "noul", "instructions": "?"} for name in ("one", "two")}
        refused = await client.ask(asked, text)
        assert (refused.status, refused.kind) == (422, "no_support")
        assert "`one`, `two`" in refused.reason
        assert "no labelled neighbour" in refused.reason
        audit = (await client.decide("nv-silent", text)).body
        assert "no labelled neighbour" in audit.pop("reason")
        assert audit.pop("took_ms") >= 0
        assert audit == {
            "index": "nv-silent",
            "k": 10,
            "positive_label": "true",
            "label": None,
            "confidence": 0.0,
            "abstain": True,
            "tier": None,
            "source": None,
            "neighbours": [],
            "found": 0,
            "voted": 0,
            "unusable": 0,
            "p_raw": None,
            "calibration": {"configured": "none"},
        }


@pytest.mark.parametrize("text", ["?!", "…", "🙂🙂", "the and of"])
async def test_a_text_without_a_searchable_term_says_so(node: RunningNode, text: str) -> None:
    properties = HISTORY_FIELDS | {"text": {"type": "text", "analyzer": "stop"}}
    async with on_node(node.url, History(index="nv-terms")) as (direct, client):
        await direct.index("nv-terms", ladder(), properties)
        assert "no searchable term" in (await client.decide("nv-terms", text)).body["reason"]
        assert "no searchable term" in (await client.noul(text)).reason
        assert "no searchable term" not in (await client.decide("nv-terms", "unheard")).body["reason"]


async def test_five_shards_vote_like_one(node: RunningNode) -> None:
    words = ["alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma"]
    documents = [
        {"text": " ".join(words[(n * step) % 7] for step in range(1, 2 + n % 5)), "label": f"label-{n % 4}"}
        for n in range(120)
    ]
    async with on_node(node.url) as (direct, client):
        await direct.index("nv-shards-1", documents)
        await direct.index("nv-shards-5", documents, settings={"number_of_shards": 5})
        for text in ("alpha", "beta gamma", "delta delta omega", "sigma kappa alpha beta"):
            one, five = [(await client.decide(f"nv-shards-{n}", text)).body for n in (1, 5)]
            for body in (one, five):
                assert body["voted"] == 10
                for neighbour in body["neighbours"]:
                    neighbour.pop("_index")
                for name in ("index", "took_ms"):
                    body.pop(name)
            assert one == five
