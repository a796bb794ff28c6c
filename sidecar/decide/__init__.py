"""One request's way through the tiers."""

from sidecar.decide.audit import AuditDecider
from sidecar.decide.ladder import SystemOneDecider, SystemOneResult
from sidecar.decide.local import Head, LocalHead, LocalTier

__all__ = ["AuditDecider", "Head", "LocalHead", "LocalTier", "SystemOneDecider", "SystemOneResult"]
