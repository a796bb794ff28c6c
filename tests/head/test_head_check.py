"""`sidecar head check` on the tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli.head import head
from sidecar.errors import LocalUnavailable

pytestmark = pytest.mark.timeout(120)


def test_it_shows_the_entailment_row_samples_throughput_and_memory(tiny_model_dir: Path) -> None:
    shown = CliRunner().invoke(head, ["check", str(tiny_model_dir), "--device", "cpu"], catch_exceptions=False)
    assert shown.exit_code == 0
    for part in ("entailment is row 0", "This example is shipping.", "pairs a second", "MiB"):
        assert part in shown.output


def test_as_json(tiny_model_dir: Path) -> None:
    shown = CliRunner().invoke(
        head, ["check", str(tiny_model_dir), "--device", "cpu", "--threads", "1", "--json"], catch_exceptions=False
    )
    report = json.loads(shown.output)
    assert report["labels"][report["entailment_row"]] == "entailment"
    assert report["threads"] == 1
    assert report["pairs_per_s"] > 0
    holds, also_holds, does_not = (sample["entailment"] for sample in report["samples"])
    assert min(holds, also_holds) > 0.5 > does_not


def test_a_wrong_directory_is_an_error_for_the_person(tmp_path: Path) -> None:
    with pytest.raises(LocalUnavailable, match=r"missing: config\.json"):
        CliRunner().invoke(head, ["check", str(tmp_path)], catch_exceptions=False)
