"""G10: helioai-agent's judgment layer, a cautious consumer: 13 questions of one text, each with labels of its own."""

from __future__ import annotations

from typing import Any

import pytest
from client_environments import Environment, python_environment
from client_intents import ASKED, CHOICES, NOULS
from client_sidecar import RunningSidecar
from compatibility import Proved


@pytest.fixture(scope="module")
def helioai() -> Environment:
    """The judgment layer and the SDK it uses."""
    return python_environment("helioai")


def read(helioai: Environment, sidecar: RunningSidecar, *queries: str) -> list[Any]:
    """The contracts of the queries."""
    backend = {"HELIOAI_JUDGMENT_BACKEND": "jev", "HELIOAI_EXPERIMENTS": "judgment_intent"}
    contracts: list[Any] = helioai.script("intent.py", list(queries), env={"TYPESAFE_BASE_URL": sidecar.url, **backend})
    return contracts


def test_g10_every_field_is_answered_from_its_own_labels(
    helioai: Environment, intents: RunningSidecar, proved: Proved
) -> None:
    (contract,) = read(helioai, intents, ASKED)
    raw = contract["raw"]
    assert set(raw) == {*NOULS, *CHOICES}
    assert all(answer is not None for answer in raw.values())
    assert contract["request_id"].startswith("req_")
    assert contract["model"] == "xerj-history-vote-1"
    assert raw["wants_figure"]["noul"] > 0.5 > raw["wants_value"]["noul"]
    assert {name: raw[name]["choice"] for name in CHOICES} == {
        "quantity": "MagneticField",
        "frame": "GSE",
        "year": "2003",
        "month": "03",
        "day": "12",
    }
    for name in CHOICES:
        assert sum(raw[name]["probabilities"].values()) == pytest.approx(1, abs=1e-6)
    assert len(raw["year"]["probabilities"]) == 39
    proved("G10", "all 13 fields of an intent contract are answered, each from the label field of its question scope")


def test_g10_the_decision_log_names_the_request(helioai: Environment, intents: RunningSidecar, proved: Proved) -> None:
    contracts = read(helioai, intents, ASKED, "What was the plasma density measured by ACE on 13 March 2003")
    ids = [contract["request_id"] for contract in contracts]
    assert len(set(ids)) == 2
    assert set(ids) <= {line.get("request_id") for line in intents.logged()}
    proved("G10", "its request ids are unique and stand in the sidecar's log")


def test_g10_the_shape_of_the_state_changes_nothing(intents: RunningSidecar, proved: Proved) -> None:
    question = {"quantity": {"type": "choice", "criteria": dict.fromkeys(["MagneticField", "ThermalPlasma"])}}
    states = [ASKED, {"question": ASKED}, {"product": ASKED}]
    answers = [intents.ask({"model": "jev-latest", "state": state, "questions": question}).json() for state in states]
    assert answers[0]["answers"] == answers[1]["answers"] == answers[2]["answers"]
    proved("G10", "the same text votes the same as a string or under any key")


def test_g10_it_abstains_where_history_is_silent(helioai: Environment, intents: RunningSidecar, proved: Proved) -> None:
    assert read(helioai, intents, "zzz qqq xxx") == [None]
    refused = intents.ask({"state": "zzz", "questions": {"frame": {"type": "choice", "criteria": {"GSE": None}}}})
    assert refused.status == 422
    assert refused.json()["detail"]["error_type"] == "no_support"
    assert "`frame`" in refused.json()["detail"]["message"]
    proved("G10", "where history is silent the whole contract abstains, and the message names the questions")
