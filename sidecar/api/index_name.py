"""One literal index or alias name, wherever a caller may write one."""

from __future__ import annotations

from sidecar.api.wording import quoted
from sidecar.errors import IllegalArgument
from sidecar.terms import IndexName

MAX_BYTES = 255
_FORBIDDEN = frozenset('\\/*?"<>| ,#:')
_NOT_FIRST = ("-", "_", "+")


def check_index_name(name: str) -> IndexName:
    """The name, unless a node could read it as a pattern, a list, a path or another cluster's.

    Raises  IllegalArgument (a path's caller makes that a 404)
    """
    fault = _fault(name)
    if fault is not None:
        raise IllegalArgument(f"index name {quoted(name)} {fault}; give the literal name of one index or alias")
    return IndexName(name)


def _fault(name: str) -> str | None:
    if not name:
        return "is empty"
    if name in (".", ".."):
        return "is a path segment"
    if name.startswith(_NOT_FIRST):
        return f"starts with {quoted(name[0])}"
    for char in name:
        # Control characters are legal on some nodes and never meant.
        if char in _FORBIDDEN or char < " " or "\x7f" <= char <= "\x9f":
            return f"holds {quoted(char)}"
        if "\ud800" <= char <= "\udfff":
            return "is not valid UTF-8"
    if name != name.lower():
        return "is not lower case"
    size = len(name.encode())
    return f"has {size} bytes, at most {MAX_BYTES} are allowed" if size > MAX_BYTES else None
