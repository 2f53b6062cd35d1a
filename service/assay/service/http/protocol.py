"""Connections as the service bounds them, before any key is checked: the size of heads, time to read, their number.

httptools buffers a header until it is complete, however long it grows, and uvicorn has no time limit for a head or a
body. A head and a body must arrive within `read_s` seconds, plus the time that their bytes take at `SLOWEST_BPS`.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
SLOWEST_BPS = 16 * 1024
"""Bytes a second that a sender who needs longer must reach."""
RESERVE = 256
"""Descriptors that connections leave for lanes, jails, Redis and gRPC."""


def raise_descriptor_limit(most: int = 65536) -> int:
    """Raise the soft limit of descriptors to the hard one, at most `most`; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return most if soft == resource.RLIM_INFINITY else soft


class Connections:
    """The open connections of a listener, the oldest first, and how many there may be."""

    def __init__(self, most: int, *, read_s: float) -> None:
        self.most, self.read_s = most, read_s
        self.refused = 0
        """Connections closed to make room, or for want of it."""
        self._open: dict[BoundedProtocol, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, new: BoundedProtocol) -> None:
        """Admit a connection. If there are too many, close an idle one: first one that has shown no key."""
        self._open[new] = None
        if len(self._open) > self.most:
            idle = [one for one in self._open if not one.busy]
            victim = next((one for one in idle if not one.known), idle[0] if idle else new)
            self.refused += 1
            self.remove(victim)
            victim.transport.abort()

    def remove(self, one: BoundedProtocol) -> None:
        """Forget a connection."""
        self._open.pop(one, None)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits: a head of more than HEAD_BYTES is a 400, a slow sender is cut off."""

    known = False
    """Whether a request of this connection was admitted."""
    _in_head = False
    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0
    _received = 0

    def __init__(self, *args: Any, open_connections: Connections, **more: Any) -> None:
        super().__init__(*args, **more)
        self._open_connections = open_connections

    @property
    def busy(self) -> bool:
        """Whether a request has been read and its answer is not complete."""
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Handle a new connection."""
        super().connection_made(transport)
        self._arm()
        self._open_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        self._open_connections.remove(self)
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        if self._timer is None:
            self._arm()
        self._received += len(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")
                return
        if not self.transport.is_closing():
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Handle the start of a request."""
        self._in_head, self._head_bytes = True, 0
        self._disarm()
        self._arm()
        super().on_message_begin()
        self.scope["assay.connection"] = self  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        """Handle the end of the head."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        self._disarm()
        super().on_message_complete()

    def _arm(self) -> None:
        """Begin the time within which what is being read must be complete."""
        self._since, self._received = self.loop.time(), 0
        self._timer = self.loop.call_later(self._open_connections.read_s, self._check)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        due = self._since + self._open_connections.read_s + self._received / SLOWEST_BPS
        left = due - self.loop.time()
        if self.busy or self.flow.read_paused:
            left = max(left, self._open_connections.read_s)
        if left > 0:
            self._timer = self.loop.call_later(left, self._check)
        else:
            self._timer = None
            self.transport.abort()
