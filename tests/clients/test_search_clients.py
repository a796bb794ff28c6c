"""Official clients of Elasticsearch and OpenSearch, unmodified, each against a node of its own release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from client_environments import python_environment
from client_sidecar import SUPPORT, RunningSidecar
from compatibility import Records

from sidecar.engine import RunningNode

CLIENTS = {
    # id: environment, module, node, media type the caller asks with, media type of the answer
    "elasticsearch-7.17.12": ("elasticsearch7", "elasticsearch", "elasticsearch7", "application/json", None),
    "elasticsearch-7.17.12-vendored": (
        "elasticsearch7",
        "elasticsearch",
        "elasticsearch7",
        "application/vnd.elasticsearch+json; compatible-with=7",
        None,
    ),
    "elasticsearch-8.19.3": (
        "elasticsearch8",
        "elasticsearch",
        "elasticsearch8",
        "application/json",
        "application/vnd.elasticsearch+json;compatible-with=8",
    ),
    "elasticsearch-9.5.1": (
        "elasticsearch9",
        "elasticsearch",
        "elasticsearch9",
        "application/json",
        "application/vnd.elasticsearch+json;compatible-with=9",
    ),
    "opensearch-py-3.2.0": ("opensearch", "opensearchpy", "opensearch3", "application/json", None),
}
GATE = {
    "elasticsearch7": "elasticsearch 7",
    "elasticsearch8": "elasticsearch 8",
    "elasticsearch9": "elasticsearch 9",
    "opensearch": "opensearch-py",
}
Sidecars = Callable[[str], tuple[RunningNode, RunningSidecar]]


@pytest.mark.parametrize("client", [name for name in CLIENTS if not name.endswith("vendored")])
def test_a_client_gets_through_the_sidecar_what_the_node_says(
    client: str, support_sidecars: Sidecars, records: Records
) -> None:
    environment, module, engine, *_ = CLIENTS[client]
    node, sidecar = support_sidecars(engine)
    packages = python_environment(environment)
    through = packages.script("search_client.py", module, sidecar.url, "clients-through")
    assert through["index"] == "created"
    assert through["get"] == {"text": "Wo bleibt mein Paket? 配送 📦", "n": 1000}
    assert through["exists"] == [True, False]
    assert [hit[0] for hit in through["search"]] == [through["get_id"]]
    assert through["bulk"] == [250, []]
    assert through["count"] == 251
    assert through["scan"] == [*range(250), 1000]
    assert through["delete"] == "deleted"
    assert (through["missing"]["class"], through["missing"]["status"]) == ("NotFoundError", 404)
    assert (through["conflict"]["class"], through["conflict"]["status"]) == ("ConflictError", 409)
    assert through["no_index"]["status"] == 404
    # The rest (a refused query, the product check, ids, scores) is the node's: nothing differs from a direct call.
    assert through == packages.script("search_client.py", module, node.url, "clients-direct")
    records.add(GATE[environment], title(node), "index, get, search, bulk, scan, delete and its exceptions: as direct")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_asks_for_a_decision(client: str, support_sidecars: Sidecars, records: Records) -> None:
    environment, module, engine, asked, answered = CLIENTS[client]
    node, sidecar = support_sidecars(engine)
    question = "The tracking for my parcel hasn't moved for a week, where is the courier with it?"
    result = python_environment(environment).script(
        "search_client_decide.py", module, sidecar.url, f"{SUPPORT}-small", question, asked
    )
    answer = result["answer"]
    assert (answer["label"], answer["tier"], len(answer["neighbours"])) == ("shipping", "history", 10)
    if answered is not None:
        assert result["content_type"].replace(" ", "") == answered
    refusal(result["no_such_index"], "history_index_error", "no-such-history")
    refusal(result["no_question"], "illegal_argument", "question")
    refusal(result["pattern"], "illegal_argument", "*")
    records.add(
        GATE[environment], title(node), "`POST /_decide` by `perform_request`, and the reason in its exceptions"
    )


def title(node: RunningNode) -> str:
    """Engine and release."""
    return f"{'OpenSearch' if node.engine == 'opensearch' else 'Elasticsearch'} {node.version}"


def refusal(raised: dict[str, Any], kind: str, word: str) -> None:
    """The client's own exception carries our status, type and reason."""
    assert raised["status"] == 422
    assert raised["body"]["error"]["type"] == kind
    reason = raised["body"]["error"]["reason"]
    assert word in reason
    assert reason in raised["text"]
