"""Loaded by schemathesis: what its own checks cannot know of this contract."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis import CheckContext, GenerationMode, Response


@schemathesis.check
def valid_data_is_never_called_misshapen(ctx: CheckContext, response: Response, case: Any) -> None:
    """A body that the schema admits may be refused for what it means, never for its shape.

    Broken references, texts without a word, histories without support and missing indexes are 422 by the contract
    (decide.md section 10); so 422 is an expected status of positive data, and this check makes up for that.
    """
    meta = case.meta
    if meta is None or meta.generation.mode != GenerationMode.POSITIVE or response.status_code != 422:
        return
    detail = response.json()["detail"]
    assert isinstance(detail, dict), f"valid data refused by the list form: {detail}"
    message = detail["message"]
    by_meaning = detail["error_type"] in ("no_support", "history_index_error") or any(
        words in message
        # The last two: capitals beyond ASCII and a length in bytes are more than the schema of a name can say.
        for words in ("`", "no text", "state", "index is required", "is not lower case", "bytes, at most")
    )
    assert by_meaning, f"valid data refused for its shape: {detail}"


@schemathesis.hook
def after_call(context: Any, case: Any, response: Response) -> None:
    """An OPTIONS on the ES port is a preflight and the node's to answer (decide.md section 2): its `Allow` too."""
    if case.method.upper() == "OPTIONS" and response.status_code != 405:
        response.headers.pop("allow", None)
