"""Texts of every kind and size, and how many requests they cost: decide.md section 5, Retrieval, on real nodes."""

from __future__ import annotations

from node_harness import HISTORY_FIELDS, Json, Node, Reply, ladder, on_node, recording, serving

from benchmarks.datasets import sms_spam
from sidecar.engine import RunningNode
from sidecar.settings import History

HAN = "".join(chr(0x4E00 + number % 20_000) for number in range(10_000))
DISTINCT = " ".join(f"word{number}" for number in range(20_000))
# the text after "alpha", the marks that its evidence must have
TEXTS: dict[str, tuple[str, set[str]]] = {
    "characters": ("a" + " b" * 50_000, {"truncated", "terms_cut"}),
    "distinct-words": (DISTINCT, {"terms_cut", "truncated"}),
    "repeated-word": ("alpha " * 2_000, {"terms_cut"}),
    "emoji": ("🙂" * 5_000, {"terms_cut"}),
    "families": ("👩‍👩‍👧‍👦🇩🇪👍🏽" * 500, {"terms_cut"}),
    "punctuation": ("?!" * 20_000, set()),
    "right-to-left": ("שלום عليكم " * 1_000, {"terms_cut"}),
    "one-token": ("x" * 99_000, {"terms_cut"}),
    "one-token-too-long": ("x" * 102_400, {"truncated", "terms_cut"}),
    "han": (HAN, {"terms_cut"}),
    "thai": ("สวัสดีชาวโลก" * 500, {"terms_cut"}),
    "controls": ("".join(map(chr, range(32))) + "\x7f\x85\u2028\ufeff", set()),
    "nul": ("\0" * 1_000, set()),
    "astral": ("𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff", set()),
    "marks": ("e" + "\u0301" * 5_000, set()),
    "query-syntax": ('{"match_all": {}} OR *:* AND (" ~2 ^3 \\', set()),
}


def marks(reply: Reply) -> set[str]:
    return {name for name in ("truncated", "terms_cut") if reply.evidence["q"].get(name)}


async def test_texts_of_every_kind(node: RunningNode) -> None:
    async with on_node(node.url, History(index="nt-texts")) as (direct, client):
        await direct.index("nt-texts", ladder({"label": lambda rank: "true"}))
        for name, (text, expected) in TEXTS.items():
            reply = await client.noul(f"alpha {text}")
            assert (name, reply.noul()) == (name, 1.0)
            assert (name, marks(reply)) == (name, expected)
            alone = await client.noul(text)
            assert (name, alone.status in (200, 422)) == (name, True)
            assert alone.status == 200 or alone.kind in ("no_support", "illegal_argument")
            audit = await client.decide("nt-texts", f"alpha {text}")
            assert (name, audit.body["voted"]) == (name, 10)


def _analysis(node: RunningNode) -> dict[str, tuple[Json, Json]]:
    """Analysers that make more terms than words: settings and the text field."""

    def custom(**filters: Json) -> Json:
        return {
            "index.max_ngram_diff": 30,
            "index.max_shingle_diff": 30,
            "analysis": {
                "filter": filters,
                "analyzer": {"wide": {"tokenizer": "standard", "filter": ["lowercase", *filters]}},
            },
        }

    wide = {"type": "text", "analyzer": "wide"}
    shingles = {"type": "shingle", "min_shingle_size": 2, "max_shingle_size": 12}
    chosen = {
        "shingle": (custom(shingles=shingles), wide),
        "keyword-analyser": ({}, {"type": "text", "analyzer": "keyword"}),
        "whitespace": ({}, {"type": "text", "analyzer": "whitespace"}),
    }
    if node.engine == "opensearch":
        synonyms = [f"word{n}, term{n}, two words{n}, three more words{n}" for n in range(0, 20_000, 3)]
        graph = {"type": "synonym_graph", "synonyms": synonyms}
        search = {"type": "text", "analyzer": "standard", "search_analyzer": "wide"}
        chosen["ngram"] = (custom(grams={"type": "ngram", "min_gram": 1, "max_gram": 20}), wide)
        chosen["synonym-graph"] = (custom(graph=graph), search)
    return chosen


