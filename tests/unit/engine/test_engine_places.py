"""The cache folder and who can reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine.places import cache_folder, closed_folder, default_cache
from sidecar.errors import EngineError
from sidecar.settings import Engine

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("environ", "platform", "root", "expected"),
    [
        pytest.param({}, "linux", False, "/home/ada/.cache/decide-sidecar", id="linux"),
        pytest.param({"XDG_CACHE_HOME": "/c"}, "linux", False, "/c/decide-sidecar", id="xdg"),
        pytest.param({}, "darwin", False, "/home/ada/Library/Caches/decide-sidecar", id="macos"),
        pytest.param({"XDG_CACHE_HOME": "/c"}, "linux", True, "/var/cache/decide-sidecar", id="root"),
    ],
)
def test_default_cache(environ: dict[str, str], platform: str, root: bool, expected: str) -> None:
    assert default_cache(environ, platform, root, HOME) == Path(expected)


def test_a_closed_folder_on_the_way_is_named(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    for parent in (tmp_path, *list(tmp_path.parents)[:-2]):
        if parent.stat().st_uid == inner.stat().st_uid:
            parent.chmod(0o755)
    stranger = inner.stat().st_uid + 1
    inner.chmod(0o755)
    inner.parent.chmod(0o755)
    assert closed_folder(inner, stranger) is None
    inner.parent.chmod(0o700)
    assert closed_folder(inner, stranger) == inner.parent.resolve()
    assert closed_folder(inner, inner.stat().st_uid) is None
    assert closed_folder(inner, None) is None


def test_a_cache_folder_that_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(EngineError, match=r"cannot be made: .*; set engine.cache_dir"):
        cache_folder(Engine(cache_dir=str(file / "cache")))
