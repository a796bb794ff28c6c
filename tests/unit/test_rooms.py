"""Imports point downward only, and rooms of one level do not import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "sidecar"
LEVELS: list[set[str]] = [
    {"terms", "errors", "settings"},
    {"http1", "api", "payload", "vote", "calibration", "nli"},
    {"node", "metrics", "logs", "engine"},
    {"decide", "evaluate"},
    {"proxy", "web"},
    {"cli", "app"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# Rooms of one level that may see each other: shared words build on shared words, and commands start the app.
SAME_LEVEL = {("settings", "terms"), ("settings", "errors"), ("cli", "app")}
DATA_ONLY = {"demo"}
PURE = LEVELS[1]
IMPURE_MODULES = {"asyncio", "socket", "aiohttp", "elasticsearch", "elastic_transport", "random", "time", "os"}


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = [file for file in sorted(PACKAGE.rglob("*.py")) if room_of(file) not in ("__init__", "__main__")]


def test_every_room_has_a_level() -> None:
    rooms = {room_of(file) for file in FILES} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert rooms - DATA_ONLY - {"__pycache__"} <= LEVEL.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_imports_point_downward(file: Path) -> None:
    room = room_of(file)
    for name in imports(file):
        parts = name.split(".")
        if parts[0] != "sidecar" or len(parts) < 2 or parts[1] not in LEVEL:
            continue
        other = parts[1]
        if other != room and (room, other) not in SAME_LEVEL:
            assert LEVEL[other] < LEVEL[room], f"{room} (level {LEVEL[room]}) imports {other} (level {LEVEL[other]})"


@pytest.mark.parametrize("file", [file for file in FILES if room_of(file) in PURE], ids=lambda f: str(f.name))
def test_pure_rooms_do_no_io(file: Path) -> None:
    if file.name == "loader.py" and room_of(file) == "nli":
        return  # its one door to disk
    assert not {name.split(".")[0] for name in imports(file)} & IMPURE_MODULES


@pytest.mark.parametrize("room", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
def test_every_room_says_what_it_is_for(room: str) -> None:
    if room in DATA_ONLY | {"__pycache__"}:
        return
    readme = PACKAGE / room / "README.md"
    assert readme.is_file()
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 60
