"""One request's way through the tiers."""

from sidecar.decide.audit import AuditDecider, AuditResult
from sidecar.decide.flywheel import Entry, Flywheel
from sidecar.decide.ladder import SystemOneDecider, SystemOneResult
from sidecar.decide.local import Head, LocalHead, LocalTier

__all__ = [
    "AuditDecider",
    "AuditResult",
    "Entry",
    "Flywheel",
    "Head",
    "LocalHead",
    "LocalTier",
    "SystemOneDecider",
    "SystemOneResult",
]
