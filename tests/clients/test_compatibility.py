"""`docs/compatibility.md` says what this run has shown, no more and no less."""

from __future__ import annotations

import os

import pytest
from compatibility import PAGE, Records, render_page


def test_the_page_is_what_the_gates_have_shown(records: Records) -> None:
    if missing := records.missing():
        pytest.skip(f"this run has not shown {', '.join(missing)}; run all of tests/clients for the whole page")
    page = render_page(records)
    if os.environ.get("SIDECAR_WRITE_COMPATIBILITY"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page, (
        "renew it: SIDECAR_WRITE_COMPATIBILITY=1 make test ARGS=tests/clients"
    )
