"""What the fixtures of these tests give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Done]
Ask: TypeAlias = Callable[..., Any]
