"""Ports and the words for a node that did not come up."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from sidecar.engine.ready import check_port, explain_end, free_port, tail
from sidecar.errors import EngineError


def test_a_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(EngineError, match=f"port {port} is taken.*choose another port"):
            check_port(port)


def test_a_free_port() -> None:
    check_port(free_port())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("BindHttpException: Failed to bind", "port was taken in the meantime", id="port"),
        pytest.param("There is insufficient memory for the Java", "for lack of memory", id="memory"),
        pytest.param("unknown setting [x]", "ended by itself; its log ends with:\nunknown setting [x]", id="other"),
    ],
)
def test_why_a_node_ended(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "log").write_text(text)
    assert said in explain_end("OpenSearch 3.8.0", tmp_path / "log")


def test_tail_leaves_stack_frames_and_progress_out(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\ntwo\n[now][INFO ][x] up\n\tat java.lang.Thread.run\nthree\n\n")
    assert tail(tmp_path / "log", 2) == "two\nthree"
    assert tail(tmp_path / "none") == "(no log)"
