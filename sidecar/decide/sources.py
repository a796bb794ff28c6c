"""What the ladder needs of the node, so that it can be tried without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sidecar.node import Identity, Retrieved, Search
from sidecar.terms import Scope


class HitSource(Protocol):
    """Finds the history documents nearest to texts."""

    async def fetch_hits(self, searches: Sequence[Search], identity: Identity) -> list[Retrieved]:
        """The hits of every search, in order."""
        ...


class LabelSource(Protocol):
    """Knows the labels of a history."""

    async def diagnose(self, scope: Scope, identity: Identity) -> None:
        """Raise HistoryIndexError where the mapping is the reason that nothing was found."""
        ...

    async def knows_label(self, scope: Scope, label: str, identity: Identity) -> bool:
        """Whether any document of the scope carries this label."""
        ...

    async def labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        """All labels of the scope, None where they cannot be listed."""
        ...

    async def seeded_labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        """The labels of the documents without `source`, None where they cannot be listed."""
        ...

    async def has_terms(self, scope: Scope, text: str, identity: Identity) -> bool:
        """Whether the text holds any searchable term."""
        ...
