"""G10: helioai-agent's judgment layer, a cautious consumer: 13 questions of one text, each with labels of its own."""

from __future__ import annotations

from typing import Any

import pytest
from client_environments import Environment, python_environment
from client_sidecar import INTENT, RunningSidecar, Start, load_history
from compatibility import Proved

from sidecar.engine import RunningNode

NOULS = (
    "wants_value",
    "wants_figure",
    "wants_catalogue",
    "wants_procedure",
    "event_named",
    "uncertainty_required",
    "method_named",
    "two_spacecraft",
)
CHOICES = ("quantity", "frame", "year", "month", "day")
SETTINGS = f'[decisions]\nindex = "{INTENT}"\n' + "".join(
    f'[decisions.questions.{name}]\nlabel_field = "{name}"\n' for name in (*NOULS, *CHOICES)
)
KINDS = (
    ("Plot the magnetic field magnitude seen by Wind", "wants_figure", "MagneticField", "GSE"),
    ("What was the plasma density measured by ACE", "wants_value", "ThermalPlasma", "GSM"),
    (
        "List the intervals with energetic particle flux at Solar Orbiter",
        "wants_catalogue",
        "EnergeticParticles",
        "RTN",
    ),
)
ASKED = "Plot the magnetic field magnitude seen by Wind on 12 March 2003, please"


def intent_cases() -> list[dict[str, Any]]:
    """Requests with every field decided; the words of a request tell its kind, its date and its frame."""
    months = ("January", "February", "March", "April")
    return [
        {"text": f"{text} on {10 + n} {months[n % 4]} {2001 + n % 4}", "quantity": quantity, "frame": frame}
        | {"year": str(2001 + n % 4), "month": f"{1 + n % 4:02d}", "day": str(10 + n)}
        | {name: "true" if name in (kind, "event_named") else "false" for name in NOULS}
        | ({"two_spacecraft": "true", "uncertainty_required": "true"} if n % 2 else {"method_named": "true"})
        for text, kind, quantity, frame in KINDS
        for n in range(12)
    ] + [
        {"text": "Write a script that computes the spectrum", "quantity": "none", "frame": "none", "year": "none"}
        | {"month": "none", "day": "none"}
        | dict.fromkeys(NOULS, "false")
        | {"wants_procedure": "true"}
    ]


@pytest.fixture(scope="module")
def helioai() -> Environment:
    """The judgment layer and the SDK it uses."""
    return python_environment("helioai")


@pytest.fixture(scope="module")
def intents(histories: RunningNode, start: Start) -> RunningSidecar:
    """A sidecar whose question scopes draw each field from a label field of its own."""
    load_history(histories.url, INTENT, intent_cases())
    return start(SETTINGS)


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
