"""The patched copy for runtimes without Thai locale data."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sidecar.engine.thai import THAI_CLASS, patch_class, without_thai
from sidecar.errors import EngineError

PROBE = "ภาษาไทย".encode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A distribution with one jar that holds the tokenizer's class and another file."""
    home = tmp_path / "opensearch-3.8.0"
    (home / "lib").mkdir(parents=True)
    (home / "lib" / "other.jar").write_bytes(b"other")
    with zipfile.ZipFile(home / "lib" / "analysis.jar", "w") as jar:
        jar.writestr(THAI_CLASS, b"\xca\xfe\xba\xbe" + PROBE + b"tail")
        jar.writestr("META-INF/MANIFEST.MF", PROBE + PROBE)
    return home


def test_only_the_class_changes(home: Path) -> None:
    copy = without_thai(home, "lib/analysis.jar")
    with zipfile.ZipFile(copy / "lib" / "analysis.jar") as jar:
        assert jar.read(THAI_CLASS) == b"\xca\xfe\xba\xbeabcd efghijklmnopqrsttail"
        assert jar.read("META-INF/MANIFEST.MF") == PROBE + PROBE
    assert (copy / "lib" / "other.jar").samefile(home / "lib" / "other.jar")
    with zipfile.ZipFile(home / "lib" / "analysis.jar") as jar:
        assert PROBE in jar.read(THAI_CLASS)


def test_it_is_made_once(home: Path) -> None:
    copy = without_thai(home, "lib/analysis.jar")
    (home / "lib" / "analysis.jar").unlink()
    assert without_thai(home, "lib/analysis.jar") == copy


@pytest.mark.parametrize("code", [b"no probe", PROBE + PROBE], ids=["none", "twice"])
def test_an_unknown_class_is_refused(code: bytes) -> None:
    with pytest.raises(EngineError, match=r"is not the known one.*install a full JDK"):
        patch_class(code)
