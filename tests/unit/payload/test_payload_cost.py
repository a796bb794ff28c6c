"""Input built to make a naive reading slow, and the ordinary request with many questions."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest

from sidecar.errors import IllegalArgument
from sidecar.payload import State, build_vote_text, find_spans

LIMIT = 100_000
ENOUGH_S = 1.0
"""Ten times what the slowest case takes."""


def ascending_runs(n_chars: int) -> str:
    """Runs of 1, 2, 3, … backticks: none of them pairs."""
    text, width = "", 1
    while len(text) < n_chars:
        text += "`" * width + " "
        width += 1
    return text


@pytest.mark.parametrize(
    ("text", "n_spans"),
    [
        pytest.param("`" * 100_000, 0, id="one-run"),
        pytest.param(ascending_runs(100_000), 0, id="no-run-pairs"),
        pytest.param("` " * 50_000, 0, id="blank-spans"),
        pytest.param("`a" * 50_000, 25_000, id="short-spans"),
        pytest.param("``" + "a`" * 50_000, 25_000, id="an-opener-that-never-closes"),
        pytest.param("`" + "a" * 100_000 + "`", 1, id="one-long-span"),
    ],
)
def test_spans_cost_little(text: str, n_spans: int) -> None:
    started = perf_counter()
    assert len(find_spans(text)) == n_spans
    assert perf_counter() - started < ENOUGH_S


def read(instructions: Any, state: Any) -> str:
    try:
        return build_vote_text("q", instructions, state, LIMIT).text
    except IllegalArgument as refused:
        return str(refused)


def ambiguous(depth: int) -> Any:
    """A tree whose keys spell the path a.a.a… in more ways than anyone can try."""
    shorter: Any = {}
    tree: Any = {}
    for _ in range(depth):
        shorter, tree = tree, {"a": tree, "a.a": shorter}
    return tree


@pytest.mark.parametrize(
    ("instructions", "state"),
    [
        pytest.param(" ".join(f"`a{n}`" for n in range(10_000)), {"a": "x"}, id="many-unknown-paths"),
        pytest.param(" ".join(f"`{n}`" for n in range(10_000)), ["x"] * 10_000, id="many-indices"),
        pytest.param(" ".join(f"`{n}`" for n in range(5_000)), [["x"]] * 5_000, id="many-arrays-in-order"),
        pytest.param("`" + "a." * 120 + "x`", ambiguous(60), id="ambiguous-keys"),
        pytest.param([f"`{n + 1}.t`" for n in range(5_000)], "x", id="many-leaves"),
        pytest.param({f"k{n}": f"`k{n + 1}`" for n in range(5_000)}, "x", id="a-long-chain-of-payloads"),
        pytest.param({f"k{n}": f"`k{(n + 1) % 5_000}`" for n in range(5_000)}, "x", id="a-long-ring"),
        pytest.param("Is it?", ["x"] * 100_000, id="many-state-leaves"),
    ],
)
def test_reading_costs_little(instructions: Any, state: Any) -> None:
    started = perf_counter()
    assert read(instructions, state)
    assert perf_counter() - started < ENOUGH_S


def test_300_questions_over_one_state_cost_little() -> None:
    documents: Any = {f"doc_{n}": {"body": "word " * 20, "tags": ["x"] * 20} for n in range(300)}
    state = State({"query": "which?", "documents": documents})
    started = perf_counter()
    for n in range(300):
        whole = build_vote_text(f"doc_{n}", "Is it good?", state, LIMIT)
        one = build_vote_text(f"doc_{n}", f"Is `documents.doc_{n}.body` good for `query`?", state, LIMIT)
        inside = build_vote_text(f"doc_{n}", f"Is `documents.doc_{n}` good?", state, LIMIT)
        assert len(whole.text) > len(one.text)
        assert inside.references is not None
    assert perf_counter() - started < ENOUGH_S


@pytest.mark.parametrize("kind", ["object", "array"])
def test_depth_is_no_matter(kind: str) -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"a": deep} if kind == "object" else [deep]
    step = "a" if kind == "object" else "0"
    assert build_vote_text("q", None, deep, LIMIT).text == "x"
    assert build_vote_text("q", deep, "y", LIMIT).text == "y"
    path = ".".join([step] * 128)
    assert build_vote_text("q", f"`{path}`", deep, LIMIT).text == "x"
