"""The violations of one request, gathered so that a caller can mend all of them at once."""

from __future__ import annotations

from sidecar.api.body import json_kind
from sidecar.api.wording import clipped
from sidecar.errors import Problem, SchemaViolation
from sidecar.terms import JsonValue

MAX_PROBLEMS = 1000
"""More are counted instead of listed: names repeat in every `loc`, so an answer could outgrow its request."""

Loc = tuple[str | int, ...]


class Problems:
    """Collects problems; `raise_any` reports them all. Input values are never kept: they may be documents."""

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._unlisted = 0

    def add(self, loc: Loc, msg: str, kind: str) -> None:
        """Note one violation; `kind` is pydantic's word for it."""
        if len(self._found) < MAX_PROBLEMS:
            shown = tuple(clipped(part) if isinstance(part, str) else part for part in loc)
            self._found.append(Problem(shown, msg, kind))
        else:
            self._unlisted += 1

    def missing(self, loc: Loc) -> None:
        """Note that a required member is absent."""
        self.add(loc, "Field required", "missing")

    def wrong(self, loc: Loc, wanted: str, value: JsonValue, kind: str) -> None:
        """Note a value of the wrong JSON type."""
        self.add(loc, f"Input should be {wanted}, not {json_kind(value)}", kind)

    def raise_any(self) -> None:
        """Raise SchemaViolation when anything was noted."""
        if self._unlisted:
            self._found.append(Problem(("body",), f"and {self._unlisted} more problems", "too_many_problems"))
        if self._found:
            raise SchemaViolation(self._found)