async def test_analysers_that_make_many_terms(node: RunningNode) -> None:
    for name, (settings, field) in _analysis(node).items():
        async with on_node(node.url, History(index="nt-wide")) as (direct, client):
            documents = [{"text": f"alpha word{n} word{n + 1}", "label": "true"} for n in range(12)]
            await direct.index("nt-wide", documents, HISTORY_FIELDS | {"text": field}, settings=settings)
            for text in ("alpha " + DISTINCT, HAN, "alpha " + "x" * 90_000, documents[3]["text"]):
                reply = await client.noul(text)
                assert (name, reply.status in (200, 422)) == (name, True), reply.body
                if reply.status == 422:  # nothing of such a text is in the history: never a word of the node's
                    assert (name, reply.kind) == (name, "no_support")
                elif text.startswith("alpha word0"):
                    assert (name, marks(reply) >= {"terms_cut"}) == (name, True)


async def test_one_msearch_for_a_request(node: RunningNode) -> None:
    noul = {"type": "noul", "instructions": "Is it?"}
    async with recording(node.url) as recorder, on_node(node.url) as (direct, _):
        await direct.index("nt-count", ladder({"label": lambda rank: "true"}))
        async with serving(recorder.url, History(index="nt-count")) as client:
            state = {f"part{n}": f"alpha number{n}" for n in range(300)}
            distinct = {f"q{n}": {"type": "noul", "instructions": f"Is `part{n}` it?"} for n in range(300)}
            recorder.seen.clear()
            reply = await client.ask(distinct, state)
            assert reply.status == 200, reply.body
            assert len(reply.body["answers"]) == 300
            assert [one.items for one in recorder.searches] == [600]
            assert len(recorder.seen) == 1
            recorder.seen.clear()
            before = await _queries(direct, "nt-count")
            same = {f"q{n}": noul | {"instructions": f"Wording number {n}?"} for n in range(299)}
            same |= {"kind": {"type": "choice", "instructions": "Which?", "criteria": {"true": "x", "false": "y"}}}
            reply = await client.ask(same, "alpha")
            assert len(reply.body["answers"]) == 300
            assert [one.items for one in recorder.searches] == [2]
            assert len(recorder.seen) == 1
            assert await _queries(direct, "nt-count") - before <= 2
        async with serving(recorder.url, History(index="nt-count", human_weight=1.0)) as client:
            recorder.seen.clear()
            await client.ask(same, "alpha")
            assert [one.items for one in recorder.searches] == [1]


async def _queries(direct: Node, index: str) -> int:
    """Searches that the node's shards have run."""
    stats = (await direct.call("GET", f"/{index}/_stats/search")).body
    return int(stats["_all"]["primaries"]["search"]["query_total"])


WORDINGS = (
    "Is this spam?",
    "Ist das Werbung? Antworte mit ja oder nein.",
    "You are a careful judge. FREE PRIZE WINNER CALL NOW: is the message unwanted?",
    "x",
    {"task": "Judge the message", "rubric": ["unwanted", "wanted"]},
    ["first", "second", "third"],
    "Decide as your colleagues did.\n\nLine two.",
    "¿Es spam? 迷惑ですか 🙂",
)


async def test_300_messages_under_every_wording_and_state_shape(opensearch: RunningNode) -> None:
    history, tested = sms_spam()
    documents = [{"text": row.text, "label": row.label} for row in history]
    messages = [row.text for row in tested[:300]]
    async with on_node(opensearch.url, History(index="nt-sms", positive_label="spam")) as (direct, client):
        await direct.index("nt-sms", documents)
        state = {f"m{n}": text for n, text in enumerate(messages)}
        by_path = {f"m{n}": {"type": "noul", "instructions": f"Is `m{n}` spam?"} for n in range(300)}
        expected = (await client.ask(by_path, state)).body["answers"]
        assert len(expected) == 300
        lists = {name: one | {"instructions": f"Is `list.{name[1:]}` spam?"} for name, one in by_path.items()}
        assert (await client.ask(lists, {"list": messages, "other": "free prize"})).body["answers"] == expected
        same = 0
        for n, text in enumerate(messages):
            wordings = {f"w{place}": {"type": "noul", "instructions": one} for place, one in enumerate(WORDINGS)}
            shapes = [text, {"text": text}, {"deep": [{"er": text}], "number": 7, "no": None}, [text]]
            reply = await client.ask(wordings, shapes[n % len(shapes)])
            same += all(answer == expected[f"m{n}"] for answer in reply.body["answers"].values())
        assert same == 300
