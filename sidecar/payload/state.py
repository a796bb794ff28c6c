"""A request's state, prepared once for all of its questions."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.payload.tree import End, find, strings
from sidecar.terms import JsonValue


class State:
    """The state of one request; remembers its whole text and what each path names.

    300 questions over one state then flatten it once. The value must not change afterwards.
    """

    __slots__ = ("_found", "_text", "value")

    def __init__(self, value: JsonValue) -> None:
        self.value = value
        self._text: str | None = None
        self._found: dict[str, End | None] = {}

    @classmethod
    def of(cls, state: JsonValue | State) -> State:
        """Return a prepared state as it is and prepare any other."""
        return state if isinstance(state, State) else cls(state)

    @property
    def text(self) -> str:
        """All string leaves in document order, joined; empty when there is no text."""
        if self._text is None:
            self._text = join_texts(strings(self.value))
        return self._text

    def find(self, path: str) -> End | None:
        """Return what a path names, whatever its type, or None."""
        if path not in self._found:
            self._found[path] = find(self.value, path)
        return self._found[path]


def join_texts(texts: Iterable[str]) -> str:
    """Join texts with one space and trim. Blank ones are left out: they would only widen the gap."""
    return " ".join(text for text in texts if has_text(text)).strip()


def has_text(text: str) -> bool:
    """Whether anything is left after trimming."""
    return text != "" and not text.isspace()


def leaf_text(value: JsonValue) -> str:
    """All string leaves of a value in document order, one space between; "" where there are none."""
    return join_texts(strings(value))
