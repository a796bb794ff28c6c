"""G3, G4: the official Python SDK, plain and with its compression extra."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

import pytest
from client_environments import Environment, python_environment
from client_relay import Relay
from client_sidecar import QUEUES, SETTINGS, SUPPORT, RunningSidecar, Start, with_key
from compatibility import Proved

STATE = {"document": "I was charged twice for my order and I want my money back. Please refund me today."}
LEVELS = ["can wait", "this week", "today"]
QUESTIONS: dict[str, Any] = {
    "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
    "queue": {"type": "choice", "instructions": "Which queue?", "criteria": dict.fromkeys(QUEUES)},
    "urgency": {"type": "score", "instructions": "How soon?", "criteria": LEVELS},
}
UNSUPPORTED = {"queue": {"type": "choice", "instructions": "?", "criteria": {"circus": None, "opera": None}}}
ASK = {"do": "answers", "ask": {"state": STATE, "questions": QUESTIONS, "model": "support"}}


def sdk(environment: Environment, base_url: str, steps: Sequence[object], *, together: bool = False) -> Any:
    """Run steps in the SDK; one result for each."""
    return environment.script("sdk.py", list(steps), together, env={"TYPESAFE_BASE_URL": base_url})


def test_g3_answers_of_every_type_parse(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    (through,) = sdk(systemone, sidecar.url, [ASK])
    assert through["kinds"] == [["refund"], ["queue"], ["urgency"]]
    assert through["model"] == "xerj-history-vote-1"
    assert through["request_id"].startswith("req_")
    assert through["usage"]["input_tokens"] > 0
    assert through["usage"]["output_tokens"] == 3
    answers = through["answers"]
    assert answers["queue"]["choice"] in {"billing", "refunds"}
    assert set(answers["queue"]["probabilities"]) == set(QUEUES)
    assert answers["urgency"]["legend"] == {str(n): level for n, level in enumerate(LEVELS)}
    expected = sum(int(level) * p for level, p in answers["urgency"]["probabilities"].items())
    assert answers["urgency"]["score"] == pytest.approx(expected, abs=2e-6)
    # What the SDK made of it is what a plain request gets.
    plain = sidecar.ask({"state": STATE, "questions": QUESTIONS, "model": "support"}).json()
    assert through["body"]["answers"] == plain["answers"]
    proved("G3", "noul, choice and score parse, with their request id")


def test_g3_models_parse(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    (listed,) = sdk(systemone, sidecar.url, [{"do": "models"}])
    assert [model["name"] for model in listed["models"]] == ["xerj-history-vote-1", "support"]
    assert all(model["description"] and len(model["release_date"]) == 10 for model in listed["models"])
    assert listed["request_id"]
    proved("G3", "`models` parses")


def test_g3_a_path_selects_the_history(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    by_path, by_model = sdk(
        systemone,
        sidecar.history("support") + "/",
        [
            {"do": "answers", "ask": {**ASK["ask"], "model": "jev-latest"}},  # type: ignore[dict-item]
            {**ASK, "options": {"base_url": sidecar.url}},
        ],
    )
    assert by_path["answers"] == by_model["answers"]
    assert by_path["body"]["decisions"]["index"] == SUPPORT
    assert by_path["body"]["decisions"]["requested_model"] == "jev-latest"
    proved("G3", "a history is selected by path or by model name")


def test_g3_errors_raise_the_matching_class(
    systemone: Environment, sidecar: RunningSidecar, start: Start, proved: Proved
) -> None:
    keyed = start(with_key(SETTINGS))
    empty = start('[decisions]\nindex = ""\n')
    missing = start('[decisions]\nindex = "no-such-history"\n')
    unreadable = {"queue": {"type": "choice", "criteria": {f"option {n}": None for n in range(256)}}}
    broken = {"q": {"type": "noul", "instructions": "Is `document.body` spam?"}}
    once = {"max_retries": 0}
    results = sdk(
        systemone,
        sidecar.url,
        [
            {**ASK, "options": {**once, "base_url": keyed.url, "api_key": "sk-wrong"}},
            {**ASK, "options": {**once, "base_url": keyed.url}},
            {**ASK, "options": {**once, "base_url": sidecar.history("nobody")}},
            {"do": "answers", "options": once, "ask": {"state": STATE, "questions": unreadable}},
            {"do": "answers", "options": once, "ask": {"state": STATE, "questions": broken}},
            {"do": "answers", "options": once, "ask": {**ASK["ask"], "questions": UNSUPPORTED}},  # type: ignore[dict-item]
            {**ASK, "options": {**once, "base_url": missing.url}},
            {**ASK, "options": {**once, "base_url": empty.url}},
        ],
    )
    wrong_key, right_key, no_path, schema, reference, no_support, no_index, no_history = results
    assert "answers" in right_key
    for raised, name, status, words in [
        (wrong_key, "TypeSafeAuthenticationError", 401, ["key"]),
        (no_path, "TypeSafeNotFoundError", 404, ["nobody", "support"]),
        (schema, "TypeSafeUnprocessableEntityError", 422, ["queue", "255"]),
        (reference, "TypeSafeUnprocessableEntityError", 422, ["`document.body`"]),
        (no_support, "TypeSafeUnprocessableEntityError", 422, ["queue", SUPPORT]),
        (no_index, "TypeSafeUnprocessableEntityError", 422, ["no-such-history"]),
        (no_history, "TypeSafeInternalServerError", 503, ["decisions.index"]),
    ]:
        assert (raised["class"], raised["status"]) == (name, status)
        assert raised["request_id"].startswith("req_")
        assert all(word in raised["message"] for word in words), raised["message"]
    proved("G3", "401, 404, 422 and 503 raise the matching class with the sidecar's message")


def test_g3_overload_and_deadline_raise_the_matching_class(
    systemone: Environment, relay: Relay, behind_relay: Start, proved: Proved
) -> None:
    sidecar = behind_relay(f"{SETTINGS}\n[limits]\nconcurrent_requests = 1\ndeadline_s = 2\n")
    relay.hold()
    step = {**ASK, "options": {"max_retries": 0}}
    busy, late = sorted(sdk(systemone, sidecar.url, [step, step], together=True), key=lambda each: each["status"])
    assert (busy["class"], busy["status"]) == ("TypeSafeRateLimitError", 429)
    assert busy["retry_after_ms"] == 1000
    assert "limits.concurrent_requests" in busy["message"]
    assert (late["class"], late["status"]) == ("TypeSafeInternalServerError", 504)
    assert "limits.deadline_s" in late["message"]
    proved("G3", "429 carries `retry_after_ms`, 504 the deadline's name")


def test_g4_compressed_requests_are_answered_like_plain_ones(sidecar: RunningSidecar, proved: Proved) -> None:
    environment = python_environment("systemone-zstd")
    state = {**STATE, "history": "The parcel came late and the invoice was wrong, says the customer. " * 40}
    ask = {"do": "answers", "ask": {"state": state, "questions": QUESTIONS, "model": "support"}}
    packed, plain, short = sdk(environment, sidecar.url, [ask, {**ask, "options": {"compression": False}}, ASK])
    assert [each["sent_encoding"] for each in (packed, plain, short)] == ["zstd", None, None]
    assert packed["sent_bytes"] < plain["sent_bytes"] > 1024 > short["sent_bytes"]
    assert packed["answers"] == plain["answers"]
    assert packed["usage"] == plain["usage"]
    gzipped = gzip.compress(json.dumps({"state": state, "questions": QUESTIONS, "model": "support"}).encode())
    assert sidecar.ask(gzipped, {"Content-Encoding": "gzip"}).json()["answers"] == plain["body"]["answers"]
    proved("G4", "zstd, gzip and plain bodies get the same answer")
