"""G7: semantic-operators, by its command line and by its checks of every number."""

from __future__ import annotations

import json
from typing import Any

import pytest
from client_environments import Environment
from client_sidecar import QUEUES, RunningSidecar, Start
from compatibility import Proved
from test_gate_sdk import LEVELS, STATE

ITEMS = [
    "WINNER!! Claim your free prize, text WIN to 80086 now",
    "ok i will be home late tonight, see you later",
    "URGENT! You have won a guaranteed cash award, call 09061701461",
    "did you eat yet? sorry, i was at work",
]


def semfilter(environment: Environment, sidecar: RunningSidecar, *arguments: str) -> list[dict[str, Any]]:
    """One record for each item; fails unless every item was answered."""
    ran = environment.tool(
        "semfilter", *arguments, "--records", env={"TYPESAFE_BASE_URL": sidecar.url}, stdin="\n".join(ITEMS)
    )
    assert ran.status in (0, 1), ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def test_g7_semfilter_from_history(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    records = semfilter(systemone, sidecar, "Is this an advertisement?")
    assert [record["outcome"] for record in records] == ["match", "no", "match", "no"]
    assert {record["model"] for record in records} == {"xerj-history-vote-1"}
    proved("G7", "`semfilter` answers every item from history")


def test_g7_its_checks_of_every_number_pass(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    env = {"TYPESAFE_BASE_URL": sidecar.url}
    answers = systemone.script("semantic_operators_ask.py", STATE, QUEUES, LEVELS, "support", env=env)
    assert answers["queue"]["value"] in {"billing", "refunds"}
    assert sum(answers["urgency"]["probabilities"].values()) == pytest.approx(1, abs=1e-6)
    assert answers["refund"]["tokens"][1] == 3
    proved("G7", "its checks of every number raise nothing for noul, choice and score")


def test_g7_with_the_local_model(systemone: Environment, start_armed: Start, proved: Proved) -> None:
    armed = start_armed()
    records = semfilter(systemone, armed, "Is this an advertisement?", "--min", "0")
    assert all(record["error"] is None for record in records)
    env = {"TYPESAFE_BASE_URL": armed.url}
    unseen = systemone.script("semantic_operators_ask.py", STATE, ["circus", "opera"], LEVELS, "jev-latest", env=env)
    assert unseen["queue"]["value"] in ("circus", "opera")
    assert set(unseen["urgency"]["probabilities"]) == set(LEVELS)
    proved("G7", "with a local model, questions that no history covers are answered as well")
