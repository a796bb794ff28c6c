"""`sidecar import` against a node that has no room for a moment."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli_words import Run

FIELDS = {"text": {"text": {"searchable": True}}, "label": {"keyword": {"searchable": True, "aggregatable": True}}}
CREATED: dict[str, Any] = {"status": 201, "result": "created"}
FULL: dict[str, Any] = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "full"}}
REFUSED: dict[str, Any] = {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "no"}}


class FullNode(BaseHTTPRequestHandler):
    """Takes the second of three documents never and the first at its second try."""

    protocol_version = "HTTP/1.1"
    tries: dict[str, int]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer: dict[str, Any] = {"fields": FIELDS, "count": 2}
        if self.path.startswith("/_bulk"):
            answer = {"errors": True, "items": [{"create": self._item(line)} for line in body.splitlines()[::2]]}
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_PUT(self) -> None:
        self.do_POST()

    def _item(self, line: bytes) -> dict[str, Any]:
        name = json.loads(line)["create"]["_id"]
        self.tries[name] = self.tries.get(name, 0) + 1
        outcome = {"first": FULL if self.tries[name] == 1 else CREATED, "second": REFUSED}.get(name, CREATED)
        return {"_index": "cases", "_id": name, **outcome}

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def full_node() -> Iterator[str]:
    """Its address."""
    FullNode.tries = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), FullNode) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_what_is_sent_again_keeps_its_line(full_node: str, tmp_path: Path, run: Run) -> None:
    """The node's 429 is tried again, so that outcomes come in another order than lines."""
    file = tmp_path / "cases.csv"
    file.write_text("id,text,label\nfirst,one,a\nsecond,two,b\nthird,three,c\n")
    done = run("import", str(file), "--upstream", full_node, "--index", "cases", "--id", "id")
    assert done.status == 1
    assert FullNode.tries == {"first": 2, "second": 1, "third": 1}
    assert [line for line in done.err.splitlines() if line.startswith("line ")] == [
        "line 3: the node refused it: mapper_parsing_exception (status 400)"
    ]
    assert "2 cases loaded, 0 already there, 1 rejected" in done.err
