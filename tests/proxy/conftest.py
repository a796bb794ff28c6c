"""A sidecar in front of a scripted node."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from proxy_wire import RawClient, ScriptedNode, settings_for

from sidecar.app import Sidecar


@pytest.fixture
async def upstream() -> AsyncIterator[ScriptedNode]:
    """A node that does as told."""
    async with ScriptedNode().running() as node:
        yield node


@pytest.fixture
async def sidecar(upstream: ScriptedNode) -> AsyncIterator[Sidecar]:
    """A sidecar in front of it."""
    running = Sidecar(settings_for(upstream.port))
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


@pytest.fixture
async def client(sidecar: Sidecar) -> AsyncIterator[RawClient]:
    """A connection to the ES port."""
    raw = await RawClient.connect(sidecar.es_url)
    yield raw
    await raw.leave()
