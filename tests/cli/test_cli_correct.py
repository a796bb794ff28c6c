"""`sidecar correct`: one ordinary document, and the decision that it changes."""

from __future__ import annotations

import importlib
import urllib.error
from typing import Any

import pytest
import xxhash
from cli_words import Ask, Done, Run

from sidecar.engine import RunningNode, free_port

LATE = "the parcel is late"
NEW = "the box was crushed"


@pytest.fixture
def history(node: RunningNode, index: str, ask: Ask) -> str:
    """A small history on the node."""
    fields = {"text": {"type": "text"}, "label": {"type": "keyword"}, "human": {"type": "boolean"}}
    ask(node.url, "PUT", f"/{index}", {"mappings": {"properties": fields}})
    cases = [(LATE, "billing"), (f"{LATE} again", "billing"), ("I want my money", "refunds")]
    for number, (text, label) in enumerate(cases):
        document = {"text": text, "label": label, "source": "local", "p": 0.7, "queue": {"team": number}}
        ask(node.url, "PUT", f"/{index}/_doc/case-{number}?refresh=true", document)
    return index


@pytest.fixture
def correct(node: RunningNode, run: Run) -> Any:
    """`correct(index, what, label, *more)` on the node."""

    def call(index: str, what: str, label: str, *more: str) -> Done:
        return run("correct", what, "--label", label, "--index", index, "--upstream", node.url, *more)

    return call


def source(ask: Ask, node: RunningNode, index: str, id_: str) -> Any:
    return ask(node.url, "GET", f"/{index}/_doc/{id_}")["_source"]


def test_by_id_only_the_label_changes(node: RunningNode, history: str, ask: Ask, correct: Any) -> None:
    before = source(ask, node, history, "case-0")
    done = correct(history, "case-0", "shipping")
    assert (done.status, done.err) == (0, "")
    first, verdict, *_ = done.out.splitlines()
    assert first == f"updated case-0 in [{history}]"
    assert verdict.startswith("shipping  confidence")
    assert verdict.endswith("corrected")
    after = source(ask, node, history, "case-0")
    assert after.pop("ts").endswith("Z")
    assert after == before | {"label": "shipping", "human": True}


def test_by_text_a_new_document(node: RunningNode, history: str, ask: Ask, correct: Any) -> None:
    id_ = "correction-" + xxhash.xxh3_128(NEW.encode()).hexdigest()
    done = correct(history, NEW, "returns")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"created {id_} in [{history}]\nreturns  confidence")
    document = source(ask, node, history, id_)
    assert document.pop("ts").endswith("Z")
    assert document == {"text": NEW, "label": "returns", "human": True}
    again = correct(history, NEW, "refunds")
    assert again.out.startswith(f"updated {id_} in [{history}]\nrefunds  confidence")
    assert ask(node.url, "GET", f"/{history}/_count")["count"] == 4


def test_fields_of_the_historys_own(node: RunningNode, index: str, ask: Ask, correct: Any) -> None:
    fields = {"body": {"properties": {"text": {"type": "text"}, "label": {"type": "keyword"}}}}
    ask(node.url, "PUT", f"/{index}", {"mappings": {"properties": fields}})
    nested, literal = {"body": {"text": LATE, "label": "a", "more": 1}}, {"body.text": NEW, "body.label": "a"}
    ask(node.url, "PUT", f"/{index}/_doc/nested?refresh=true", nested)
    ask(node.url, "PUT", f"/{index}/_doc/literal?refresh=true", literal)
    words = ("--text-field", "body.text", "--label-field", "body.label")
    for id_ in ("nested", "literal"):
        assert correct(index, id_, "b", *words).status == 0
    assert source(ask, node, index, "nested")["body"] == {"text": LATE, "label": "b", "more": 1}
    assert source(ask, node, index, "literal")["body.label"] == "b"


