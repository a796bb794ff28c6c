"""The handlers of our own paths: one answer per request, with the headers that every answer of ours carries."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from aiohttp import web
from multidict import CIMultiDict

from sidecar.api import (
    SystemOneRequest,
    check_index_name,
    parse_decide,
    parse_json,
    parse_systemone,
    render_decide,
    render_decisions,
    render_error,
    render_json,
    render_models,
    render_systemone,
)
from sidecar.decide import AuditDecider, Entry, SystemOneDecider, SystemOneResult
from sidecar.errors import (
    HistoryUnavailable,
    IllegalArgument,
    MethodNotAllowed,
    SidecarError,
    TooManyRequests,
    UnknownPath,
)
from sidecar.http1 import Endpoint, Route
from sidecar.metrics import CONTENT_TYPE, Metrics
from sidecar.node import Identity
from sidecar.settings import History, Settings
from sidecar.terms import HISTORY_MODEL, LOCAL_MODEL, JsonObject
from sidecar.web.body import read_body
from sidecar.web.cors import CorsMirror
from sidecar.web.keys import check_key

REQUEST_ID = "x-typesafe-request-id"
log = logging.getLogger("sidecar.web")


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the surface knows of the node: its product header as last seen, whether it answers now, its CORS rules."""

    product: Callable[[], str | None]
    is_ready: Callable[[], Awaitable[bool]]
    cors: CorsMirror


@dataclass(frozen=True, slots=True)
class Deciders:
    """Who answers; `local_armed` says whether a head may be asked, `learn` takes what is worth keeping."""

    systemone: SystemOneDecider
    audit: AuditDecider
    local_armed: bool
    learn: Callable[[Sequence[Entry]], None]


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer before it becomes bytes on a socket."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    lessons: tuple[Entry, ...] = ()


class Surface:
    """Answers requests to our own paths; the same handlers serve both ports."""

    def __init__(
        self,
        settings: Settings,
        deciders: Deciders,
        metrics: Metrics,
        own: Identity,
        node: NodeView,
        status: Callable[[], JsonObject],
    ) -> None:
        self._settings = settings
        self._deciders = deciders
        self._metrics = metrics
        self._own = own
        self._node = node
        self._status = status
        self._in_flight = 0

    async def answer(self, request: web.BaseRequest, route: Route) -> web.StreamResponse:
        """Answer one request, errors included; raises only when the client has left."""
        started = time.perf_counter()
        request_id = f"req_{uuid.uuid4().hex}"
        error_type = None
        try:
            reply = await self._dispatch(request, route, started)
        except SidecarError as error:
            reply, error_type = _error_reply(error), type(error).__name__
        except Exception as error:  # the last resort of a server: ours to mend, never the caller's to see
            log.exception("internal error", extra={"request_id": request_id, "endpoint": route.endpoint.value})
            reply, error_type = _error_reply(error), type(error).__name__
        took = time.perf_counter() - started
        self._metrics.requests.labels(route.endpoint.value, f"{reply.status // 100}xx").inc()
        self._metrics.request_duration.labels(route.endpoint.value).observe(took)
        _log_answer(request, route, reply, request_id, took, error_type)
        response = await self._respond(request, reply, request_id)
        self._deciders.learn(reply.lessons)  # last, so that a cancelled request teaches nothing
        return response

    def unreachable(self, reason: str) -> web.StreamResponse:
        """The 502 of a passed request whose node cannot be reached, in the node's own shape."""
        error: JsonObject = {"type": "upstream_unreachable", "reason": reason}
        body: JsonObject = {"error": {"root_cause": [dict(error)], **error}, "status": 502}
        return web.Response(status=502, body=render_json(body), content_type="application/json")

    async def _dispatch(self, request: web.BaseRequest, route: Route, started: float) -> _Reply:
        _check_method(request, route)
        match route.endpoint:
            case Endpoint.METRICS:
                return _Reply(200, self._metrics.render(), CONTENT_TYPE)
            case Endpoint.LIVE:
                return _json_reply({"status": "live"})
            case Endpoint.READY:
                ready = await self._node.is_ready()
                return _json_reply({"status": "ready" if ready else "node unreachable"}, 200 if ready else 503)
            case Endpoint.MODELS:
                self._check_key(request)
                self._history_of_path(route)
                return _json_reply(self._models())
            case Endpoint.STATUS:
                return _json_reply(self._status())
            case Endpoint.SYSTEMONE:
                self._check_key(request)
                return await self._limited(lambda: self._systemone(request, route, started))
            case Endpoint.DECIDE:
                return await self._limited(lambda: self._decide(request, started))
        raise UnknownPath(f"nothing is served under {request.raw_path.partition('?')[0][:200]}")

    def _check_key(self, request: web.BaseRequest) -> None:
        check_key(request.headers.get("Authorization"), self._settings.auth.keys)

    async def _limited(self, decide: Callable[[], Awaitable[_Reply]]) -> _Reply:
        """A decision within the concurrency limit and the deadline; cancelling it cancels its searches."""
        limits = self._settings.limits
        if self._in_flight >= limits.concurrent_requests:
            raise TooManyRequests(
                f"{self._in_flight} decisions are in flight, limit {limits.concurrent_requests} "
                "(limits.concurrent_requests); try again"
            )
        self._in_flight += 1
        try:
            async with asyncio.timeout(limits.deadline_s):
                return await decide()
        except TimeoutError as error:
            message = f"no decision within {limits.deadline_s:g} s (limits.deadline_s)"
            raise HistoryUnavailable(message, deadline=True) from error
        finally:
            self._in_flight -= 1

    async def _systemone(self, request: web.BaseRequest, route: Route, started: float) -> _Reply:
        limits = self._settings.limits
        parsed = parse_systemone(parse_json(await read_body(request, limits), limits), limits)
        history = self._history_of_path(route) or self._settings.select(parsed.model) or self._settings.default()
        result = await self._deciders.systemone.answer(parsed, history, self._own)
        for question in parsed.questions:
            kind = type(question).__name__.removesuffix("Question").lower()
            self._metrics.decisions.labels("systemone", kind, result.evidence[question.id].tier, "answered").inc()
        return _json_reply(_render_systemone(parsed, result, history, started), lessons=result.lessons)

    async def _decide(self, request: web.BaseRequest, started: float) -> _Reply:
        limits = self._settings.limits
        parsed = parse_decide(parse_json(await read_body(request, limits), limits))
        caller = Identity(request.headers.get("Authorization"), request.headers.get("X-Opaque-Id"))
        result = await self._deciders.audit.answer(parsed, caller)
        decision = replace(result.decision, took_ms=_milliseconds(started))
        outcome = "no_support" if decision.tier is None else "abstained" if decision.abstain else "answered"
        self._metrics.decisions.labels("decide", "label", decision.tier or "none", outcome).inc()
        return _json_reply(render_decide(decision), lessons=result.lessons)

    def _history_of_path(self, route: Route) -> History | None:
        if route.history is None:
            return None
        try:
            name = check_index_name(route.history)
        except IllegalArgument as error:
            raise UnknownPath(str(error)) from error
        history = self._settings.select(name)
        if history is None:
            known = ", ".join(sorted(self._settings.histories)) or "none"
            raise UnknownPath(f"no history is called {name}; configured: {known}")
        return history

    def _models(self) -> JsonObject:
        histories = {name: history.index for name, history in self._settings.histories.items()}
        return render_models(self._settings.default() is not None, histories, self._deciders.local_armed)

    async def _respond(self, request: web.BaseRequest, reply: _Reply, request_id: str) -> web.Response:
        headers: CIMultiDict[str] = CIMultiDict(reply.headers)
        headers.extend(await self._node.cors.headers(request.headers.get("Origin")))
        headers[REQUEST_ID] = request_id
        product = self._node.product()
        if product is not None:
            headers["X-Elastic-Product"] = product
        opaque = request.headers.get("X-Opaque-Id")
        if opaque is not None:
            headers["X-Opaque-Id"] = opaque
        headers["Content-Type"] = _content_type(request, reply)
        return web.Response(status=reply.status, body=reply.body, headers=headers)


