"""The one table from error to status, type, headers and body."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.errors import (
    HistoryIndexError,
    HistoryUnavailable,
    IllegalArgument,
    KeyRefused,
    LocalUnavailable,
    MethodNotAllowed,
    NoSupport,
    NotAllowedByNode,
    NotConfigured,
    SchemaViolation,
    SidecarError,
    TooLong,
    TooManyRequests,
    UnknownPath,
    UnsupportedMedia,
    UpstreamOverloaded,
)
from sidecar.terms import JsonObject, JsonValue

Headers = tuple[tuple[str, str], ...]

RETRY_AFTER_S = 1
"""jev-reranker backs off for two minutes in all without it, the official client honours both spellings."""

REASON_PROBLEMS = 5
"""Problems that `error.reason` spells out; `detail` lists them all."""


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """What the caller gets; `headers` are pairs, since a name may occur twice."""

    status: int
    body: JsonObject
    headers: Headers = ()


_TABLE: dict[type[SidecarError], tuple[int, str]] = {
    # the caller's
    SchemaViolation: (422, "illegal_argument"),
    IllegalArgument: (422, "illegal_argument"),
    TooLong: (422, "max_tokens_exceeded"),
    NoSupport: (422, "no_support"),
    HistoryIndexError: (422, "history_index_error"),
    KeyRefused: (401, "authentication_error"),
    UnknownPath: (404, "not_found"),
    MethodNotAllowed: (405, "method_not_allowed"),
    UnsupportedMedia: (415, "unsupported_media_type"),
    # the node's
    NotAllowedByNode: (403, "security_exception"),
    UpstreamOverloaded: (429, "too_many_requests"),
    HistoryUnavailable: (503, "history_unavailable"),
    # ours
    TooManyRequests: (429, "too_many_requests"),
    NotConfigured: (503, "not_configured"),
    LocalUnavailable: (503, "local_decide_unavailable"),
    SidecarError: (500, "internal_error"),
}
_RETRIED = (429, 503, 504)
_ES_TYPE = {"max_tokens_exceeded": "payload_too_large_exception"}


def render_error(error: Exception) -> ErrorResponse:
    """The answer to any error; one that is no SidecarError is ours, and its text stays in the log."""
    if not isinstance(error, SidecarError):
        error = SidecarError("internal error; the log of the sidecar has it under this request id")
    status, kind = next(_TABLE[known] for known in type(error).__mro__ if known in _TABLE)
    status = _status(error, status)
    reason = _reason(error)
    cause: JsonObject = {"type": _ES_TYPE.get(kind, kind), "reason": reason}
    body: JsonObject = {
        # No `message` here or above: the official client would show it instead of `detail`.
        "error": {"root_cause": [dict(cause)], **cause},
        "status": status,
        "detail": _detail(error, kind, reason),
    }
    return ErrorResponse(status, body, _headers(error, status))


def _status(error: SidecarError, status: int) -> int:
    match error:
        case NotAllowedByNode():
            return error.status
        case KeyRefused(forbidden=True):
            return 403
        case HistoryUnavailable(deadline=True):
            return 504
    return status


def _reason(error: SidecarError) -> str:
    if isinstance(error, SchemaViolation) and len(error.problems) > REASON_PROBLEMS:
        first = SchemaViolation(error.problems[:REASON_PROBLEMS])
        return f"{first}; and {len(error.problems) - REASON_PROBLEMS} more"
    return str(error)


def _detail(error: SidecarError, kind: str, reason: str) -> JsonValue:
    if isinstance(error, SchemaViolation):
        return [{"loc": list(problem.loc), "msg": problem.msg, "type": problem.type} for problem in error.problems]
    detail: JsonObject = {"error_type": kind, "message": reason}
    if isinstance(error, TooLong):
        detail |= {"limit": error.limit, "actual": error.actual, "questions": list(error.questions)}
    return detail


def _headers(error: SidecarError, status: int) -> Headers:
    match error:
        case NotAllowedByNode():
            return tuple(("WWW-Authenticate", challenge) for challenge in error.challenges)
        case KeyRefused(forbidden=False):
            return (("WWW-Authenticate", "Bearer"),)
        case MethodNotAllowed():
            return (("Allow", ", ".join(error.allowed)),)
    if status in _RETRIED:
        return (("retry-after-ms", str(RETRY_AFTER_S * 1000)), ("Retry-After", str(RETRY_AFTER_S)))
    return ()
