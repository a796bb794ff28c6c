"""Every log field in one place: JSON lines on standard error. Never credentials, never a document's text."""

from __future__ import annotations

import logging
import sys
import time

import orjson

FIELDS = (
    "request_id",
    "endpoint",
    "method",
    "status",
    "took_ms",
    "error_type",
    "retry_count",
    "requested_model",
    "upstream",
    "es_port",
    "native_port",
)


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, message and the known fields that a record carries."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "ts": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def configure_logging(level: str = "INFO") -> None:
    """Send the sidecar's log lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("sidecar")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
