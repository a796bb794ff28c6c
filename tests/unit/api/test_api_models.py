"""`GET /v1/models`."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from sidecar.api import render_models

CASES: dict[str, tuple[bool, dict[str, str], bool, list[str]]] = {
    "nothing": (False, {}, False, ["xerj-history-vote-1"]),
    "default": (True, {}, False, ["xerj-history-vote-1"]),
    "armed": (False, {}, True, ["xerj-history-vote-1", "xerj-decide-local-1"]),
    "histories": (
        True,
        {"tickets": "t-2026", "mail": "m"},
        True,
        ["xerj-history-vote-1", "tickets", "mail", "xerj-decide-local-1"],
    ),
    "foreign name": (True, {"jev-1": "t", "JEV": "t", "my-jev": "t"}, False, ["xerj-history-vote-1", "my-jev"]),
    "own names": (
        True,
        {"xerj-history-vote-1": "t", "xerj-decide-local-1": "u"},
        True,
        ["xerj-history-vote-1", "xerj-decide-local-1"],
    ),
}


@pytest.mark.parametrize(("default", "histories", "armed", "names"), CASES.values(), ids=CASES.keys())
def test_models(default: bool, histories: dict[str, str], armed: bool, names: list[str]) -> None:
    body: Any = render_models(default, histories, armed)
    assert list(body) == ["models"]
    assert [model["name"] for model in body["models"]] == names
    for model in body["models"]:
        assert list(model) == ["name", "description", "release_date"]
        assert model["description"]
        datetime.date.fromisoformat(model["release_date"])
        assert not model["name"].lower().startswith("jev")
    assert "jev-latest" in body["models"][0]["description"]


def test_the_vote_says_whether_it_has_a_history() -> None:
    with_one: Any = render_models(True, {}, False)
    without: Any = render_models(False, {}, False)
    assert "a default history is configured" in with_one["models"][0]["description"]
    assert "no default history is configured (decisions.index)" in without["models"][0]["description"]