def test_through_an_alias_of_several_indices(node: RunningNode, history: str, ask: Ask, correct: Any) -> None:
    alias, other = f"{history}-all", f"{history}-more"
    fields = {"text": {"type": "text"}, "label": {"type": "keyword"}}
    ask(node.url, "PUT", f"/{other}", {"mappings": {"properties": fields}})
    add = [{"add": {"index": name, "alias": alias}} for name in (history, other)]
    ask(node.url, "POST", "/_aliases", {"actions": add})
    assert correct(alias, "case-0", "shipping").status == 0
    assert source(ask, node, history, "case-0")["label"] == "shipping"
    refused = correct(alias, NEW, "returns")  # no index of the alias takes new documents
    assert (refused.status, refused.out) == (1, "")
    assert f"the node refused the correction in [{alias}] with 400: illegal_argument_exception" in refused.err
    ask(node.url, "PUT", f"/{other}/_doc/case-0?refresh=true", {"text": LATE, "label": "x"})
    twice = correct(alias, "case-0", "returns")
    assert "several indices" in twice.err


def test_a_typing_error_makes_no_index(node: RunningNode, index: str, ask: Ask, correct: Any) -> None:
    for what in ("case-0", NEW, "x" * 600):
        done = correct(index, what, "shipping")
        assert (done.status, done.out) == (1, "")
        assert f"history index [{index}] does not exist" in done.err
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(node.url, "GET", f"/{index}/_search")


def test_a_text_that_is_no_id(node: RunningNode, history: str, correct: Any) -> None:
    for what in ("../_search?x=1", "x" * 600, 'quote " and \n line', "Größe 🎉"):
        done = correct(history, what, "shipping")
        assert (done.status, done.err) == (0, ""), what
        assert done.out.startswith("created correction-")


def test_what_can_never_vote_is_said(node: RunningNode, history: str, ask: Ask, correct: Any) -> None:
    ask(node.url, "PUT", f"/{history}/_doc/bare?refresh=true", {"label": "x"})
    bare = correct(history, "bare", "shipping")
    assert (bare.status, bare.out) == (1, "")
    assert "document bare has no text in [text]" in bare.err
    punctuation = correct(history, "?!", "shipping")
    assert punctuation.status == 1
    assert "is stored in" in punctuation.err
    assert "no searchable term" in punctuation.err


def test_a_mapping_that_takes_no_corrections(node: RunningNode, index: str, ask: Ask, correct: Any) -> None:
    fields = {"text": {"type": "text"}, "label": {"type": "keyword"}}
    ask(node.url, "PUT", f"/{index}", {"mappings": {"dynamic": "strict", "properties": fields}})
    done = correct(index, NEW, "returns")
    assert (done.status, done.out) == (1, "")
    assert f"the node refused the correction in [{index}] with 400: strict_dynamic_mapping_exception" in done.err


def test_an_index_that_does_not_refresh(
    node: RunningNode, history: str, ask: Ask, correct: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("sidecar.cli.correct"), "NODE_TIMEOUT_S", 1.0)
    ask(node.url, "PUT", f"/{history}/_settings", {"index.refresh_interval": "-1"})
    done = correct(history, NEW, "returns")
    assert (done.status, done.out) == (1, "")
    assert "did not become visible in time" in done.err
    assert "index.refresh_interval" in done.err
    ask(node.url, "POST", f"/{history}/_refresh")


def test_a_node_that_is_down(run: Run) -> None:
    words = ("--label", "b", "--index", "cases", "--upstream", f"http://127.0.0.1:{free_port()}")
    done = run("correct", "a", *words)
    assert (done.status, done.out) == (1, "")
    assert "the node is unreachable" in done.err
    assert "Traceback" not in done.err


USAGE = [
    pytest.param(("correct",), "Missing argument 'ID|TEXT'", id="nothing"),
    pytest.param(("correct", "x", "--index", "a"), "Missing option '--label'", id="no-label"),
    pytest.param(("correct", "x", "--label", "b"), "name the history with --index NAME", id="no-index"),
    pytest.param(("correct", " ", "--label", "b", "--index", "a"), "the id or text is blank", id="blank-text"),
    pytest.param(("correct", "x", "--label", "\t", "--index", "a"), "the label is blank", id="blank-label"),
    pytest.param(("correct", "x", "--label", "b", "--index", "a*"), "index name", id="pattern"),
]


@pytest.mark.parametrize(("words", "said"), USAGE)
def test_wrong_usage(words: tuple[str, ...], said: str, run: Run) -> None:
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
