"""G8: stuntd as a proxy between the official SDK and the sidecar."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_environments import KEY, Environment
from client_sidecar import RunningSidecar, call, wait_until_it_answers
from compatibility import Proved
from test_gate_sdk import ASK, QUESTIONS, STATE, sdk

from sidecar.engine import free_port

LIMIT_S = 60


class Stuntd:
    """A running `stuntd serve`."""

    def __init__(self, url: str, packages: Environment, config: Path, env: dict[str, str]) -> None:
        self.url = url
        self._packages, self._config, self._env = packages, config, env

    def captures(self) -> int:
        """How many answers it has recorded."""
        ran = self._packages.tool("stuntd", "status", "--json", "--config", str(self._config), env=self._env)
        assert ran.status == 0, ran.err
        return sum(site["captures"] for site in json.loads(ran.out)["sites"])


@pytest.fixture
def stuntd(systemone: Environment, sidecar: RunningSidecar, tmp_path: Path) -> Iterator[Stuntd]:
    """stuntd in front of the sidecar, with a folder of its own."""
    port, config, log = free_port(), tmp_path / "stuntd.toml", tmp_path / "stuntd.log"
    config.write_text(f'[jev]\nupstream = "{sidecar.url}"\n', encoding="utf-8")
    env = {"STUNTD_DATA_DIR": str(tmp_path / "data")}
    with systemone.serve("stuntd", "serve", "--config", str(config), "--port", str(port), env=env, log=log) as process:
        try:
            wait_until_it_answers(process, f"http://127.0.0.1:{port}/healthz", log)
            yield Stuntd(f"http://127.0.0.1:{port}", systemone, config, env)
        finally:
            process.terminate()


def without_time(body: bytes) -> bytes:
    """An answer without the one thing that differs from call to call."""
    return re.sub(rb'"took_ms":\d+', b'"took_ms":0', body)


def test_g8_answers_come_back_byte_for_byte(
    systemone: Environment, sidecar: RunningSidecar, stuntd: Stuntd, proved: Proved
) -> None:
    body = json.dumps({"model": "support", "state": STATE, "questions": QUESTIONS}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    through = call("POST", f"{stuntd.url}/v1/systemone", body, headers)
    direct = call("POST", f"{sidecar.url}/v1/systemone", body, headers)
    assert (through.status, direct.status) == (200, 200)
    assert without_time(through.body) == without_time(direct.body)
    assert through.headers["x-typesafe-request-id"].startswith("req_")
    by_sdk, listed = sdk(systemone, stuntd.url, [ASK, {"do": "models"}])
    assert by_sdk["body"]["answers"] == direct.json()["answers"]
    assert [model["name"] for model in listed["models"]] == ["xerj-history-vote-1", "support"]
    proved("G8", "answers come back byte for byte through it, and `/v1/models` is relayed")


def test_g8_captures_are_recorded(systemone: Environment, stuntd: Stuntd, proved: Proved) -> None:
    assert stuntd.captures() == 0
    (answered,) = sdk(systemone, stuntd.url, [ASK])
    deadline = time.monotonic() + LIMIT_S
    while stuntd.captures() < len(answered["answers"]):  # it records after it has answered
        assert time.monotonic() < deadline, "stuntd recorded too few answers"
    proved("G8", "it records what it relays")
