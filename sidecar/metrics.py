"""Every series in one place. No label ever comes from request data outside a closed list."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The sidecar's series on a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.decisions = Counter(
            "sidecar_decisions",
            "Questions decided, by surface, question type, tier and outcome (answered, abstained, no_support).",
            ("surface", "question_type", "tier", "outcome"),
            registry=self.registry,
        )
        self.requests = Counter(
            "sidecar_requests",
            "Requests answered by the sidecar itself, by endpoint and status class.",
            ("endpoint", "status"),
            registry=self.registry,
        )
        self.request_duration = Histogram(
            "sidecar_request_duration_seconds",
            "Time to answer a request of the sidecar's own, by endpoint.",
            ("endpoint",),
            registry=self.registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        )
        self.proxied = Counter(
            "sidecar_proxied_requests",
            "Requests passed to the node, by status class; 502 are those that the sidecar had to answer itself.",
            ("status",),
            registry=self.registry,
        )

        self.write_backs = Counter(
            "sidecar_write_backs",
            "Local answers on their way into a history, by outcome; all but `written` are drops.",
            ("outcome",),
            registry=self.registry,
        )

    def count_write_backs(self, outcome: str, n: int) -> None:
        """Count what became of local answers."""
        self.write_backs.labels(outcome).inc(n)

    def render(self) -> bytes:
        """All series in the Prometheus text format."""
        return generate_latest(self.registry)
