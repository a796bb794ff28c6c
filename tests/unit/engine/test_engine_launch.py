"""Commands, environments and files of the launchers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.engine.distribution import DISTRIBUTIONS
from sidecar.engine.launch import Order, command, environment, node_files, node_settings
from sidecar.terms import JsonValue


def _order(name: str, config: dict[str, JsonValue] | None = None, files: dict[str, str] | None = None) -> Order:
    return Order(
        DISTRIBUTIONS[name],
        Path("/H"),
        Path("/J/bin/java"),
        Path("/J"),
        Path("/N"),
        http_port=21000,
        transport_port=21001,
        heap="512m",
        config=config or {},
        files=files or {},
    )


@pytest.mark.parametrize(
    ("name", "main", "class_path"),
    [
        (
            "opensearch3",
            "org.opensearch.bootstrap.OpenSearch",
            "/H/lib/*:/H/agent/opensearch-agent-bootstrap-3.8.0.jar",
        ),
        ("elasticsearch7", "org.elasticsearch.bootstrap.Elasticsearch", "/H/lib/*"),
        ("elasticsearch8", "org.elasticsearch.launcher.CliToolLauncher", "/H/lib/*:/H/lib/cli-launcher/*"),
        ("elasticsearch9", "org.elasticsearch.launcher.CliToolLauncher", "/H/lib/*:/H/lib/cli-launcher/*"),
        ("elasticsearch95", "org.elasticsearch.server.launcher.ServerLauncher", "/H/lib/tools/server-launcher/*"),
    ],
)
def test_command(name: str, main: str, class_path: str) -> None:
    words = command(_order(name))
    assert words[0] == "/J/bin/java"
    assert words[-3:] == ["-cp", class_path, main]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_heap_reaches_the_server(name: str) -> None:
    order = _order(name)
    options = node_files(order).get("config/jvm.options")
    assert "-Xmx512m" in (command(order) if options is None else options.splitlines())


@pytest.mark.parametrize(
    ("name", "variable"),
    [("opensearch3", "TMPDIR"), ("elasticsearch7", "LIBFFI_TMPDIR"), ("elasticsearch9", "ES_TMPDIR")],
)
def test_environment(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_JAVA_OPTS", "-Xmx64g")
    values = environment(_order(name))
    assert values[variable] == "/N/tmp"
    assert "ES_JAVA_OPTS" not in values


def test_defaults_of_a_single_node() -> None:
    values = node_settings(_order("elasticsearch9"))
    assert values["discovery.type"] == "single-node"
    assert values["xpack.security.enabled"] is False
    assert (values["network.host"], values["http.port"], values["transport.port"]) == ("127.0.0.1", 21000, 21001)
    assert "xpack.security.enabled" not in node_settings(_order("opensearch3"))


def test_config_wins_and_none_removes() -> None:
    config: dict[str, JsonValue] = {
        "xpack.security.enabled": True,
        "cluster.name": None,
        "discovery.seed_hosts": ["h:1"],
    }
    values = node_settings(_order("elasticsearch8", config))
    assert values["xpack.security.enabled"] is True
    assert "cluster.name" not in values
    assert "discovery.type" not in values


def test_files() -> None:
    order = _order("elasticsearch8", {"node.name": 'a "b": ü'}, {"users": "ada:x\n", "roles.yml": "r: {}\n"})
    files = node_files(order)
    lines = dict(line.split(": ", 1) for line in files["config/elasticsearch.yml"].splitlines())
    assert json.loads(lines["node.name"]) == 'a "b": ü'
    assert files["config/users"] == "ada:x\n"
    assert set(files) == {
        f"config/{n}" for n in ("elasticsearch.yml", "log4j2.properties", "jvm.options", "users", "roles.yml")
    }
