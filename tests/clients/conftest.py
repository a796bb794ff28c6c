"""Environments, histories and sidecars that the client tests share; each is made at the first test that asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from client_environments import Environment, node_environment, python_environment
from client_intents import INTENT_SETTINGS, intent_cases
from client_relay import Relay, running_relay
from client_sidecar import (
    INTENT,
    SETTINGS,
    SMS,
    SUPPORT,
    RunningSidecar,
    Start,
    load_history,
    running_sidecar,
    sms_cases,
    support_cases,
    wait_until_loaded,
)
from compatibility import Proved, Records

from sidecar.engine import RunningNode


@pytest.fixture(scope="session")
def records() -> Records:
    """What this run has shown; `docs/compatibility.md` is made of it."""
    return Records()


@pytest.fixture
def proved(records: Records, opensearch: RunningNode) -> Proved:
    """`proved(gate, statement)`: called by a test once it has shown it in front of the session's OpenSearch."""
    return lambda gate, statement: records.add(gate, f"OpenSearch {opensearch.version}", statement)


@pytest.fixture(scope="session")
def support_sidecars(
    engines: Callable[[str], RunningNode], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], tuple[RunningNode, RunningSidecar]]]:
    """`support_sidecars(engine)`: the session's node of that distribution with the support history, and a sidecar."""
    running: dict[str, tuple[RunningNode, RunningSidecar]] = {}
    with ExitStack() as stack:

        def sidecar(name: str) -> tuple[RunningNode, RunningSidecar]:
            if name not in running:
                node = engines(name)
                index = f"{SUPPORT}-small"
                load_history(node.url, index, support_cases())
                folder = tmp_path_factory.mktemp(f"sidecar-{name}")
                settings = f'[decisions]\nindex = "{index}"\n'
                running[name] = node, stack.enter_context(running_sidecar(node.url, folder, settings))
            return running[name]

        yield sidecar


@pytest.fixture(scope="session")
def histories(opensearch: RunningNode) -> RunningNode:
    """The session's OpenSearch node, holding the support messages and the short messages."""
    load_history(opensearch.url, SUPPORT, support_cases())
    try:
        load_history(opensearch.url, SMS, sms_cases())
    except SystemExit as missing:
        pytest.skip(str(missing))
    return opensearch


@pytest.fixture(scope="session")
def start(histories: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """`start(settings, *flags)` gives the session's sidecar with exactly these settings in front of `histories`."""
    running: dict[tuple[str, ...], RunningSidecar] = {}
    with ExitStack() as stack:

        def sidecar(settings: str = SETTINGS, *flags: str) -> RunningSidecar:
            key = (settings, *flags)
            if key not in running:
                folder = tmp_path_factory.mktemp("sidecar")
                running[key] = stack.enter_context(running_sidecar(histories.url, folder, settings, *flags))
            return running[key]

        yield sidecar


@pytest.fixture(scope="session")
def start_armed(start: Start, tiny_model_dir: Path) -> Start:
    """`start` with the local tier armed and its model in memory: a first load may outlast a request's deadline."""

    def armed(settings: str = SETTINGS) -> RunningSidecar:
        flags = ("--decide-mode", "local", "--decide-model-dir", str(tiny_model_dir))
        sidecar = start(f"{settings}\n[local]\npreload = true\n", *flags)
        wait_until_loaded(sidecar)
        return sidecar

    return armed


@pytest.fixture(scope="session")
def sidecar(start: Start) -> RunningSidecar:
    """The sidecar that most gates run against: short messages by default, support messages by name."""
    return start()


@pytest.fixture(scope="session")
def intents(histories: RunningNode, start: Start) -> RunningSidecar:
    """A sidecar whose question scopes draw each field of a request from a label field of its own."""
    load_history(histories.url, INTENT, intent_cases())
    return start(INTENT_SETTINGS)


@pytest.fixture
def relay(histories: RunningNode) -> Iterator[Relay]:
    """A relay in front of the histories, for a sidecar whose searches are to be held or counted."""
    with running_relay(histories.url) as relay:
        yield relay


@pytest.fixture
def behind_relay(relay: Relay, tmp_path: Path) -> Iterator[Start]:
    """`behind_relay(settings)` starts a sidecar whose node is behind `relay`."""
    with ExitStack() as stack:
        yield lambda settings=SETTINGS: stack.enter_context(running_sidecar(relay.url, tmp_path, settings))


@pytest.fixture(scope="session")
def systemone() -> Environment:
    """The System One clients in Python: SDK, jevcompat, jev-reranker, semantic-operators, stuntd, decision-gateway."""
    return python_environment("systemone")


@pytest.fixture(scope="session")
def typesafe_js() -> Environment:
    """The System One SDK for JavaScript; skips where Node.js is missing."""
    try:
        return node_environment("typesafe-js")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The page of compatibility is compared when everything else has been shown."""
    items.sort(key=lambda item: item.path.name == "test_compatibility.py")