def _check_method(request: web.BaseRequest, route: Route) -> None:
    allowed = route.allowed_methods
    if allowed and request.method not in allowed:
        raise MethodNotAllowed(
            f"Incorrect HTTP method for uri [{request.raw_path[:200]}] and method [{request.method}], "
            f"allowed: [{', '.join(allowed)}]",
            allowed=allowed,
        )


def _render_systemone(
    parsed: SystemOneRequest, result: SystemOneResult, history: History | None, started: float
) -> JsonObject:
    decisions = render_decisions(
        result.evidence,
        index=None if history is None else history.index,
        k=None if history is None else history.k,
        requested_model=parsed.model,
        took_ms=_milliseconds(started),
        calibration={"configured": "none"},
        local_model=LOCAL_MODEL if result.local_answered else None,
        local_answered=result.local_answered or None,
    )
    return render_systemone(
        parsed.questions,
        result.answers,
        model=LOCAL_MODEL if history is None else HISTORY_MODEL,
        input_tokens=result.input_tokens,
        output_tokens=len(result.answers),
        decisions=decisions,
    )


def _log_answer(
    request: web.BaseRequest, route: Route, reply: _Reply, request_id: str, took_s: float, error_type: str | None
) -> None:
    """One line per decision; the probes of monitoring are only told at debug level."""
    level = logging.INFO if route.endpoint in (Endpoint.SYSTEMONE, Endpoint.DECIDE) else logging.DEBUG
    if not log.isEnabledFor(level):
        return
    extra: dict[str, object] = {
        "request_id": request_id,
        "endpoint": route.endpoint.value,
        "method": request.method,
        "status": reply.status,
        "took_ms": round(took_s * 1000, 1),
    }
    if error_type is not None:
        extra["error_type"] = error_type
    retries = request.headers.get("X-TypeSafe-Retry-Count", "")
    if retries.isdecimal():
        extra["retry_count"] = int(retries[:6])
    log.log(level, "answered", extra=extra)


def _content_type(request: web.BaseRequest, reply: _Reply) -> str:
    """Vendored JSON for a client that asks for it, as the node does (proxy.md row 30)."""
    accept = request.headers.get("Accept", "")
    if reply.content_type == "application/json" and accept.startswith("application/vnd.elasticsearch+json"):
        return accept.partition(",")[0]
    return reply.content_type


def _json_reply(body: JsonObject, status: int = 200, *, lessons: tuple[Entry, ...] = ()) -> _Reply:
    return _Reply(status, render_json(body), lessons=lessons)


def _error_reply(error: Exception) -> _Reply:
    rendered = render_error(error)
    return _Reply(rendered.status, render_json(rendered.body), headers=rendered.headers)


def _milliseconds(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
