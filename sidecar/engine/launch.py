"""How a node is started: the command, its environment and the files of its folder, per distribution. Pure.

The shell scripts of the distributions are not used: they want a writable home and a bundled Java, and they
guess a heap from the machine's memory. H below is the distribution, N the node's own folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sidecar.engine.distribution import Distribution, Launcher
from sidecar.terms import JsonValue

# A node of this size gains nothing from the second compiler or from parallel collection: they cost start time.
_SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_HEAP_START = "-Xms64m"  # Elasticsearch touches the whole of it at the start

_SERVER = (
    "-Xss1m",
    *_SMALL,
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "-Djna.nosys=true",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
    "-Dio.netty.allocator.numDirectArenas=0",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dlog4j2.disable.jmx=true",
)

_LOG4J = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""

_CLUSTER_KEYS = ("discovery.seed_hosts", "cluster.initial_cluster_manager_nodes", "cluster.initial_master_nodes")


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody wants started. `config` wins over the defaults; a None there removes a default."""

    entry: Distribution
    home: Path
    java: Path
    java_home: Path
    folder: Path
    http_port: int
    transport_port: int
    heap: str = "384m"
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def node_settings(order: Order) -> dict[str, JsonValue]:
    """The keys of `opensearch.yml` or `elasticsearch.yml`."""
    values: dict[str, JsonValue] = {
        "cluster.name": f"sidecar-{order.entry.name}",
        "node.name": f"sidecar-{order.http_port}",
        "path.data": str(order.folder / "data"),
        "path.logs": str(order.folder / "logs"),
        "network.host": "127.0.0.1",
        "http.port": order.http_port,
        "transport.port": order.transport_port,
        # A developer's disk is often above 90 % full, where a node refuses to place or write anything.
        "cluster.routing.allocation.disk.threshold_enabled": False,
    }
    if not any(key in order.config for key in _CLUSTER_KEYS):
        values["discovery.type"] = "single-node"
    if order.entry.engine == "elasticsearch":
        values["xpack.security.enabled"] = False
    values |= order.config
    return {key: value for key, value in values.items() if value is not None}


def node_files(order: Order) -> dict[str, str]:
    """Files of N, by path relative to it. Values are written as JSON, which is YAML too."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in node_settings(order).items()]
    written = {
        f"config/{order.entry.engine}.yml": "\n".join(lines) + "\n",
        "config/log4j2.properties": _LOG4J,
    }
    if order.entry.launcher in (Launcher.CLI, Launcher.SERVER):
        # The stock file names a module that these zips lack and a log folder that cannot be written.
        options = ("-Djava.io.tmpdir=${ES_TMPDIR}", _arena(order), "-XX:+ExitOnOutOfMemoryError", *_SMALL)
        written["config/jvm.options"] = "\n".join((*options, _HEAP_START, f"-Xmx{order.heap}")) + "\n"
    return written | {f"config/{name}": text for name, text in order.files.items()}


def command(order: Order) -> list[str]:
    """The command line; to be run with H as the working folder."""
    build = {
        Launcher.OPENSEARCH: _opensearch,
        Launcher.DIRECT: _direct,
        Launcher.CLI: _cli,
        Launcher.SERVER: _server,
    }
    return [str(order.java), *build[order.entry.launcher](order)]


def environment(order: Order) -> dict[str, str]:
    """The whole environment: nothing of the caller's, whose ES_JAVA_OPTS or JAVA_HOME are not meant for this node."""
    tmp = str(order.folder / "tmp")
    common = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(order.folder), "TMPDIR": tmp}
    if order.entry.launcher is Launcher.DIRECT:
        return common | {"LIBFFI_TMPDIR": tmp}
    if order.entry.launcher is Launcher.CLI:
        return common | {"ES_TMPDIR": tmp}
    if order.entry.launcher is Launcher.SERVER:
        return common | {
            "ES_HOME": str(order.home),
            "ES_PATH_CONF": str(order.folder / "config"),
            "ES_DISTRIBUTION_TYPE": "zip",
            "ES_TMPDIR": tmp,
            "ES_JAVA_HOME": str(order.java_home),
            "JAVA": str(order.java),
            "JAVA_TYPE": "ES_JAVA_HOME",
            "CLI_JAVA_OPTS": "",
        }
    return common


def _arena(order: Order) -> str:
    package = "org.apache.lucene.store.MMapDirectory"
    return f"-D{package}.sharedArenaMaxPermits=1"  # one mapping per file: the default group costs memory


def _opensearch(order: Order) -> list[str]:
    home, version = order.home, order.entry.version
    return [
        _HEAP_START,
        f"-Xmx{order.heap}",
        *_SERVER,
        "-Djava.locale.providers=SPI,CLDR",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        _arena(order),
        f"-Djava.io.tmpdir={order.folder / 'tmp'}",
        f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={order.folder / 'config'}",
        "-Dopensearch.distribution.type=zip",
        "-Dopensearch.bundled_jdk=false",
        "-cp",
        # The agent's classes are needed, the agent is not: without it the start takes 6.0 instead of 8.6 s.
        f"{home}/lib/*:{home}/agent/opensearch-agent-bootstrap-{version}.jar",
        "org.opensearch.bootstrap.OpenSearch",
    ]


def _direct(order: Order) -> list[str]:
    return [
        _HEAP_START,
        f"-Xmx{order.heap}",
        *_SERVER,
        "-Djava.locale.providers=SPI,COMPAT",
        "--add-opens=java.base/java.io=ALL-UNNAMED",
        "-Djava.security.manager=allow",
        f"-Djava.io.tmpdir={order.folder / 'tmp'}",
        f"-Des.path.home={order.home}",
        f"-Des.path.conf={order.folder / 'config'}",
        "-Des.distribution.flavor=default",
        "-Des.distribution.type=zip",
        "-Des.bundled_jdk=false",
        "-cp",
        f"{order.home}/lib/*",
        "org.elasticsearch.bootstrap.Elasticsearch",
    ]


def _cli(order: Order) -> list[str]:
    # The launcher starts the server as its child and forwards signals; its own memory stays small.
    return [
        "-Xms4m",
        "-Xmx64m",
        *_SMALL,
        "-Dcli.name=server",
        f"-Dcli.script={order.home}/bin/elasticsearch",
        "-Dcli.libs=lib/tools/server-cli",
        f"-Des.path.home={order.home}",
        f"-Des.path.conf={order.folder / 'config'}",
        "-Des.distribution.type=zip",
        "-Des.java.type=x",  # 9.x refuses to start without any value
        "-cp",
        f"{order.home}/lib/*:{order.home}/lib/cli-launcher/*",
        "org.elasticsearch.launcher.CliToolLauncher",
    ]


def _server(order: Order) -> list[str]:
    return [
        "-Xms4m",
        "-Xmx64m",
        *_SMALL,
        "-cp",
        f"{order.home}/lib/tools/server-launcher/*",
        "org.elasticsearch.server.launcher.ServerLauncher",
    ]
