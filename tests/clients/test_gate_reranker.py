"""G6: jev-reranker against short messages, spam or ham. The numbers are those of its acceptance checks."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from client_environments import KEY, Environment
from client_relay import Relay
from client_sidecar import SETTINGS, SMS, SUPPORT, RunningSidecar, Start, call, with_key
from compatibility import Proved

SPAM = (
    "FREE entry to win a cash prize! Text WIN to 80086 now, claim your guaranteed award, "
    "call 09061701461, costs 150p per msg"
)
MIXED = "sorry, i got a text to claim a free phone but ok i will be home later"
HAM = "ok i will be home late tonight, sorry, did you eat yet? see you later love"
DOCUMENTS = [HAM, SPAM, MIXED]
NEUTRAL, SPAMMY = "text", "WINNER claim free prize"
CLASSIFY = {
    "instructions": "Is {document} an advertisement?",
    "criteria": {"true": "It sells something", "false": "It is from a friend"},
}
POINTWISE, PAIRWISE = {"mode": "pointwise"}, {"mode": "pairwise"}


@pytest.fixture
def rerank(systemone: Environment, sidecar: RunningSidecar) -> Any:
    """`rerank({...}, …)`: each call as `scripts/rerank.py` takes it, against the shared sidecar."""
    return lambda *calls: reranked(systemone, sidecar.systemone, *calls)


def reranked(environment: Environment, endpoint: str, *calls: dict[str, Any]) -> Any:
    """Run calls in jev-reranker; the result of each, all of them where there are several."""
    filled = [{"query": NEUTRAL, "documents": DOCUMENTS, **each} for each in calls]
    results = environment.script("rerank.py", filled, env={"TYPESAFE_ENDPOINT": endpoint})
    return results if len(results) > 1 else results[0]


def scores(result: dict[str, Any]) -> dict[int, float]:
    """Score by position in the caller's list."""
    return {each["document_index"]: each["score"] for each in result["results"]}


def order(result: dict[str, Any]) -> list[int]:
    """Positions, best first."""
    return [each["document_index"] for each in result["results"]]


