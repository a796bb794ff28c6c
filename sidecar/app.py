"""The only place where objects are wired: settings in, two listening ports out."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aiohttp import web

from sidecar import __version__
from sidecar.decide import AuditDecider, Flywheel, Head, LocalHead, LocalTier, SystemOneDecider
from sidecar.errors import SidecarError
from sidecar.http1 import route_es_port, route_native_port
from sidecar.metrics import Metrics
from sidecar.node import HistoryReader, LabelReader, NodeProbe, WriteBack, connect, own_identity, product_of
from sidecar.proxy import Forwarder
from sidecar.proxy.forward import MAX_HEAD_BYTES, MAX_HEADERS
from sidecar.settings import Settings
from sidecar.terms import JsonObject
from sidecar.web import CorsMirror, Deciders, NodeView, Surface

NODE_CALL_TIMEOUT_S = 60.0  # a decision has its own deadline; this bounds the calls that no request waits for
SHUTDOWN_S = 30.0
log = logging.getLogger("sidecar")


class Sidecar:
    """A running sidecar: `start`, then `es_url` and `native_url` answer, then `stop`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = connect(
            settings.upstream, connections=settings.limits.concurrent_requests, timeout_s=NODE_CALL_TIMEOUT_S
        )
        self._own = own = own_identity(settings.upstream)
        self._probe = NodeProbe(self._client, own, settings.upstream.connect_timeout_s)
        self._head = self._arm()
        self.metrics = Metrics()
        self._labels = LabelReader(self._client)
        self._flywheel = Flywheel(WriteBack(self._client), self._labels, self.metrics.count_write_backs)
        self._surface = Surface(
            settings,
            self._deciders(),
            self.metrics,
            own,
            NodeView(lambda: product_of(self._client), self._probe.is_ready, CorsMirror(self._probe.cors_headers)),
            self._status,
        )
        self._forwarder = Forwarder(
            settings.upstream,
            on_answer=lambda status: self.metrics.proxied.labels(f"{status // 100}xx").inc(),
            unreachable=self._surface.unreachable,
        )
        self._runners: list[web.ServerRunner] = []
        self.es_url = ""
        self.native_url = ""

    def _arm(self) -> LocalHead | None:
        armed, warning = self._settings.local.arming()
        if warning is not None:
            log.warning(warning)
        return LocalHead(self._load_head) if armed else None

    def _load_head(self) -> Head:
        from sidecar.nli.loader import load_head  # imports the model's library: only where a head is armed

        return load_head(self._settings.local.model_dir, threads=self._settings.local.threads or None)

    def _deciders(self) -> Deciders:
        hits, labels = HistoryReader(self._client), self._labels
        local = None if self._head is None else LocalTier(self._head)
        return Deciders(
            systemone=SystemOneDecider(self._settings, hits, labels, local),
            audit=AuditDecider(self._settings, hits, labels, local, self._own),
            local_armed=local is not None,
            learn=self._flywheel.offer,
        )

    async def start(self) -> None:
        """Listen on both ports.

        Raises  SidecarError when a port is taken
        """
        await self._forwarder.start()
        self._flywheel.start()
        listen = self._settings.listen
        port = await self._listen(self._answer_es_port, listen.port, "listen.port")
        self.es_url = f"http://{_in_url(listen.host)}:{port}"
        native = port + 1 if listen.native_port is None else listen.native_port
        native = await self._listen(self._answer_native_port, native, "listen.native_port")
        self.native_url = f"http://{_in_url(listen.host)}:{native}"
        await self._probe.is_ready()  # learns the product header; an unreachable node is no reason not to start
        if self._head is not None and self._settings.local.preload:
            self._head.preload()

    async def stop(self) -> None:
        """Stop accepting, let exchanges in flight finish, close every connection."""
        for runner in self._runners:
            await runner.cleanup()
        await self._forwarder.close()
        await self._flywheel.stop()
        await self._client.close()
        if self._head is not None:
            await asyncio.to_thread(self._head.close)

    async def _listen(self, handler: Any, port: int, setting: str) -> int:
        server = web.Server(
            handler,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            max_line_size=MAX_HEAD_BYTES,
            max_field_size=MAX_HEAD_BYTES,
            max_headers=MAX_HEADERS,
        )
        runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        host = self._settings.listen.host
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise SidecarError(
                f"cannot listen on {host}:{port} ({error.strerror or error}); free it or set {setting}"
            ) from error
        self._runners.append(runner)
        return int(runner.addresses[0][1])

    async def _answer_es_port(self, request: web.BaseRequest) -> web.StreamResponse:
        await _say_continue(request)
        route = route_es_port(request.raw_path)
        # Preflights are the node's to answer: it knows its CORS rules.
        if route is None or request.method == "OPTIONS":
            return await self._forwarder.forward(request)
        return await self._surface.answer(request, route)

    async def _answer_native_port(self, request: web.BaseRequest) -> web.StreamResponse:
        await _say_continue(request)
        return await self._surface.answer(request, route_native_port(request.raw_path))

    def _status(self) -> JsonObject:
        """What is live: histories, tiers, identities and versions; no secrets."""
        settings = self._settings
        default = settings.default()
        histories = {} if default is None else {"decisions": default}
        own = settings.upstream
        identity = "api key" if own.api_key else "user and password" if own.username else "none"
        return {
            "version": __version__,
            "upstream": {"url": own.url, "identity": identity},
            "histories": {
                name: {
                    "index": history.index,
                    "k": history.k,
                    "text_field": history.text_field,
                    "label_field": history.label_field,
                    "positive_label": history.positive_label,
                    "question_scopes": [*sorted(history.questions)],
                }
                for name, history in (histories | settings.histories).items()
            },
            "tiers": {
                "history": bool(histories or settings.histories),
                "local": {"armed": self._head is not None, "loaded": self._head is not None and self._head.loaded},
            },
            "flywheel": {"waiting": self._flywheel.waiting, "outcomes": {**self._flywheel.counts}},
            "fits": [],
            "sidecar_keys": [*sorted(settings.auth.keys)],
        }


async def _say_continue(request: web.BaseRequest) -> None:
    """Answer `Expect: 100-continue` here, so that the client sends its body (RFC 9110 section 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # aiohttp counts written bytes to know whether an answer has begun; this one is not the answer.
        request.writer.output_size = 0


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
