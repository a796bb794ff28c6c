"""Pages of the documentation as blocks that can be run and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = ("sh", "python")
ELLIPSIS = "…"
_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UNSTABLE = {"took_ms"}  # milliseconds are shown for their form


@dataclass(frozen=True)
class Block:
    """One fenced block: its info string, its text and the line of the page where it begins."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Step:
    """A block of code and the blocks that show what it prints."""

    code: Block
    shown: tuple[Block, ...]


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(match[1], match[2], text.count("\n", 0, match.start()) + 1) for match in _FENCE.finditer(text)]


def steps(page: Path) -> list[Step]:
    """The code of a page; a `text` or `json` block is what the code before it prints."""
    found: list[Step] = []
    for block in blocks(page):
        if block.kind in CODE:
            found.append(Step(block, ()))
        elif block.kind in ("text", "json"):
            assert found, f"{page.name}:{block.line}: shows the output of no code"
            found[-1] = Step(found[-1].code, (*found[-1].shown, block))
    return found


def missing_line(shown: str, printed: str) -> str | None:
    """The first line shown that is not printed, in order and up to white space; `…` stands for anything."""
    lines = iter(_plain(line) for line in printed.splitlines())
    for wanted in filter(None, map(_plain, shown.splitlines())):
        pattern = re.compile(".*".join(map(re.escape, wanted.split(ELLIPSIS))))
        if not any(pattern.search(line) for line in lines):
            return wanted
    return None


def _plain(line: str) -> str:
    return " ".join(line.split())


def last_json(printed: str) -> Any:
    """The last JSON object that was printed, other text around it or not.

    Raises  AssertionError where there is none
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    position = printed.find("{")
    while position >= 0:
        try:
            value, position = decoder.raw_decode(printed, position)
            found.append(value)
        except ValueError:
            position += 1
        position = printed.find("{", position)
    assert found, f"no JSON was printed:\n{printed}"
    return found[-1]


def differences(shown: Any, answered: Any, path: str = "") -> Iterator[str]:
    """Where an answer is not what the page shows.

    The page may show fewer members; a list that ends with `…` may go on; `…` in a string stands for anything.
    """
    if isinstance(shown, dict) and isinstance(answered, dict):
        for name in shown.keys() - _UNSTABLE:
            if name in answered:
                yield from differences(shown[name], answered[name], f"{path}.{name}")
            else:
                yield f"{path}.{name} is missing"
    elif isinstance(shown, list) and isinstance(answered, list):
        is_open = shown[-1:] == [ELLIPSIS]
        wanted = shown[:-1] if is_open else shown
        if len(answered) < len(wanted) or (len(answered) > len(wanted) and not is_open):
            yield f"{path} has {len(answered)} items, shown are {len(wanted)}"
        for place, (one, other) in enumerate(zip(wanted, answered, strict=False)):
            yield from differences(one, other, f"{path}.{place}")
    elif not _is_same(shown, answered):
        yield f"{path} is {answered!r}, shown is {shown!r}"


def _is_same(shown: Any, answered: Any) -> bool:
    if isinstance(shown, str) and isinstance(answered, str):
        return re.fullmatch(".*".join(map(re.escape, shown.split(ELLIPSIS))), answered, re.DOTALL) is not None
    if isinstance(shown, bool) or isinstance(answered, bool) or not isinstance(shown, int | float):
        return bool(shown == answered) and type(shown) is type(answered)
    return isinstance(answered, int | float) and abs(shown - answered) < 1e-6
