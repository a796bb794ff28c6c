"""G9: decision-gateway, which records decisions and answers repeats from its store."""

from __future__ import annotations

from pathlib import Path

from client_environments import Environment
from client_sidecar import RunningSidecar
from compatibility import Proved
from test_gate_sdk import QUESTIONS, STATE

MODELS = """
[models.jev]
backend = "typesafe"
model = "support"
base_url = "{url}"
compression = false
"""


def test_g9_the_same_answer_and_a_repeat_from_its_store(
    systemone: Environment, sidecar: RunningSidecar, tmp_path: Path, proved: Proved
) -> None:
    models = tmp_path / "models.toml"
    models.write_text(MODELS.format(url=sidecar.url), encoding="utf-8")
    # No score: the gateway wants integer keys in a legend, which no JSON has, and passes such answers unrecorded.
    ask = {"state": STATE, "questions": {name: QUESTIONS[name] for name in ("refund", "queue")}}
    result = systemone.script("gateway.py", str(models), str(tmp_path / "store.sqlite"), ask)
    direct = sidecar.ask({"model": "support", **ask}).json()
    (observed,) = result["observed"]
    assert observed["answers"] == direct["answers"]
    assert result["answers"][0] == result["answers"][1]
    assert result["hits"] == [0, 1]
    proved("G9", "noul and choice: the same answer direct and through it; a repeat comes from its store")
