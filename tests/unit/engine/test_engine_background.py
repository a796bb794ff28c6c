"""State files: only the very process that was started is ever taken for it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.engine.background import BackgroundNode, read_state, write_state
from sidecar.engine.process import Identity, started_at


@pytest.fixture
def state() -> BackgroundNode:
    """A state that names this test's own process."""
    started = started_at(os.getpid())
    assert started is not None
    return BackgroundNode("opensearch3", "OpenSearch 3.8.0", "http://127.0.0.1:9200", "/n", os.getpid(), started)


def test_a_running_process_is_found(tmp_path: Path, state: BackgroundNode) -> None:
    write_state(tmp_path / "a.json", state)
    assert read_state(tmp_path / "a.json") == state
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_recycled_pid_is_not_the_node_and_not_ended(tmp_path: Path, state: BackgroundNode) -> None:
    recycled = replace(state, started="before")
    write_state(tmp_path / "a.json", recycled)
    assert read_state(tmp_path / "a.json") is None
    recycled.identity.end()  # this process would be gone


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '"x"'])
def test_a_damaged_state_is_no_node(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert read_state(tmp_path / "a.json") is None


def test_no_state_is_no_node(tmp_path: Path) -> None:
    assert read_state(tmp_path / "a.json") is None


def test_a_process_that_ended_has_no_start() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    assert started_at(pid) is None
    assert not Identity(pid, "any").is_running
