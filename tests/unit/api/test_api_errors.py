"""The one table from error to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sidecar.api import parse_json, render_error, render_json
from sidecar.errors import (
    CorrectionError,
    EngineError,
    HistoryIndexError,
    HistoryUnavailable,
    IllegalArgument,
    ImportFileError,
    IndexMissing,
    KeyRefused,
    LocalUnavailable,
    MethodNotAllowed,
    NoSupport,
    NotAllowedByNode,
    NotConfigured,
    Problem,
    SchemaViolation,
    SettingsError,
    SidecarError,
    TooLong,
    TooManyRequests,
    UnknownPath,
    UnsupportedMedia,
    UpstreamOverloaded,
)
from sidecar.settings import Limits

RETRY = (("retry-after-ms", "1000"), ("Retry-After", "1"))
BEARER = (("WWW-Authenticate", "Bearer"),)
TWO_CHALLENGES = (("WWW-Authenticate", "Basic"), ("WWW-Authenticate", "ApiKey"))
PROBLEM = Problem(("body", "state"), "Field required", "missing")

CASES: dict[str, tuple[SidecarError, int, str, tuple[tuple[str, str], ...]]] = {
    "illegal argument": (IllegalArgument("m"), 422, "illegal_argument", ()),
    "no support": (NoSupport("m", questions=["a", "b"]), 422, "no_support", ()),
    "index error": (HistoryIndexError("m"), 422, "history_index_error", ()),
    "index missing": (IndexMissing("m"), 422, "history_index_error", ()),
    "not configured": (NotConfigured("m"), 503, "not_configured", RETRY),
    "local": (LocalUnavailable("m"), 503, "local_decide_unavailable", RETRY),
    "node down": (HistoryUnavailable("m"), 503, "history_unavailable", RETRY),
    "deadline": (HistoryUnavailable("m", deadline=True), 504, "history_unavailable", RETRY),
    "node busy": (UpstreamOverloaded("m"), 429, "too_many_requests", RETRY),
    "busy": (TooManyRequests("m"), 429, "too_many_requests", RETRY),
    "node 401": (
        NotAllowedByNode("m", status=401, challenges=["Basic", "ApiKey"]),
        401,
        "security_exception",
        TWO_CHALLENGES,
    ),
    "node 403": (NotAllowedByNode("m", status=403), 403, "security_exception", ()),
    "no key": (KeyRefused("m"), 401, "authentication_error", BEARER),
    "other key": (KeyRefused("m", forbidden=True), 403, "authentication_error", ()),
    "path": (UnknownPath("m"), 404, "not_found", ()),
    "method": (
        MethodNotAllowed("m", allowed=["GET", "HEAD"]),
        405,
        "method_not_allowed",
        (("Allow", "GET, HEAD"),),
    ),
    "media": (UnsupportedMedia("m"), 415, "unsupported_media_type", ()),
    "settings": (SettingsError("m"), 500, "internal_error", ()),
    "engine": (EngineError("m"), 500, "internal_error", ()),
    "import": (ImportFileError("m"), 500, "internal_error", ()),
    "correct": (CorrectionError("m"), 500, "internal_error", ()),
    "base": (SidecarError("m"), 500, "internal_error", ()),
}
OTHER_SHAPES: list[SidecarError] = [SchemaViolation([PROBLEM]), TooLong("m", limit=1, actual=2, setting="s")]


@pytest.mark.parametrize(("error", "status", "kind", "headers"), CASES.values(), ids=CASES.keys())
def test_table(error: SidecarError, status: int, kind: str, headers: tuple[tuple[str, str], ...]) -> None:
    response = render_error(error)
    assert response.status == status
    assert response.headers == headers
    assert render_json(response.body) == render_json(
        {
            "error": {"root_cause": [{"type": kind, "reason": "m"}], "type": kind, "reason": "m"},
            "status": status,
            "detail": {"error_type": kind, "message": "m"},
        }
    )


def every_error(base: type[SidecarError] = SidecarError) -> set[type[SidecarError]]:
    return {base}.union(*(every_error(sub) for sub in base.__subclasses__() if sub.__module__ == "sidecar.errors"))


def test_every_error_is_in_the_table_above() -> None:
    tested = {type(case[0]) for case in CASES.values()} | {type(error) for error in OTHER_SHAPES}
    assert every_error() == tested


def test_schema_violations_list_their_problems() -> None:
    response = render_error(SchemaViolation([PROBLEM, Problem(("body", "questions", "q", 1), "No", "x")]))
    reason = "body.state: Field required; body.questions.q.1: No"
    assert response.status == 422
    assert response.headers == ()
    assert response.body == {
        "error": {
            "root_cause": [{"type": "illegal_argument", "reason": reason}],
            "type": "illegal_argument",
            "reason": reason,
        },
        "status": 422,
        "detail": [
            {"loc": ["body", "state"], "msg": "Field required", "type": "missing"},
            {"loc": ["body", "questions", "q", 1], "msg": "No", "type": "x"},
        ],
    }


def test_a_long_list_of_problems_has_a_short_reason() -> None:
    body: Any = render_error(SchemaViolation([PROBLEM] * 40)).body
    assert len(body["detail"]) == 40
    assert body["error"]["reason"].count("Field required") == 5
    assert body["error"]["reason"].endswith("; and 35 more")


def test_broken_json_names_itself() -> None:
    with pytest.raises(SchemaViolation) as caught:
        parse_json(b"{", Limits())
    body: Any = render_error(caught.value).body
    assert body["detail"][0]["type"] == "json_invalid"
    assert body["error"]["type"] == "illegal_argument"


def test_too_long_as_in_the_wire_contract() -> None:
    """The example of wire.md 5.2 with the setting's name added to its message, and the root cause."""
    error = TooLong("question [doc_3]: 9120 terms", limit=8192, actual=9120, setting="limits.x", questions=["doc_3"])
    example: dict[str, Any] = json.loads(
        """{"error": {"type": "payload_too_large_exception", "reason": "question [doc_3]: 9120 terms, limit 8192"},
 "status": 422,
 "detail": {"error_type": "max_tokens_exceeded", "message": "question [doc_3]: 9120 terms, limit 8192",
            "limit": 8192, "actual": 9120, "questions": ["doc_3"]}}"""
    )
    reason = "question [doc_3]: 9120 terms; limit 8192 (limits.x), got 9120"
    example["error"]["reason"] = example["detail"]["message"] = reason
    example["error"]["root_cause"] = [{"type": "payload_too_large_exception", "reason": reason}]
    response = render_error(error)
    assert (response.status, response.body, response.headers) == (422, example, ())


@pytest.mark.parametrize(
    "error", [*(case[0] for case in CASES.values()), *OTHER_SHAPES], ids=lambda e: type(e).__name__
)
def test_no_message_shadows_the_detail(error: SidecarError) -> None:
    body: Any = render_error(error).body
    assert "message" not in body
    assert "message" not in body["error"]
    assert body["error"]["root_cause"][0]["reason"] == body["error"]["reason"]
    assert parse_json(render_json(body), Limits()) == body


def test_a_foreign_exception_keeps_its_text_to_itself() -> None:
    response = render_error(ValueError("secret"))
    assert response.status == 500
    assert "secret" not in render_json(response.body).decode()


def test_a_subclass_is_answered_like_its_base() -> None:
    class Stale(HistoryUnavailable):
        pass

    assert render_error(Stale("m")).status == 503
