"""CORS as the node does it: its own answer to an origin is mirrored, so that there is one place to configure."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

Headers = tuple[tuple[str, str], ...]
CACHE_SECONDS = 60.0
CACHE_ORIGINS = 64


class CorsMirror:
    """Which CORS headers the node would send to an origin; asked at most once a minute per origin."""

    def __init__(
        self, ask_node: Callable[[str], Awaitable[Headers]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask_node = ask_node
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Headers]] = OrderedDict()

    async def headers(self, origin: str | None) -> Headers:
        """The headers for an answer to this Origin; none for a request without one."""
        if origin is None:
            return ()
        known = self._known.get(origin)
        if known is not None and self._clock() - known[0] < CACHE_SECONDS:
            return known[1]
        headers = await self._ask_node(origin)
        self._known[origin] = (self._clock(), headers)
        self._known.move_to_end(origin)
        while len(self._known) > CACHE_ORIGINS:
            self._known.popitem(last=False)
        return headers
