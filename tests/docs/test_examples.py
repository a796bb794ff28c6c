"""Every command and request of README.md and docs/*.md is run, and what the page shows is held against what came.

A page is one shell, `bash -euo pipefail` in a temporary folder, its `sh` and `python` blocks in document order.
A `text` or `json` block after code is what that code prints: lines in order, or a part of the last JSON object, with
`…` for anything. Not run here: `make demo` and `make test`, which would run these tests again (they must be targets of
the Makefile), the creation of a virtual environment, which fetches all dependencies anew, and docs/local-model.md,
which fetches a model of the reader's choice (its commands must exist; tests/head runs them on a small model).
The pages in docs/ are tried against `make demo`, as they say; README.md and docs/nodes.md start their own node.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from doc_demo import Ports, environment
from doc_pages import DOCS, ROOT, Step, blocks, differences, last_json, missing_line, pages, steps

from sidecar.cli import cli
from sidecar.engine import free_port
from sidecar.engine.distribution import DEFAULT, distribution
from sidecar.engine.download import fetch
from sidecar.engine.places import cache_folder
from sidecar.engine.ready import is_free
from sidecar.settings import Engine, load_settings

LIMIT_S = 120
NOT_RUN = ("make ", "python3 -m venv ", "sidecar-env/bin/pip ", 'export PATH="$PWD/sidecar-env')
SELF_STARTED = ("README.md", "nodes.md")
UNTRIED = ("local-model.md",)
MARK = "=== end of block ==="
# A page that fails half-way leaves no sidecar behind.
HEAD = """set -euo pipefail
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null; wait' EXIT
"""


def runnable(page: Path) -> list[Step]:
    return [step for step in steps(page) if step.code.text.strip()]


def script(page: Path, folder: Path, ports: Ports) -> str:
    """The page as one shell script that prints `MARK` after each block."""
    parts = [HEAD]
    for number, step in enumerate(runnable(page)):
        text = ports.applied(step.code.text)
        if step.code.kind == "python":
            file = folder / f"block-{number}.py"
            file.write_text(text, encoding="utf-8")
            text = f"{shlex.quote(str(python_for(text)))} {file.name}\n"
        else:
            if "9200" in ports.used:  # the node is started by the page itself, and 9200 may be taken
                text = re.sub(r"^sidecar node start", f"\\g<0> --port {ports.used['9200']}", text, flags=re.MULTILINE)
            text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(NOT_RUN))
        parts.append(f"{text}\nprintf '\\n%s\\n' '{MARK}'\n")
    return "".join(parts)


def python_for(text: str) -> Path:
    """The interpreter that has what a block imports: a pinned environment of the client tests, or our own."""
    from client_environments import python_environment

    for package, name in (("typesafe_sdk", "systemone"), ("jev_reranker", "systemone"), ("opensearchpy", "opensearch")):
        if re.search(rf"^(from|import) {package}\b", text, re.MULTILINE):
            return python_environment(name).runtime
    return Path(sys.executable)


def run_page(page: Path, folder: Path, ports: Ports, more: dict[str, str] | None = None) -> None:
    """Run a page and compare."""
    code = script(page, folder, ports)
    done = subprocess.run(
        ["bash", "-c", code],
        cwd=folder,
        env=environment(more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    log = folder / "sidecar.log"
    tail = log.read_text(encoding="utf-8")[-2000:] if log.is_file() else ""
    printed = done.stdout.split(MARK)
    for step, output in zip(runnable(page), printed, strict=False):
        for shown in step.shown:
            compare(f"{page.name}:{shown.line}", shown.kind, ports.applied(shown.text), output)
    assert done.returncode == 0, f"{page.name} ended with {done.returncode}:\n{done.stdout[-4000:]}\n{tail}"


def compare(place: str, kind: str, shown: str, output: str) -> None:
    """Hold what a page shows against what was printed."""
    if kind == "text":
        line = missing_line(shown, output)
        assert line is None, f"{place}: not printed: {line}\nprinted was:\n{output}"
    else:
        found = list(differences(json.loads(shown), last_json(output)))
        assert not found, f"{place}: {found}\nanswered was:\n{output}"


@pytest.mark.parametrize("page", [page.name for page in DOCS.glob("*.md") if page.name not in SELF_STARTED + UNTRIED])
def test_a_page_does_what_it_says(page: str, demo: Ports, tmp_path: Path) -> None:
    if not runnable(DOCS / page):
        pytest.skip(f"{page} has no examples")
    second = free_pair()
    run_page(DOCS / page, tmp_path, Ports({**demo.used, "9211": second, "9212": second + 1}))


def free_pair() -> int:
    """A free port whose next one, the native port, is free too."""
    return next(port for port in iter(free_port, None) if is_free(port + 1))


def own_cache(folder: Path) -> dict[str, str]:
    """Settings for `sidecar node` in a folder of its own that shares what is downloaded, so that no test meets the
    nodes of the person who runs it."""
    fetch(distribution(DEFAULT), Engine())
    for entry in cache_folder(Engine()).iterdir():
        if entry.name != "nodes" and not entry.name.endswith((".lock", ".part")):
            (folder / entry.name).symlink_to(entry)
    return {"SIDECAR_ENGINE__CACHE_DIR": str(folder)}


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "nodes.md"], ids=lambda page: page.name)
def test_a_page_that_starts_its_own_node_does_what_it_says(page: Path, tmp_path: Path, open_folder: Path) -> None:
    node, port = free_port(), free_pair()
    ports = Ports({"9200": node, "9201": port, "9202": port + 1})
    settings = {"SIDECAR_UPSTREAM__URL": f"http://127.0.0.1:{node}", "SIDECAR_LISTEN__PORT": str(port)}
    more = own_cache(open_folder) | settings
    try:
        run_page(page, tmp_path, ports, more)
    finally:
        subprocess.run(["sidecar", "node", "stop"], env=environment(more), capture_output=True, check=True, timeout=60)


@pytest.mark.parametrize("page", UNTRIED)
def test_the_commands_of_a_page_that_is_not_run_exist(page: str) -> None:
    """Parsed with their arguments and flags as the command line would, and not carried out."""
    lines = [line for block in blocks(DOCS / page) if block.kind == "sh" for line in block.text.splitlines()]
    for line in lines:
        if not line.startswith("sidecar "):
            continue
        command: click.Command = cli
        name, *words = shlex.split(line)
        while isinstance(command, click.Group):
            name = words.pop(0)
            assert name in command.commands, f"{page}: there is no command {line!r}"
            command = command.commands[name]
        command.make_context(name, words)  # raises a UsageError for what it does not take


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_block_is_of_a_kind_that_is_checked(page: Path) -> None:
    unknown = [f"{page.name}:{block.line}" for block in blocks(page) if block.kind not in KINDS]
    assert not unknown, f"give these blocks one of {KINDS}: {unknown}"


KINDS = ("sh", "python", "text", "json", "toml")


def test_make_lines_name_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        word
        for page in pages()
        for word in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_settings_files_load(page: Path, tmp_path: Path) -> None:
    """TOML blocks, and the files that shell blocks write."""
    texts = [block.text for block in blocks(page) if block.kind == "toml"]
    for block in blocks(page):
        if block.kind == "sh":
            texts += re.findall(r"<<'TOML'\n(.*?)^TOML$", block.text, re.MULTILINE | re.DOTALL)
    for text in texts:
        assert tomllib.loads(text)
        file = tmp_path / "sidecar.toml"
        file.write_text(text, encoding="utf-8")
        assert load_settings(file, environ={}).origins
