"""What a cautious consumer of decisions relies on. The numbers are those of the judgment layer's acceptance checks."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from typing import Any

import pytest
from client_intents import ASKED, CHOICES, INTENT_SETTINGS, NOULS
from client_relay import Relay
from client_sidecar import INTENT, SUPPORT, RunningSidecar, Start, call

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

QUANTITIES = ["MagneticField", "ThermalPlasma", "Earth.Magnetosphere.Polar", "none"]


def choice(*options: str, instructions: str | None = None) -> dict[str, Any]:
    """A choice without descriptions."""
    return {"type": "choice", "instructions": instructions, "criteria": dict.fromkeys(options)}


def request(state: object = ASKED, **questions: object) -> dict[str, Any]:
    """A request body."""
    return {"state": state, "model": "jev-latest", "questions": questions}


def test_02_every_answer_has_an_id_of_its_own(intents: RunningSidecar) -> None:
    systemone = intents.systemone
    answers = [
        intents.ask(request(quantity=choice(*QUANTITIES))),
        intents.ask(request(quantity=choice("circus"))),
        intents.ask(b"{"),
        intents.ask(b"{}", {"Content-Type": "text/csv"}),
        intents.ask(request(quantity=choice(*QUANTITIES)), history="nobody"),
        call("GET", systemone),
        call("GET", f"{intents.url}/v1/models"),
        call("GET", f"{intents.native_url}/nothing"),
    ]
    assert [answer.status for answer in answers] == [200, 422, 422, 415, 404, 405, 200, 404]
    ids = [answer.headers["x-typesafe-request-id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert set(ids[:4]) <= {line.get("request_id") for line in intents.logged()}


def test_03_content_codings(intents: RunningSidecar) -> None:
    body = json.dumps(request(quantity=choice(*QUANTITIES))).encode()
    plain = intents.ask(body).json()["answers"]
    packed = {"zstd": zstd.compress(body), "gzip": gzip.compress(body), "deflate": zlib.compress(body)}
    for coding, coded in packed.items():
        assert intents.ask(coded, {"Content-Encoding": coding}).json()["answers"] == plain
    assert intents.ask(body, {"Content-Encoding": "identity"}).json()["answers"] == plain
    refused = intents.ask(body, {"Content-Encoding": "br"})
    assert refused.status == 415
    assert "zstd" in refused.json()["detail"]["message"]


def test_04_one_round_trip_and_one_retrieval_for_each_scope(
    relay: Relay, behind_relay: Start, intents: RunningSidecar
) -> None:
    sidecar = behind_relay(INTENT_SETTINGS)
    options = {"year": [*(str(year) for year in range(1990, 2028)), "none"], "quantity": QUANTITIES}
    questions: dict[str, object] = {name: {"type": "noul", "instructions": name} for name in NOULS}
    questions |= {name: choice(*options.get(name, ["GSE", "03", "12"])) for name in CHOICES}
    first = sidecar.ask(request(**questions))  # fills the caches of labels
    relay.forget()
    second = sidecar.ask(request(**questions))
    assert (first.status, second.status) == (200, 200)
    assert len(second.json()["answers"]["year"]["probabilities"]) == 39
    assert relay.asked.count(b" HTTP/1.1\r\n") == relay.asked.count(b"_msearch") == 1
    retrievals = [line for line in relay.asked.splitlines() if line.startswith(b'{"') and b'"query"' in line]
    corrections = [line for line in retrievals if b'"human"' in line and b'"operator":"and"' in line]
    assert len(retrievals) - len(corrections) == len(questions)  # each of them has a scope of its own
    assert len(corrections) <= len(questions)


def test_05_dotted_options_and_the_confidence_formula(intents: RunningSidecar) -> None:
    answered = intents.ask(request(quantity=choice(*QUANTITIES))).json()
    answer, evidence = answered["answers"]["quantity"], answered["decisions"]["evidence"]["quantity"]
    probabilities = answer["probabilities"]
    assert list(probabilities) == QUANTITIES
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-6)
    assert answer["choice"] == max(probabilities, key=probabilities.__getitem__) == "MagneticField"
    top, n = probabilities["MagneticField"], len(QUANTITIES)
    assert answer["confidence"] == pytest.approx((top - 1 / n) / (1 - 1 / n), abs=2e-6)
    assert evidence["support"] == pytest.approx(top, abs=1 / n)


def test_06_a_label_outside_the_options_is_never_answered(intents: RunningSidecar) -> None:
    refused = intents.ask(request(quantity=choice("circus", "opera")))
    assert refused.status == 422
    assert refused.json()["detail"]["error_type"] == "no_support"
    assert "quantity" in refused.json()["detail"]["message"]


def test_07_questions_of_one_request_draw_on_different_labels(intents: RunningSidecar) -> None:
    questions = {"quantity": choice(*QUANTITIES), "frame": choice("GSE", "GSM", "RTN")}
    answered = intents.ask(request(**questions)).json()
    assert answered["decisions"]["index"] == INTENT
    assert {name: answer["choice"] for name, answer in answered["answers"].items()} == {
        "quantity": "MagneticField",
        "frame": "GSE",
    }


def test_08_wording_changes_nothing(intents: RunningSidecar) -> None:
    questions = [choice(*QUANTITIES, instructions=each) for each in (None, "Which?", "Welche Größe ist gemeint? " * 50)]
    answers = [intents.ask(request(quantity=question)).json()["answers"] for question in questions]
    assert answers[0] == answers[1] == answers[2]


def test_09_the_shape_of_the_state_changes_nothing(sidecar: RunningSidecar) -> None:
    text = "I want my money back for the broken sensor"
    answered = [
        sidecar.ask(request(state, queue=choice("refunds", "returns", "billing", "shipping")), history="support").json()
        for state in ({"question": text}, {"product": text}, text)
    ]
    assert answered[0]["decisions"]["index"] == SUPPORT
    assert answered[0]["answers"] == answered[1]["answers"] == answered[2]["answers"]
