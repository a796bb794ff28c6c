"""G5: the official JavaScript SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from client_environments import Environment
from client_relay import Relay
from client_sidecar import SETTINGS, RunningSidecar, Start, call, with_key
from compatibility import Proved
from test_gate_sdk import LEVELS, QUESTIONS, STATE, UNSUPPORTED

REQUEST: dict[str, Any] = {"state": STATE, "questions": QUESTIONS, "model": "support"}
ASK: dict[str, Any] = {"do": "answers", "ask": REQUEST}


def sdk(environment: Environment, base_url: str, steps: Sequence[object], *, together: bool = False) -> Any:
    """Run steps in the SDK; one result for each."""
    return environment.script("sdk.cjs", list(steps), together, env={"TYPESAFE_BASE_URL": base_url})


def test_g5_answers_of_every_type_return(typesafe_js: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    through, listed = sdk(typesafe_js, sidecar.url, [ASK, {"do": "models"}])
    plain = sidecar.ask(REQUEST).json()
    assert through["data"]["answers"] == plain["answers"]
    assert through["data"]["answers"]["urgency"]["legend"] == {str(n): level for n, level in enumerate(LEVELS)}
    assert through["requestId"].startswith("req_")
    assert [model["name"] for model in listed["data"]] == ["xerj-history-vote-1", "support"]
    proved("G5", "noul, choice and score return with the right values and a request id; `models` lists")


def test_g5_errors_raise_the_matching_class(
    typesafe_js: Environment, sidecar: RunningSidecar, start: Start, proved: Proved
) -> None:
    keyed, empty = start(with_key(SETTINGS)), start('[decisions]\nindex = ""\n')
    once = {"retry": {"maxRetries": 0}}
    results = sdk(
        typesafe_js,
        sidecar.url,
        [
            {**ASK, "options": {**once, "baseURL": keyed.url, "apiKey": "sk-wrong"}},
            {**ASK, "options": {**once, "baseURL": sidecar.history("nobody")}},
            {**ASK, "options": once, "ask": {**REQUEST, "questions": UNSUPPORTED}},
            {**ASK, "options": {**once, "baseURL": empty.url}},
        ],
    )
    expected = [
        ("AuthenticationError", 401, "key"),
        ("NotFoundError", 404, "nobody"),
        ("UnprocessableEntityError", 422, "queue"),
        ("InternalServerError", 503, "decisions.index"),
    ]
    for raised, (name, status, word) in zip(results, expected, strict=True):
        assert (raised["class"], raised["status"]) == (name, status)
        assert word in raised["message"]
        assert raised["requestId"].startswith("req_")
    proved("G5", "401, 404, 422 and 503 reject with the matching class and the sidecar's message")


def test_g5_retry_after_is_read_and_a_retry_succeeds(
    typesafe_js: Environment, relay: Relay, behind_relay: Start, proved: Proved
) -> None:
    sidecar = behind_relay(f"{SETTINGS}\n[limits]\nconcurrent_requests = 1\ndeadline_s = 2\n")
    relay.hold()
    refused, late = sorted(
        sdk(typesafe_js, sidecar.url, [{**ASK, "options": {"retry": {"maxRetries": 0}}}] * 2, together=True),
        key=lambda each: each["status"],
    )
    assert (refused["class"], refused["retryAfterMs"]) == ("RateLimitError", 1000)
    assert late["status"] == 504
    # Two at once again, the node answers now, and backing off is the server's word alone: only `retry-after` waits.
    relay.release()
    retry = {"maxRetries": 9, "backoffInitialMs": 0}
    results = sdk(typesafe_js, sidecar.url, [{**ASK, "options": {"retry": retry}}] * 4, together=True)
    assert [each["status"] for each in results] == [200] * 4
    assert b'status="4xx"' in call("GET", f"{sidecar.native_url}/metrics").body
    proved("G5", "`retry-after` is read and honoured")


def test_g5_a_base_address_with_v1_is_told_apart(typesafe_js: Environment, sidecar: RunningSidecar) -> None:
    (raised,) = sdk(typesafe_js, sidecar.native_url + "/v1", [{**ASK, "options": {"retry": {"maxRetries": 0}}}])
    assert (raised["class"], raised["status"]) == ("NotFoundError", 404)
