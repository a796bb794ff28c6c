"""Which request targets the sidecar answers itself.

Matching happens on a decoded, normalised copy of the path; the raw target is what travels to the node. An index may
be called `v1`, so those paths match exactly; no index name can begin with `_`, so `/_decide` matches generously.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote


class Endpoint(StrEnum):
    """What a target asks for."""

    SYSTEMONE = "systemone"
    MODELS = "models"
    DECIDE = "decide"
    STATUS = "status"
    METRICS = "metrics"
    LIVE = "live"
    READY = "ready"
    UNKNOWN = "unknown"


ALLOWED_METHODS: dict[Endpoint, tuple[str, ...]] = {
    Endpoint.SYSTEMONE: ("POST",),
    Endpoint.MODELS: ("GET", "HEAD"),
    Endpoint.DECIDE: ("POST",),
    Endpoint.STATUS: ("GET", "HEAD"),
    Endpoint.METRICS: ("GET", "HEAD"),
    Endpoint.LIVE: ("GET", "HEAD"),
    Endpoint.READY: ("GET", "HEAD"),
    Endpoint.UNKNOWN: (),
}


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes. `history` is the `{name}` of `/histories/{name}/…`, None without one."""

    endpoint: Endpoint
    history: str | None = None

    @property
    def allowed_methods(self) -> tuple[str, ...]:
        """Methods that this endpoint answers; empty where nothing is served."""
        return ALLOWED_METHODS[self.endpoint]


_WIRE = {("v1", "systemone"): Endpoint.SYSTEMONE, ("v1", "models"): Endpoint.MODELS}
_DECIDE = {(): Endpoint.DECIDE, ("_status",): Endpoint.STATUS}
_NATIVE = {
    ("metrics",): Endpoint.METRICS,
    ("health", "live"): Endpoint.LIVE,
    ("health", "ready"): Endpoint.READY,
}


def route_es_port(target: str) -> Route | None:
    """What the ES port answers itself; None = passes to the node."""
    exact = _segments(target)
    if exact in _WIRE:
        return Route(_WIRE[exact])
    named = tuple(segment for segment in exact if segment)
    if named[:1] == ("_decide",):
        return Route(_DECIDE.get(named[1:], Endpoint.UNKNOWN))
    return None


def route_native_port(target: str) -> Route:
    """What the native port answers; `Endpoint.UNKNOWN` = nothing is served there."""
    exact = _segments(target)
    if exact in _WIRE:
        return Route(_WIRE[exact])
    if len(exact) == 4 and exact[0] == "histories" and exact[1] and exact[2:] in _WIRE:
        return Route(_WIRE[exact[2:]], history=exact[1])
    return Route(_NATIVE.get(exact, Endpoint.UNKNOWN))


def origin_form(target: str) -> str:
    """The target as the node is asked for it: an absolute form (RFC 9112 section 3.2.2) is reduced to its path and
    query, so that no request names a host; the asterisk of `OPTIONS *` becomes a path. All else stays as it came."""
    if target.startswith("/"):
        return target
    if target == "*":
        return "/*"
    _, separator, rest = target.partition("://")
    if not separator:
        return "/"
    end = min((rest.index(mark) for mark in "/?#" if mark in rest), default=len(rest))
    path = rest[end:]
    return path if path.startswith("/") else f"/{path}"


def _segments(target: str) -> tuple[str, ...]:
    """Decoded path segments. Split first, then decoded: an escaped slash never makes another path."""
    path = origin_form(target).partition("?")[0].partition("#")[0]
    return tuple(unquote(segment) for segment in path[1:].split("/"))
