"""Third-party packages in environments of their own: made once from pinned requirements, then only used.

They disagree with each other and with our own dependencies (the 8.x client needs an older transport than ours), so
each lives in a virtual environment and a test runs a small script there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".cache" / "clients"
KEY = "sk-local-dummy"
DONE = ".complete"
LIMIT_S = 300  # a script that hangs fails its test instead of the whole run

# helioai-agent asks for Python 3.12 and a large set of dependencies; the one module under test needs neither.
ANY_PYTHON = {"helioai"}


@dataclass(frozen=True)
class Ran:
    """What a program left behind."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Environment:
    """Installed packages and the program that runs scripts with them."""

    name: str
    folder: Path
    runtime: Path

    def script(self, name: str, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
        """Run `scripts/<name>` and read the one JSON value that it prints.

        The arguments travel as one line of JSON on its standard input. A script that fails raises AssertionError with
        what it said.
        """
        command = [str(self.runtime), str(HERE / "scripts" / name)]
        ran = run(command, env=env, stdin=json.dumps(arguments) + "\n", cwd=self.folder)
        assert ran.status == 0, f"{name} ended with {ran.status}:\n{ran.err}{ran.out}"
        return json.loads(ran.out)

    def tool(self, name: str, *arguments: str, env: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
        """Run a command that one of the packages installed; its exit status is the caller's to judge."""
        return run([str(self.runtime.parent / name), *arguments], env=env, stdin=stdin, cwd=self.folder)

    def begin(self, name: str, *arguments: object, env: Mapping[str, str]) -> subprocess.Popen[str]:
        """Start a script and go on; what it prints and what else it reads is the caller's business."""
        command, pipe = [str(self.runtime), str(HERE / "scripts" / name)], subprocess.PIPE
        begun = subprocess.Popen(command, env=environ(env), stdin=pipe, stdout=pipe, cwd=self.folder, text=True)
        assert begun.stdin is not None
        begun.stdin.write(json.dumps(arguments) + "\n")
        begun.stdin.flush()
        return begun

    def serve(self, name: str, *arguments: str, env: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Start an installed command that keeps running; the caller ends it."""
        with log.open("wb") as file:
            command = [str(self.runtime.parent / name), *arguments]
            return subprocess.Popen(command, env=environ(env), stdout=file, stderr=file, cwd=self.folder)


def environ(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of every client: loopback without a proxy, the documented dummy key, none of our settings."""
    ours = ("SIDECAR_", "TYPESAFE_", "JEV_", "HELIOAI_", "STUNTD_", "PYTHON", "XERJ_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    loopback = "127.0.0.1,localhost"
    return kept | {"NO_PROXY": loopback, "no_proxy": loopback, "TYPESAFE_API_KEY": KEY} | dict(more or {})


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str = "", cwd: Path | None = None
) -> Ran:
    """Run a program to its end."""
    done = subprocess.run(
        command, env=environ(env), input=stdin, cwd=cwd, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def python_environment(name: str) -> Environment:
    """The virtual environment of `environments/<name>.txt`, made on first use."""
    requirements = HERE / "environments" / f"{name}.txt"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = _place(name, requirements.read_bytes() + python.encode())
    if _must_be_made(folder):
        venv.create(folder, with_pip=False)
        # `--no-deps`: the file is complete, so what runs is exactly what it says.
        install = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--no-deps"]
        install += ["--ignore-requires-python"] if name in ANY_PYTHON else []
        _make([*install, "--requirement", str(requirements)])
        _is_made(folder)
    return Environment(name, folder, folder / "bin" / "python")


def node_environment(name: str) -> Environment:
    """The packages of `environments/<name>/package-lock.json`, installed on first use.

    Raises  FileNotFoundError naming what is missing
    """
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if missing:
        named = " and ".join(missing)
        raise FileNotFoundError(f"{named} not found; install Node.js 20 or newer (nodejs.org) to run this")
    node = shutil.which("node")
    assert node is not None
    source = HERE / "environments" / name
    folder = _place(name, (source / "package.json").read_bytes() + (source / "package-lock.json").read_bytes())
    if _must_be_made(folder):
        folder.mkdir(parents=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, folder)
        _make(["npm", "ci", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"])
        _is_made(folder)
    return Environment(name, folder, Path(node))


def versions(name: str) -> dict[str, str]:
    """The pinned versions of an environment, by package."""
    pins = (HERE / "environments" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return dict(pin.partition(" ;")[0].strip().split("==") for pin in pins if "==" in pin)  # type: ignore[misc]


def _place(name: str, content: bytes) -> Path:
    return CACHE / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"


def _must_be_made(folder: Path) -> bool:
    """Whole or anew: what an interrupted run left half done is removed."""
    if (folder / DONE).is_file():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _is_made(folder: Path) -> None:
    (folder / DONE).touch()


def _make(command: Sequence[str]) -> None:
    ran = run(command)
    assert ran.status == 0, f"{' '.join(command)} ended with {ran.status}:\n{ran.err}{ran.out}"
