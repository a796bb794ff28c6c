"""G1, G2: the conformance suite of the System One wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from client_environments import KEY, Environment
from client_sidecar import SETTINGS, RunningSidecar, Start, load_history, with_key
from compatibility import Proved

from sidecar.engine import RunningNode

TICKET = "Hi, I was charged twice for my March invoice and the refund I was promised last week has not arrived"
KOREAN = "배송이 3일째 안 와요. 그냥 환불해 주세요"
CONFORMANCE = "clients-conformance"
SCORES = ("anger", "mood", "polite", "x_y_z")
COVERING = f'[decisions]\nindex = "{CONFORMANCE}"\nwrite_back = false\npositive_label = "Billing"\n' + "".join(
    f'[decisions.questions.{name}]\nlabel_field = "{field}"\n'
    for name, field in [*((name, "level") for name in SCORES), ("lang", "lang")]
)


def covering_cases() -> list[dict[str, Any]]:
    """A history that covers nearly all that the suite asks: whatever still fails is the wire's own."""
    texts = [(TICKET, "Billing", "Technical"), ("Hello there", "Red", "Green"), (KOREAN, "환불 요청", "배송 문의")]
    return [
        {"text": f"{text} {n}", "label": one if n % 3 else other, "level": str(n % 2), "lang": "English"}
        for text, one, other in texts
        for n in range(10)
    ]


def conformance(environment: Environment, sidecar: RunningSidecar, folder: Path, *arguments: str) -> dict[str, Any]:
    """Run the suite; its report."""
    report = folder / "report.json"
    ran = environment.tool("jevcompat", "test", sidecar.url, "--json", str(report), *arguments)
    assert report.is_file(), ran.err + ran.out
    return {"exit": ran.status, "out": ran.out, **json.loads(report.read_text(encoding="utf-8"))}


def results(report: dict[str, Any], level: str, status: str) -> set[str]:
    """Ids of the requirements of a level that came out like this."""
    return {result["id"] for result in report["results"] if (result["level"], result["status"]) == (level, status)}


OURS = {"response.extensions"}
"""The suite wants a prefix on every added field; the `decisions` block is where the contract puts ours."""


def check_conformant(report: dict[str, Any], not_applicable: str) -> None:
    """Every MUST that applies passes (exactly one of the two about keys does), every SHOULD but the known one."""
    assert report["exit"] == 0, report["out"]
    assert report["summary"]["MUST"] == {"passed": 32, "failed": 0, "skipped": 1, "tested": 32}
    assert results(report, "MUST", "skip") == {not_applicable}
    assert results(report, "SHOULD", "fail") == OURS
    blocks = [finding for result in report["results"] if result["id"] in OURS for finding in result["findings"]]
    assert blocks
    assert all("unprefixed top-level field(s) decisions" in str(finding) for finding in blocks)


def test_g1_conformant_with_the_local_model(
    systemone: Environment, start_armed: Start, tmp_path: Path, proved: Proved
) -> None:
    report = conformance(systemone, start_armed(), tmp_path)
    check_conformant(report, not_applicable="auth.bearer")
    proved("G1", "conformant, MUST 32 of 32 that apply; the `decisions` block is the one SHOULD it reports")


def test_g1_conformant_from_history_and_model(
    systemone: Environment, histories: RunningNode, start_armed: Start, tmp_path: Path
) -> None:
    load_history(histories.url, CONFORMANCE, covering_cases())
    report = conformance(systemone, start_armed(COVERING), tmp_path)
    check_conformant(report, not_applicable="auth.bearer")


def test_g2_conformant_with_keys(systemone: Environment, start_armed: Start, tmp_path: Path, proved: Proved) -> None:
    report = conformance(systemone, start_armed(with_key(SETTINGS)), tmp_path, "--key", KEY)
    check_conformant(report, not_applicable="auth.ignored-when-off")
    proved("G2", "conformant, MUST 32 of 32 that apply; a missing or wrong key is refused as it should be")
