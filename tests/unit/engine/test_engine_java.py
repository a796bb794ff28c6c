"""Which Java suits which distribution."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine import java
from sidecar.engine.distribution import DISTRIBUTIONS
from sidecar.engine.java import Java, candidates, find_java, parse_settings, unsuitable
from sidecar.errors import EngineError
from sidecar.settings import Engine

FULL = frozenset({"java.base", "jdk.jlink", "jdk.jdi"})

SETTINGS = """Property settings:
    java.home = {home}
    java.io.tmpdir = /tmp
    java.specification.version = {version}
    java.version = {version}.0.2

Locale settings:
    default locale = English
    available locales = , bn, bn_BD, da, th_XX,
        {locales}, zu, zu_ZA

openjdk version "{version}.0.2" 2026-01-20
"""


def _java(major: int, thai: bool = True, modules: frozenset[str] = FULL) -> Java:
    return Java(Path("/java/bin/java"), Path("/java"), major, thai, modules)


@pytest.mark.parametrize(
    ("version", "locales", "expected"),
    [
        pytest.param("25", "th, th_TH", (25, True), id="full"),
        pytest.param("21", "tg, tr", (21, False), id="no-thai"),
        pytest.param("1.8", "th", (8, True), id="old-numbers"),
    ],
)
def test_parse_settings(version: str, locales: str, expected: tuple[int, bool]) -> None:
    text = SETTINGS.format(home="/opt/a java", version=version, locales=locales)
    found = parse_settings(Path("/usr/bin/java"), text, "java.base@25.0.2\njdk.jdi@25.0.2\n")
    assert found is not None
    assert (found.major, found.thai) == expected
    assert found.home == Path("/opt/a java")
    assert found.modules == frozenset({"java.base", "jdk.jdi"})


def test_what_is_no_java() -> None:
    assert parse_settings(Path("/usr/bin/java"), "The operation couldn't be completed.") is None


@pytest.mark.parametrize(
    ("name", "majors"),
    [
        ("opensearch3", {21, 25}),
        ("elasticsearch7", {17}),
        ("elasticsearch8", {17, 21, 25}),
        ("elasticsearch9", {21, 25}),
        ("elasticsearch95", {21, 25}),
    ],
)
def test_majors(name: str, majors: set[int]) -> None:
    assert {major for major in (8, 11, 17, 21, 25, 26) if not unsuitable(_java(major), DISTRIBUTIONS[name])} == majors


@pytest.mark.parametrize(
    ("found", "name", "chosen", "reason"),
    [
        pytest.param(_java(17), "opensearch3", False, "it is Java 17, Java 21 to 25 is needed", id="too-old"),
        pytest.param(_java(26), "opensearch3", True, None, id="newer-by-setting"),
        pytest.param(_java(21), "elasticsearch7", True, "it is Java 21, Java 17 exactly is needed", id="only-17"),
        pytest.param(_java(25, thai=False), "opensearch3", False, None, id="thai-is-patched"),
        pytest.param(
            _java(25, modules=frozenset({"java.base"})),
            "elasticsearch95",
            False,
            "it lacks jdk.jdi, jdk.jlink, a full JDK, Java 21 to 25 is needed",
            id="trimmed",
        ),
    ],
)
def test_unsuitable(found: Java, name: str, chosen: bool, reason: str | None) -> None:
    assert unsuitable(found, DISTRIBUTIONS[name], chosen=chosen) == reason


def test_order_of_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = {name: tmp_path / name for name in ("home", "path", "lib/9", "lib/10")}
    for home in homes.values():
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text("#!/bin/sh\n")
        (home / "bin" / "java").chmod(0o755)
    monkeypatch.setattr(java, "_INSTALL_FOLDERS", (f"{tmp_path}/lib/*",))
    found = list(candidates({"JAVA_HOME": str(homes["home"]), "PATH": str(homes["path"] / "bin")}))
    assert found[:4] == [homes[name] / "bin" / "java" for name in ("home", "path", "lib/9", "lib/10")]
    assert [path.parts[-3] for path in found[4:]] == ["java-runtime"]


def test_a_setting_that_is_no_java(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"engine.java = '/nowhere' cannot run OpenSearch 3.8.0: it does not start"):
        find_java(DISTRIBUTIONS["opensearch3"], Engine(java="/nowhere"), tmp_path)


def test_no_java_at_all_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho '    java.home = /x'\necho '    java.specification.version = 11'\n")
    old.chmod(0o755)
    monkeypatch.setattr(java, "candidates", lambda environ: iter([old]))
    with pytest.raises(
        EngineError, match=r"needs a full JDK, Java 21 to 25, and none was found .*it is Java 11"
    ) as told:
        find_java(DISTRIBUTIONS["elasticsearch95"], Engine(), tmp_path)
    assert "adoptium.net" in str(told.value)
    assert "SIDECAR_ENGINE__JAVA" in str(told.value)
