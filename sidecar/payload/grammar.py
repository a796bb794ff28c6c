"""What a span looks like: a plain path, a JSON literal, or an index in brackets."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INDEX = re.compile(r"\[([0-9]+)\]")

# Letters, marks and digits of any script; symbols that are no operators (emoji), joiners, and whatever Unicode
# assigns later. Everything else is white space, punctuation or an operator.
_KEY_CATEGORIES = frozenset(["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "So", "Cf", "Co", "Cn"])


def is_plain_path(text: str) -> bool:
    """Whether every dotted segment could be a key: no spaces, quotes, brackets or operators, none empty.

    `-` counts as part of a word (`spam-score`) but not at its head (`--verbose`).
    """
    return all(_is_plain_segment(segment) for segment in text.split("."))


def is_json_literal(text: str) -> bool:
    """Whether the text is `true`, `false`, `null` or a JSON number."""
    return text in ("true", "false", "null") or is_json_number(text)


def is_json_number(text: str) -> bool:
    """Whether the text is a number as JSON spells it."""
    return _NUMBER.fullmatch(text) is not None


def with_dotted_indices(text: str) -> str | None:
    """Return the plain path that `a[0].b` becomes as `a.0.b`; None without `[digits]` or where it becomes none."""
    dotted, n_indices = _INDEX.subn(r".\1", text)
    return dotted if n_indices and is_plain_path(dotted) else None


def _is_plain_segment(segment: str) -> bool:
    return (
        segment != ""
        and not segment.startswith("-")
        and all(char in "_-" or unicodedata.category(char) in _KEY_CATEGORIES for char in segment)
    )
