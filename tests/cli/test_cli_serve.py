"""`sidecar serve` and what every command has in common: how they end and what they say."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_words import Run

from sidecar.cli import cli
from sidecar.engine import RunningNode, free_port

ANY_PORTS = ("--port", "0", "--native-port", "0")


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A sidecar in a process of its own, and the address of its ES port."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "sidecar", "serve", *ANY_PORTS, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                found = re.match(r"ES port +http://(\S+)", line)
                if found:
                    yield process, found[1]
                    return
            pytest.fail("the sidecar ended before it listened")
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(number: signal.Signals, opensearch: RunningNode) -> None:
    """Also while a kept-alive connection is idle."""
    with serving("--upstream", opensearch.url) as (process, address):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("GET", "/_cluster/health")
        assert connection.getresponse().read()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        connection.close()
    assert process.returncode == 0
    assert "Traceback" not in said
    assert "Warning" not in said


def test_an_exchange_in_flight_is_finished(opensearch: RunningNode) -> None:
    """The answer to a request that the node is still working on comes after the signal."""
    with socket.create_server(("127.0.0.1", 0)) as node:
        node.settimeout(60)
        with serving("--upstream", f"http://127.0.0.1:{node.getsockname()[1]}") as (process, address):
            connection = http.client.HTTPConnection(address, timeout=60)
            connection.request("GET", "/_slow")
            upstream = accept(node, b"GET /_slow ")
            process.send_signal(signal.SIGTERM)
            wait_until_refused(address)
            upstream.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone")
            assert connection.getresponse().read() == b"done"
            upstream.close()
            connection.close()
            assert process.wait(timeout=60) == 0


def accept(listener: socket.socket, wanted: bytes) -> socket.socket:
    """The connection that brings the wanted request; others are the sidecar's own and are closed."""
    while True:
        connection, _ = listener.accept()
        connection.settimeout(60)
        if connection.recv(65536).startswith(wanted):
            return connection
        connection.close()


def wait_until_refused(address: str) -> None:
    host, port = address.rsplit(":", 1)
    for _ in range(10_000):
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError:
            return
    pytest.fail("the sidecar still listens")


def test_it_starts_without_its_node() -> None:
    with serving("--upstream", f"http://127.0.0.1:{free_port()}", "--index", "cases") as (process, address):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("GET", "/")
        assert connection.getresponse().status == 502
        connection.close()
        process.terminate()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("option", ["--port", "--native-port"])
def test_a_taken_port_ends_it_with_1(option: str, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = [*ANY_PORTS, option, str(port)]
        done = run("serve", "--upstream", f"http://127.0.0.1:{free_port()}", *ports)
    assert done.status == 1
    setting = {"--port": "listen.port", "--native-port": "listen.native_port"}[option]
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert f"free it or set {setting}" in done.err
    assert "Unclosed" not in done.err


SETTINGS = [
    pytest.param("[decisions]\nk = 0", (), "decisions.k = 0", id="impossible-value-in-the-file"),
    pytest.param("[decisions]\nkk = 1", (), "did you mean decisions.k?", id="unknown-key-in-the-file"),
    pytest.param("", ("--human-weight", "0"), "decisions.human_weight = 0.0", id="impossible-flag"),
    pytest.param("", ("--port", "65536"), "listen.port = 65536", id="port"),
    pytest.param("", ("--port", "65535", "--native-port", "65536"), "listen.native_port = 65536", id="native-port"),
    pytest.param("", ("--upstream", "localhost"), "upstream.url = 'localhost'", id="upstream"),
    pytest.param("", ("--upstrem", "x"), "No such option", id="unknown-flag"),
    pytest.param("", ("extra",), "unexpected extra argument", id="argument"),
]


@pytest.mark.parametrize(("file", "words", "said"), SETTINGS)
def test_wrong_settings_end_it_with_2(file: str, words: tuple[str, ...], said: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "sidecar.toml"
    path.write_text(file)
    done = run("serve", "--config", str(path), *ANY_PORTS, *words)
    assert done.status == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_the_environment_names_the_settings_file(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sidecar.toml"
    path.write_text("[limits]\nquestions = 0\n")
    monkeypatch.setenv("SIDECAR_CONFIG", str(path))
    done = run("serve")
    assert done.status == 2
    assert "limits.questions = 0" in done.err


def commands() -> list[str]:
    """Every command and subcommand, as typed."""
    found = []
    for name, command in sorted(cli.commands.items()):
        found.append(name)
        found += [f"{name} {inner}" for inner in sorted(getattr(command, "commands", {}))]
    return found


@pytest.mark.parametrize("command", ["", *commands()])
def test_every_command_has_help(command: str, run: Run) -> None:
    for option in ("--help", "-h"):
        done = run(*command.split(), option)
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("Usage: ")
        assert len(done.out.splitlines()) > 4


def test_the_version(run: Run) -> None:
    done = run("--version")
    assert done.status == 0
    assert re.fullmatch(r"sidecar, version \d+\.\d+\.\d+\S*\n", done.out)


def test_an_unknown_command(run: Run) -> None:
    done = run("servee")
    assert done.status == 2
    assert "No such command 'servee'" in done.err
