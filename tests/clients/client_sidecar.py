"""A real sidecar process in front of a real node, with histories to vote on."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from client_environments import KEY, environ

from sidecar.engine import free_port

READY_LIMIT_S = 60
SUPPORT, SMS, INTENT = "clients-support", "clients-sms", "clients-intent"
"""Indices of the histories: support messages, short messages (spam or ham), requests of a space physicist."""

URGENCY = {"login": "2", "bugs": "2", "sales": "0", "feature-requests": "0"}  # every other queue: "1"
QUEUES = ("billing", "refunds", "shipping", "returns", "login", "bugs", "feature-requests", "sales", "cancellation")

SETTINGS = f"""
[decisions]
index = "{SMS}"
write_back = false
positive_label = "spam"

[histories.support]
index = "{SUPPORT}"
positive_label = "refunds"
[histories.support.questions.urgency]
label_field = "urgency"
"""
"""The default history is the short messages; the support messages go by path or model name.

Nothing is written back: labels that arrive between two calls of a suite may rightly change its answers.
"""


@dataclass(frozen=True)
class Answer:
    """One HTTP answer, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@dataclass(frozen=True)
class RunningSidecar:
    """A `sidecar serve` that answers."""

    url: str
    native_url: str
    log: Path

    @property
    def systemone(self) -> str:
        """The complete address that jev-reranker wants."""
        return f"{self.url}/v1/systemone"

    def history(self, name: str) -> str:
        """The base address that selects a history by its path."""
        return f"{self.native_url}/histories/{name}"

    def ask(self, body: object, headers: Mapping[str, str] | None = None, history: str | None = None) -> Answer:
        """POST to `/v1/systemone`; bytes go as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        url = self.systemone if history is None else f"{self.history(history)}/v1/systemone"
        return call("POST", url, data, {"Content-Type": "application/json", **(headers or {})})

    def logged(self) -> list[dict[str, Any]]:
        """The log so far: one object a line."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


Start = Callable[..., RunningSidecar]
"""Starts a sidecar with these settings, or gives the one that runs with them."""


def call(method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """One plain exchange."""
    request = urllib.request.Request(url, body, dict(headers or {}), method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as response:
            return Answer(response.status, lower_names(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, lower_names(error.headers), error.read())


def lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name."""
    return {name.lower(): value for name, value in headers.items()}


@contextmanager
def running_sidecar(upstream: str, folder: Path, settings: str = SETTINGS, *flags: str) -> Iterator[RunningSidecar]:
    """Start `sidecar serve` with a settings file and stop it at the end of the block."""
    port, native_port = free_port(), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    file, log = folder / "sidecar.toml", folder / "sidecar.log"
    file.write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "sidecar", "serve", "--config", str(file), "--upstream", upstream]
    command += ["--port", str(port), "--native-port", str(native_port), *flags]
    with log.open("wb") as output, subprocess.Popen(command, stderr=output, stdout=output, env=environ()) as process:
        try:
            native_url = f"http://127.0.0.1:{native_port}"
            wait_until_it_answers(process, f"{native_url}/health/live", log)
            yield RunningSidecar(f"http://127.0.0.1:{port}", native_url, log)
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_until_it_answers(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Until a GET is answered with 200; AssertionError with the log when the process ends or takes too long."""
    deadline = time.monotonic() + READY_LIMIT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the process ended with {process.returncode}:\n{log.read_text()}"
        try:
            if call("GET", url).status == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{url} did not answer:\n{log.read_text()}")


def wait_until_loaded(sidecar: RunningSidecar) -> None:
    """Until the local model is in memory; AssertionError with the log when that takes too long."""
    deadline = time.monotonic() + READY_LIMIT_S
    while not call("GET", f"{sidecar.url}/_decide/_status").json()["tiers"]["local"]["loaded"]:
        assert time.monotonic() < deadline, f"the local model did not load:\n{sidecar.log.read_text()}"
        time.sleep(0.1)


def with_key(settings: str) -> str:
    """The same settings, but callers need the documented dummy key."""
    return f'{settings}\n[auth.keys]\nclients = "{hashlib.sha256(KEY.encode()).hexdigest()}"\n'


def support_cases() -> list[dict[str, Any]]:
    """The demo's decided support messages: text, queue, and how soon somebody should look."""
    lines = (resources.files("sidecar") / "demo" / "history.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(lines)
    return [{**row, "urgency": URGENCY.get(row["label"], "1")} for row in rows]


def sms_cases() -> list[dict[str, Any]]:
    """4,000 short messages, spam or ham. SystemExit where the labelled sets are missing."""
    from benchmarks.datasets import sms_spam

    return [{"text": row.text, "label": row.label} for row in sms_spam()[0]]


def load_history(upstream: str, index: str, cases: Iterable[Mapping[str, Any]]) -> None:
    """Fill an index with decided cases, directly on the node; every field but the text is a label."""
    cases = list(cases)
    labels = {name: {"type": "keyword"} for case in cases for name in case if name != "text"}
    mapping = {"settings": {"number_of_shards": 1}, "mappings": {"properties": {"text": {"type": "text"}, **labels}}}
    as_json = {"Content-Type": "application/json"}
    made = call("PUT", f"{upstream}/{index}", json.dumps(mapping).encode(), as_json)
    assert made.status == 200, made.body
    lines = [line for n, case in enumerate(cases) for line in (f'{{"index":{{"_id":"{n}"}}}}', json.dumps(case))]
    body = "\n".join([*lines, ""]).encode()
    stored = call("POST", f"{upstream}/{index}/_bulk?refresh=true", body, {"Content-Type": "application/x-ndjson"})
    assert stored.status == 200, stored.body
    assert stored.json()["errors"] is False
