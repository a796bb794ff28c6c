"""What the node's refusals mean in our words. The node's own reasons may quote a document's text: only types travel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from elastic_transport import ConnectionTimeout, TransportError
from elasticsearch import ApiError

from sidecar.errors import (
    HistoryIndexError,
    HistoryUnavailable,
    IndexMissing,
    NotAllowedByNode,
    SidecarError,
    UpstreamOverloaded,
)
from sidecar.terms import IndexName, JsonValue

_TOO_MANY_CLAUSES = ("too_many_clauses", "too_many_nested_clauses")
_TERM_LIMIT = "longer than maximum indexable length"  # met with an analyser that keeps a text whole, ES 8 and 9


def translate(error: ApiError | TransportError, index: str) -> SidecarError:
    """The sidecar's own error for one raised by the client about a call that concerns `index`."""
    if isinstance(error, ConnectionTimeout):
        return HistoryUnavailable("the node did not answer in time", deadline=True)
    if isinstance(error, TransportError):
        return HistoryUnavailable("the node is unreachable; check that it runs and that upstream.url is right")
    return refusal(error.status_code, error.body, index, challenges=challenges(error.meta.headers))


def challenges(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The WWW-Authenticate lines of an answer; the client keeps one of several."""
    line = headers.get("www-authenticate")
    return () if line is None else (line,)


def refusal(status: int, body: JsonValue, index: str, *, challenges: tuple[str, ...] = ()) -> SidecarError:
    """The sidecar's own error for an answer of the node with this status and error body.

    Covers whole answers and single items of `_msearch` alike.
    """
    types = set(_types(body))
    named = sorted(types)[0] if types else f"status {status}"
    if status in (401, 403) and "cluster_block_exception" not in types:
        return NotAllowedByNode(
            f"the node does not allow these credentials to search [{index}]", status=status, challenges=challenges
        )
    if "index_not_found_exception" in types:
        return IndexMissing(f"history index [{index}] does not exist; import decided cases or correct the name")
    # A search that met the closing itself is told of a block instead.
    if "index_closed_exception" in types or any("index closed" in reason for reason in _strings(body, "reason")):
        return HistoryIndexError(f"history index [{index}] is closed; open it")
    if status == 429:
        return UpstreamOverloaded("the node refuses work at the moment (429)")
    if status >= 500:
        return HistoryUnavailable(f"the node could not search [{index}]: {named}")
    return HistoryIndexError(f"history index [{index}] cannot be searched: {named}")


def is_clause_limit(body: JsonValue) -> bool:
    """Whether the node refused a query for its number of clauses or the length of a term, whatever the status
    (OpenSearch says 500)."""
    return any(name in _TOO_MANY_CLAUSES for name in _types(body)) or any(
        "maxClauseCount" in reason or "too many clauses" in reason.lower() or _TERM_LIMIT in reason
        for reason in _strings(body, "reason")
    )


def is_source_disabled(body: JsonValue) -> bool:
    """Whether the node refused to fetch members of `_source` because an index keeps none."""
    return any("_source is disabled" in reason for reason in _strings(body, "reason"))


def check_complete(index: IndexName, answer: JsonValue) -> None:
    """Raise HistoryUnavailable unless every shard answered in full.

    `failed` alone does not tell: OpenSearch reports 0 for unassigned shards, so `successful` is held against `total`.
    """
    shards = answer.get("_shards") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(shards, dict):
        raise HistoryUnavailable(f"the node's answer about [{index}] has no shard report")
    if answer.get("timed_out"):
        raise HistoryUnavailable(f"the node ran out of time on [{index}] and answered in part", deadline=True)
    if shards.get("failed") or shards.get("successful") != shards.get("total"):
        raise HistoryUnavailable(
            f"only {shards.get('successful')} of {shards.get('total')} shards of [{index}] answered; "
            "a partial result is not a vote"
        )


def _types(body: JsonValue) -> Iterator[str]:
    return _strings(body, "type")


def _strings(body: JsonValue, key: str) -> Iterator[str]:
    if isinstance(body, dict):
        for name, value in body.items():
            if name == key and isinstance(value, str):
                yield value
            else:
                yield from _strings(value, key)
    elif isinstance(body, list):
        for item in body:
            yield from _strings(item, key)
