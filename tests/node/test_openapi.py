"""The OpenAPI document: it says what the code says, and a live sidecar does what it says, whatever it is sent."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from node_harness import on_node
from openapi_document import ERROR_TYPES, PATH, build, render

from sidecar.api import errors
from sidecar.api.index_name import check_index_name
from sidecar.app import Sidecar
from sidecar.engine import RunningNode
from sidecar.errors import IllegalArgument
from sidecar.http1 import Endpoint, route_es_port, route_native_port
from sidecar.http1.route import ALLOWED_METHODS
from sidecar.settings import History, Limits

CASES = int(os.environ.get("SIDECAR_OPENAPI_CASES", "200"))
"""Generated cases per operation; the long form is SIDECAR_OPENAPI_CASES=2000."""

TICKETS = [
    ("I was charged twice for one invoice, please refund me", "billing"),
    ("the invoice shows the wrong amount", "billing"),
    ("where is my parcel, it was due on Monday", "shipping"),
    ("the parcel arrived damaged", "shipping"),
    ("is it true that you refund a wrong invoice", "true"),
    ("0", "0"),
]


def test_the_document_in_the_docs_is_the_generated_one() -> None:
    assert PATH.read_text(encoding="utf-8") == render(), "run: python tests/node/openapi_document.py"


def test_every_route_and_method_is_described() -> None:
    paths = build()["paths"]
    served: set[Endpoint] = set()
    for path, described in paths.items():
        for route in (route_es_port(path), route_native_port(path)):
            if route is not None and route.endpoint is not Endpoint.UNKNOWN:
                methods = {name.upper() for name in described if name not in ("servers", "parameters")}
                assert methods == set(route.allowed_methods), path
                served.add(route.endpoint)
    assert served == {endpoint for endpoint, methods in ALLOWED_METHODS.items() if methods}
    assert {path for path in paths if path.startswith("/histories/")} == {
        "/histories/{name}/v1/systemone",
        "/histories/{name}/v1/models",
    }


def test_every_error_is_described() -> None:
    for status, kind in errors._TABLE.values():
        assert kind in ERROR_TYPES[status]
    table = {kind for _, kind in errors._TABLE.values()}
    assert {kind for kinds in ERROR_TYPES.values() for kind in kinds} == table


def test_limits_are_those_of_the_settings() -> None:
    schemas, limits = build()["components"]["schemas"], Limits()
    assert schemas["SystemOneRequest"]["properties"]["questions"]["maxProperties"] == limits.questions == 300
    assert schemas["ChoiceQuestion"]["properties"]["criteria"]["maxProperties"] == limits.options == 255
    assert schemas["ScoreQuestion"]["properties"]["criteria"]["maxItems"] == limits.levels == 10


@pytest.mark.parametrize("name", ["a", "tickets-1", ".hidden", "...", "é", "", ".", "..", "-a", "_a", "a*", "a,b", "A"])
def test_the_pattern_of_names_is_the_check_of_names(name: str) -> None:
    schema = build()["components"]["schemas"]["DecideRequest"]["properties"]["index"]
    try:
        check_index_name(name)
        is_name = True
    except IllegalArgument:
        is_name = False
    assert bool(re.search(schema["pattern"], name)) == is_name


@contextmanager
def served(url: str) -> Iterator[Sidecar]:
    """A sidecar with a small history, on an event loop of its own: the fuzzer is another process."""
    started: list[Sidecar] = []
    ready, loop, leave = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def run() -> None:
        history = History(index="openapi-tickets")
        async with on_node(url, history, histories={"support": history}) as (node, client):
            documents = [{"text": text, "label": label} for text, label in TICKETS]
            await node.index("openapi-tickets", documents)
            started.append(client.sidecar)
            ready.set()
            await leave.wait()

    def work() -> None:
        try:
            loop.run_until_complete(run())
        finally:
            ready.set()
            loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    assert started, "the sidecar did not start"
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(leave.set)
        thread.join()


def _document_for_a_run(folder: Path) -> Path:
    """The document with the run's own history and index among the names that are tried."""
    document = build()
    for path, described in document["paths"].items():
        described.pop("servers", None)
        if path.startswith("/histories/"):
            schema = described["parameters"][0]["schema"]
            described["parameters"][0]["schema"] = {"anyOf": [{"const": "support"}, schema]}
    index = document["components"]["schemas"]["DecideRequest"]["properties"]
    index["index"] = {"anyOf": [{"const": "openapi-tickets"}, index["index"]]}
    example = document["paths"]["/_decide"]["post"]["requestBody"]["content"]["application/json"]
    example["example"] = example["example"] | {"index": "openapi-tickets"}
    file = folder / "openapi.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def _fuzz(document: Path, url: str, paths: str, folder: Path) -> str:
    settings = folder / "schemathesis.toml"
    settings.write_text(
        # See openapi_hooks: by the contract a valid body may be refused for what it means, with 422.
        '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", "404", "422"]\n',
        encoding="utf-8",
    )
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(settings)]
    command += ["run", str(document), "--url", url, "--include-path-regex", paths, "--checks", "all"]
    command += ["--max-examples", str(CASES), "--seed", "1", "--workers", "2", "--no-color", "--continue-on-failure"]
    command += ["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all", "--request-timeout", "60"]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize(
    ("port", "paths", "operations"),
    [
        pytest.param("es", "^/(_decide|v1)", 6, id="es-port"),
        pytest.param("native", "^/(histories|metrics|health|v1)", 12, id="native-port"),
    ],
)
def test_a_live_sidecar_keeps_to_the_document(
    port: str, paths: str, operations: int, opensearch: RunningNode, tmp_path: Path
) -> None:
    with served(opensearch.url) as sidecar:
        url = sidecar.es_url if port == "es" else sidecar.native_url
        summary = _fuzz(_document_for_a_run(tmp_path), url, paths, tmp_path)
    assert f"{operations} selected" in summary, summary
    assert f"Tested: {operations}" in summary, summary
    generated = re.search(r"(\d+) generated", summary)
    assert generated is not None, summary
    print(f"{port} port: {generated[1]} cases, {operations} operations")
