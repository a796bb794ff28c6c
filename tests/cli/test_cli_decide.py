"""`sidecar decide`: one decision in the terminal."""

from __future__ import annotations

import json

import pytest
from cli_words import Ask, Run

from sidecar.engine import RunningNode, free_port


@pytest.fixture
def history(node: RunningNode, index: str, ask: Ask) -> str:
    """A small history on the node."""
    fields = {"text": {"type": "text"}, "label": {"type": "keyword"}, "human": {"type": "boolean"}}
    ask(node.url, "PUT", f"/{index}", {"mappings": {"properties": fields}})
    cases = [("the parcel is late", "shipping"), ("where is the parcel", "shipping"), ("I want my money", "refunds")]
    for number, (text, label) in enumerate(cases):
        ask(node.url, "PUT", f"/{index}/_doc/case-{number}?refresh=true", {"text": text, "label": label})
    return index


def test_a_table_for_people(node: RunningNode, history: str, run: Run) -> None:
    done = run("decide", "is the parcel on its way", "--upstream", node.url, "--index", history)
    assert (done.status, done.err) == (0, "")
    first, header, *rows = done.out.splitlines()
    assert first.startswith("shipping  confidence 1.000  tier history")
    assert header.split() == ["weight", "label", "by", "id", "text"]
    assert {row.split()[3] for row in rows} == {"case-0", "case-1"}


def test_json_for_programs(node: RunningNode, history: str, run: Run) -> None:
    words = ("--upstream", node.url, "--index", history, "--k", "1", "--positive-label", "refunds")
    done = run("decide", "money", *words, "--json")
    assert (done.status, done.err) == (0, "")
    said = json.loads(done.out)
    assert (said["index"], said["k"], said["label"], said["tier"]) == (history, 1, "refunds", "history")
    assert (said["p_raw"], said["abstain"]) == (1.0, False)
    assert [neighbour["_id"] for neighbour in said["neighbours"]] == ["case-2"]


def test_a_correction_shows_who_made_it(node: RunningNode, history: str, run: Run, ask: Ask) -> None:
    person = {"text": "the parcel is broken", "label": "returns", "human": True}
    ask(node.url, "PUT", f"/{history}/_doc/fixed?refresh=true", person)
    done = run("decide", "the parcel is broken", "--upstream", node.url, "--index", history)
    assert done.status == 0
    assert done.out.startswith("returns ")
    assert any("human" in line and "fixed" in line for line in done.out.splitlines())


def test_no_neighbour_is_no_decision(node: RunningNode, history: str, run: Run) -> None:
    done = run("decide", "zebra", "--upstream", node.url, "--index", history)
    assert done.status == 0
    assert "no decision: " in done.out
    assert "no labelled neighbour" in done.out


UNUSABLE = [
    pytest.param(("--index", "cli-none"), "history index [cli-none] does not exist", id="index-missing"),
    pytest.param(("--text-field", "body"), "field [body] is not in the mapping", id="text-field-missing"),
    pytest.param(("--label-field", "queue"), "field [queue] is not in the mapping", id="label-field-missing"),
    pytest.param(("--text-field", "label"), "field [label] is keyword, not text", id="text-field-keyword"),
]


@pytest.mark.parametrize(("words", "said"), UNUSABLE)
def test_a_history_that_cannot_vote(
    words: tuple[str, ...], said: str, node: RunningNode, history: str, run: Run
) -> None:
    done = run("decide", "the parcel", "--upstream", node.url, "--index", history, *words)
    assert (done.status, done.out) == (1, "")
    assert said in done.err


def test_a_node_that_is_down(run: Run) -> None:
    done = run("decide", "x", "--index", "cases", "--upstream", f"http://127.0.0.1:{free_port()}")
    assert (done.status, done.out) == (1, "")
    assert "the node is unreachable; check that it runs and that upstream.url is right" in done.err
    assert "Traceback" not in done.err


USAGE = [
    pytest.param(("decide",), "Missing argument 'TEXT'", id="no-text"),
    pytest.param(("decide", "x"), "name the history with --index NAME", id="no-index"),
    pytest.param(("decide", " \n", "--index", "a"), "the text is blank", id="blank-text"),
    pytest.param(("decide", "x", "--index", "_all"), "index name", id="index-all"),
    pytest.param(("decide", "x", "--index", "a", "--k", "0"), "decisions.k = 0", id="k-0"),
    pytest.param(("decide", "x", "--index", "a", "--k", "ten"), "'ten' is not a valid integer", id="k-text"),
    pytest.param(
        ("decide", "x", "--index", "a", "--human-weight", "-1"), "decisions.human_weight = -1.0", id="human-weight"
    ),
]


@pytest.mark.parametrize(("words", "said"), USAGE)
def test_wrong_usage(words: tuple[str, ...], said: str, run: Run) -> None:
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