def payloads(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What the client sent."""
    return [each["payload"] for each in result["detail"]["requests"]]


def responses(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What the sidecar answered."""
    return [each["response"] for each in result["detail"]["requests"]]


def test_g6_gate_sizes_complete(rerank: Any, proved: Proved) -> None:
    long = [f"{text} {n} " * 20 for n in range(34) for text in DOCUMENTS][:100]
    short = [f"{text[:40]} {n}" for n in range(50) for text in DOCUMENTS]
    hundred, many = rerank({"documents": [text[:900] for text in long]}, {"documents": short})
    assert [len(each["questions"]) for each in payloads(hundred)] == [25] * 4
    assert [len(each["questions"]) for each in payloads(many)] == [75] * 2
    assert sorted(order(hundred)) == list(range(100))
    assert sorted(order(many)) == list(range(150))
    proved("G6", "100 × 900 characters in 4 calls and 150 short documents in 2 complete")


def test_g6_01_endpoint_and_dummy_key_reroute(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    result = reranked(systemone, sidecar.systemone, {})
    assert result["detail"]["configuration"]["endpoint"] == sidecar.systemone
    assert result["detail"]["resolved_models"] == ["xerj-history-vote-1"]
    proved("G6", "`TYPESAFE_ENDPOINT` and a dummy key are all it takes")


def test_g6_02_listwise_order(rerank: Any, proved: Proved) -> None:
    result = rerank({})
    assert len(payloads(result)) == 1
    assert order(result) == [1, 2, 0]
    assert scores(result)[1] > scores(result)[2] > scores(result)[0]
    proved("G6", "listwise, pointwise and pairwise put spam before mixed before ham")


def test_g6_03_a_spammy_query_narrows_the_gap(rerank: Any) -> None:
    neutral, spammy = rerank({}, {"query": SPAMMY})
    assert order(spammy) == order(neutral)
    gaps = [scores(each)[1] - scores(each)[0] for each in (neutral, spammy)]
    assert 0.3 <= gaps[1] < gaps[0]


def test_g6_04_without_the_query_it_does_not_matter(rerank: Any, proved: Proved) -> None:
    options = {"options": {"instruction": CLASSIFY}}
    one, other = rerank(options, {**options, "query": SPAMMY})
    assert scores(one) == scores(other)
    proved("G6", "an instruction that does not name the query classifies documents alone")


def test_g6_05_pointwise_equals_listwise(rerank: Any) -> None:
    listwise, pointwise = rerank({}, {"init": POINTWISE})
    assert len(payloads(pointwise)) == len(DOCUMENTS)
    assert scores(pointwise) == scores(listwise)


def test_g6_06_relevance_ignores_the_rubric(rerank: Any, proved: Proved) -> None:
    plain, relevance = rerank({}, {"method": "relevance_rerank", "options": {"threshold": 0.0}})
    assert "rubric" in payloads(relevance)[0]["state"]
    assert scores(relevance) == scores(plain)
    evidence = responses(relevance)[0]["decisions"]["evidence"]["doc_0"]
    assert evidence["references"]["skipped"] == ["rubric"]
    proved("G6", "`relevance_rerank` scores like `rerank`: judging prose never votes")


def test_g6_07_a_changed_preset_sends_no_rubric(rerank: Any, systemone: Environment) -> None:
    preset = systemone.script("relevance_preset.py")
    preset["instructions"] += "!"
    plain, changed = rerank({}, {"method": "relevance_rerank", "options": {"threshold": 0.0, "instruction": preset}})
    assert "rubric" not in payloads(changed)[0]["state"]
    assert scores(changed) == scores(plain)


def test_g6_08_the_relevance_preset_in_rerank(rerank: Any) -> None:
    plain, preset = rerank({}, {"options": {"instruction": "RELEVANCE_INSTRUCTION"}})
    assert "rubric" in payloads(preset)[0]["state"]
    assert scores(preset) == scores(plain)


def test_g6_09_the_threshold_is_inclusive(rerank: Any) -> None:
    score = scores(rerank({}))[2]
    at, above = rerank({"options": {"threshold": score}}, {"options": {"threshold": math.nextafter(score, 1)}})
    assert order(at) == [1, 2]
    assert order(above) == [1]


def test_g6_10_pairwise_orders_like_pointwise(rerank: Any) -> None:
    documents = [*DOCUMENTS, "did you get the free prize text, call me when you are home ok"]
    pairwise, pointwise = rerank(
        {"init": PAIRWISE, "documents": documents}, {"init": POINTWISE, "documents": documents}
    )
    assert len(payloads(pairwise)) == 6
    assert order(pairwise) == order(pointwise)
    assert len(set(scores(pairwise).values())) == 4
    for compared in (each for document in pairwise["detail"]["documents"] for each in document["comparisons"]):
        assert compared["forward_noul"] + compared["reverse_noul"] == pytest.approx(1, abs=2e-6)


def test_g6_11_pairwise_of_one_sends_nothing(rerank: Any) -> None:
    result = rerank({"init": PAIRWISE, "documents": [SPAM]})
    assert payloads(result) == []
    assert scores(result) == {0: 0.5}


def test_g6_12_duplicates_tie_in_input_order(rerank: Any) -> None:
    result = rerank({"documents": [MIXED, SPAM, MIXED, SPAM]})
    assert order(result) == [1, 3, 0, 2]
    assert scores(result)[0] == scores(result)[2]
    assert scores(result)[1] == scores(result)[3]


def test_g6_13_long_lists_are_split(rerank: Any, proved: Proved) -> None:
    documents = [(f"{DOCUMENTS[n % 3]} {n} " * 40)[:2000] for n in range(100)]
    result = rerank({"documents": documents})
    ids = [list(each["questions"]) for each in payloads(result)]
    assert len(ids) > 1
    assert any(numbers != sorted(numbers) for numbers in ([int(name[4:]) for name in chunk] for chunk in ids))
    assert sorted(name for chunk in ids for name in chunk) == sorted(f"doc_{n}" for n in range(100))
    assert sorted(order(result)) == list(range(100))
    proved("G6", "100 × 2,000 characters are scored once each, over several calls")


def test_g6_14_a_low_limit_makes_it_split_further(systemone: Environment, start: Start, proved: Proved) -> None:
    small = start(f"{SETTINGS}\n[limits]\nbody_bytes = 12000\n")
    documents = [f"{DOCUMENTS[n % 3]} {n}" * 8 for n in range(30)]
    result, whole = reranked(systemone, small.systemone, {"documents": documents}, {"documents": documents[:3]})
    assert result["detail"]["usage"]["max_tokens_errors"] > 0
    assert sorted(order(result)) == list(range(30))
    assert {n: scores(result)[n] for n in range(3)} == scores(whole)
    proved("G6", "a body above the limit gets `max_tokens_exceeded`; it splits the list and succeeds")


def test_g6_15_bodies_above_a_mebibyte(rerank: Any) -> None:
    init = {"document_max_length": None, "split_state_budget": 4_000_000, "split_request_budget": 4_000_000}
    result = rerank({"init": init, "documents": [SPAM + " ." * 600_000, HAM]})
    (answered,) = responses(result)
    assert scores(result)[0] > scores(result)[1]
    assert answered["decisions"]["evidence"]["doc_0"]["truncated"] is True


def test_g6_16_counts_ids_and_finite_numbers(rerank: Any) -> None:
    results = rerank({}, {"init": POINTWISE}, {"init": PAIRWISE}, {"method": "relevance_rerank"})
    for result in results:
        for asked, answered in zip(payloads(result), responses(result), strict=True):
            assert list(answered["answers"]) == list(asked["questions"])
            assert all(type(count) is int and count >= 0 for count in answered["usage"].values())
            assert all(math.isfinite(answer["noul"]) for answer in answered["answers"].values())


def test_g6_17_ten_equal_labels_are_exactly_one(rerank: Any) -> None:
    assert scores(rerank({}))[1] == 1.0


def test_g6_18_the_model_is_ours(rerank: Any) -> None:
    for name in ("jev-latest", "jev-1.14.0", "anything else"):
        (answered,) = responses(rerank({"init": {"model": name}}))
        assert answered["model"] == "xerj-history-vote-1"
        assert answered["decisions"]["requested_model"] == name


def test_g6_19_details_hold_the_evidence(rerank: Any, proved: Proved) -> None:
    (answered,) = responses(rerank({}))
    decisions = answered["decisions"]
    assert decisions["index"] == SMS
    assert decisions["evidence"]["doc_1"]["label"] == "spam"
    assert "[REDACTED]" not in json.dumps(answered)
    proved("G6", "`detail=True` keeps the evidence block")


def test_g6_20_empty_documents(rerank: Any) -> None:
    with_query, without = rerank(
        {"documents": ["", SPAM]}, {"documents": ["", SPAM], "options": {"instruction": CLASSIFY}}
    )
    assert sorted(order(with_query)) == [0, 1]
    assert (without["class"], without["status"]) == ("APIError", 422)


def test_g6_21_doubled_backticks_resolve(rerank: Any) -> None:
    doubled = {**CLASSIFY, "instructions": "Is `{document}` an advertisement?"}
    plain, result = rerank({"options": {"instruction": CLASSIFY}}, {"options": {"instruction": doubled}})
    assert "``documents.doc_0``" in payloads(result)[0]["questions"]["doc_0"]["instructions"]
    assert scores(result) == scores(plain)


def test_g6_22_an_unconfigured_history_fails_soon(systemone: Environment, start: Start) -> None:
    empty = start('[decisions]\nindex = ""\n')
    result = reranked(systemone, empty.systemone, {"init": {"max_retries": 1}})
    assert (result["class"], result["status"]) == ("APIError", 503)
    (request,) = result["detail"]["requests"]
    assert request["attempts"] == 2
    assert request["waits"] == [1.0]  # the sidecar's `Retry-After`


def test_g6_23_overload_is_waited_out(
    systemone: Environment, rerank: Any, relay: Relay, behind_relay: Start, proved: Proved
) -> None:
    sidecar = behind_relay(f"{SETTINGS}\n[limits]\nconcurrent_requests = 1\n")
    relay.hold()
    calls = [{"query": NEUTRAL, "documents": DOCUMENTS, "init": POINTWISE}]
    with systemone.begin("rerank.py", calls, env={"TYPESAFE_ENDPOINT": sidecar.systemone}) as run:
        relay.wait_held()
        while b'endpoint="systemone",status="4xx"' not in call("GET", f"{sidecar.native_url}/metrics").body:
            assert run.poll() is None
        relay.release()
        (result,) = json.loads(run.communicate(timeout=60)[0])
    waits = [wait for request in result["detail"]["requests"] for wait in request["waits"]]
    assert waits
    assert set(waits) == {1.0}
    assert scores(result) == scores(rerank({"init": POINTWISE}))
    proved("G6", "overload gets 429 with `Retry-After`; the result is correct once it is over")


def test_g6_24_a_wrong_key_is_tried_once(systemone: Environment, start: Start) -> None:
    keyed = start(with_key(SETTINGS))
    wrong, right = reranked(systemone, keyed.systemone, {"init": {"api_key": "sk-wrong"}}, {"init": {"api_key": KEY}})
    assert (wrong["class"], wrong["status"]) == ("APIError", 401)
    assert wrong["detail"]["usage"]["attempts"] == 1
    assert order(right) == [1, 2, 0]


def test_g6_25_histories_by_path_and_by_model(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    documents = ["I want my money back", "Where is my parcel?"]
    by_default, by_model = reranked(
        systemone, sidecar.systemone, {"documents": documents}, {"documents": documents, "init": {"model": "support"}}
    )
    refunds = f"{sidecar.native_url}/histories/support/v1/systemone"
    by_path = reranked(systemone, refunds, {"documents": documents})
    indices = [responses(each)[0]["decisions"]["index"] for each in (by_default, by_model, by_path)]
    assert indices == [SMS, SUPPORT, SUPPORT]
    proved("G6", "the history is selected by path or by model name")


def test_g6_26_cancelling_cancels_the_searches(
    systemone: Environment, relay: Relay, behind_relay: Start, proved: Proved
) -> None:
    sidecar = behind_relay(SETTINGS)
    relay.hold()
    env = {"TYPESAFE_ENDPOINT": sidecar.systemone}
    with systemone.begin("rerank_cancelled.py", NEUTRAL, DOCUMENTS, env=env) as run:
        relay.wait_held(3)
        assert json.loads(run.communicate("\n", timeout=60)[0]) == "cancelled"
    relay.wait_abandoned(3)
    assert b"/_bulk" not in relay.asked
    proved("G6", "cancelling a call cancels its searches on the node")


def test_g6_27_sixty_calls_in_flight(systemone: Environment, sidecar: RunningSidecar, proved: Proved) -> None:
    documents = [f"{DOCUMENTS[n % 3]} {n}" for n in range(60)]
    env = {"TYPESAFE_ENDPOINT": sidecar.systemone}
    one, *others = systemone.script("rerank_load.py", NEUTRAL, documents, env=env)
    assert len(one) == 60
    assert all(other == one for other in others)
    proved("G6", "three clients with 20 calls in flight each: no error, equal results")


def test_g6_28_the_same_request_twice_is_the_same_bytes(rerank: Any, sidecar: RunningSidecar) -> None:
    (payload,) = payloads(rerank({}))
    one, other = (sidecar.ask(payload).body for _ in range(2))
    answers = [body[body.index(b'"answers"') : body.index(b'"usage"')] for body in (one, other)]
    assert len(answers[0]) > 100
    assert answers[0] == answers[1]
