"""A relay between a sidecar and its node that can hold back what the sidecar asks, and tells what it asked."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

LIMIT_S = 60


class Relay:
    """Passes bytes both ways. Made by `running_relay`.

    hold      from now on requests stay here
    release   let them go on
    asked     what the sidecar sent so far
    """

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        assert parts.hostname
        assert parts.port
        self._upstream = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open = threading.Event()
        self._open.set()
        self._changed = threading.Condition()
        self._asked = bytearray()
        self._held = 0
        self._abandoned = 0
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Keep every request from now on until `release`."""
        self._open.clear()

    def release(self) -> None:
        """Send on what was held."""
        self._open.set()

    def forget(self) -> None:
        """Start the record of what was asked anew."""
        with self._changed:
            self._asked.clear()

    @property
    def asked(self) -> bytes:
        """What the sidecar sent since the start or the last `forget`."""
        with self._changed:
            return bytes(self._asked)

    def wait_held(self, count: int = 1) -> None:
        """Until that many requests have been held."""
        self._wait(lambda: self._held >= count, f"{count} held requests")

    def wait_abandoned(self, count: int = 1) -> None:
        """Until the sidecar has closed that many connections on which a request was held."""
        self._wait(lambda: self._abandoned >= count, f"{count} abandoned requests")

    def close(self) -> None:
        """Close everything."""
        self._open.set()
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _wait(self, met: object, what: str) -> None:
        assert callable(met)
        with self._changed:
            assert self._changed.wait_for(met, LIMIT_S), f"waited in vain for {what}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                downstream, _ = self._listener.accept()
                upstream = socket.create_connection(self._upstream)
                self._sockets += [downstream, upstream]
                threading.Thread(target=self._pass_requests, args=(downstream, upstream), daemon=True).start()
                threading.Thread(target=self._pass_answers, args=(upstream, downstream), daemon=True).start()

    def _pass_requests(self, downstream: socket.socket, upstream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := downstream.recv(65536):
                with self._changed:
                    self._asked += data
                if not self._open.is_set():
                    self._note("_held")
                    if self._is_abandoned(downstream):
                        self._note("_abandoned")
                        break
                upstream.sendall(data)
        for each in (downstream, upstream):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _is_abandoned(self, downstream: socket.socket) -> bool:
        """Wait for the release; True when the other side closes before."""
        downstream.settimeout(0.05)
        try:
            while not self._open.is_set():
                with contextlib.suppress(TimeoutError):
                    if not downstream.recv(1, socket.MSG_PEEK):
                        return True
                    self._open.wait(0.05)  # more of the same request
            return False
        except OSError:
            return True
        finally:
            downstream.settimeout(None)

    def _note(self, name: str) -> None:
        with self._changed:
            setattr(self, name, getattr(self, name) + 1)
            self._changed.notify_all()

    def _pass_answers(self, upstream: socket.socket, downstream: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := upstream.recv(65536):
                downstream.sendall(data)
        for each in (downstream, upstream):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def running_relay(upstream: str) -> Iterator[Relay]:
    """A relay in front of a node; closed at the end of the block."""
    relay = Relay(upstream)
    try:
        yield relay
    finally:
        relay.close()
