"""Commands run as a shell would run them, and the node's own word on what they did."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
import uuid
from typing import Any

import pytest
from cli_words import Ask, Done, Run

from sidecar.cli import main


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("import", "x.csv")` runs the command line in this process, without settings of the environment."""
    for name in [name for name in os.environ if name.startswith(("SIDECAR_", "XERJ_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["sidecar", *words])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    return command


@pytest.fixture
def ask() -> Ask:
    """`ask(node.url, "GET", "/index/_count")` gives the node's answer."""

    def call(url: str, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    return call


@pytest.fixture
def index() -> str:
    """An index name of this test's own; nodes are shared."""
    return f"cli-{uuid.uuid4().hex[:12]}"
