"""Several URLs of one service: the least busy one that is not backed off is used next.

A URL that fails is not used for half a second, then for twice as long after each further failure; one that sends
`Retry-After` for as long as that says. Concurrent failures count as one. If all URLs are backed off, callers wait for
the first to be available again, with a little jitter. No caller lets its deadline pass without a request: a URL that
is backed off only because of failures is probed after a quarter of the remaining time.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from assay.client.deadline import Deadline
from assay.client.errors import AssayError, Overloaded
from assay.client.transport import Transport

log = logging.getLogger("assay.client")
FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.25, 30.0
LONGEST_ADVICE_S = 300.0
JITTER = 0.25
PROBE_SHARE = 0.25
"""The fraction of a caller's remaining time after which a backed-off URL is probed."""


class Endpoint:
    """One transport with its load and back-off state."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.references: set[str] = set()
        """Digests of the references uploaded to this endpoint."""
        self.uploading = asyncio.Lock()
        self.in_flight = 0
        self.available_at = 0.0
        self.down_since: float | None = None
        """Time at which it stopped answering, or None while it answers."""
        self.advised = False
        """Whether the back-off was requested by the service (`Retry-After`)."""
        self._failures = 0

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count one request in flight."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def worked(self) -> None:
        """Record that an answer arrived."""
        self._failures = 0
        self.down_since = None

    def failed(self, fault: AssayError) -> None:
        """Record that no answer arrived, and back off."""
        now = time.monotonic()
        if not isinstance(fault, Overloaded) and self.down_since is None:
            self.down_since = now
            log.warning("%s; trying again", fault)
        if isinstance(fault, Overloaded) and fault.retry_after_s is not None:
            self.advised, backoff = True, min(fault.retry_after_s, LONGEST_ADVICE_S)
        elif now < self.available_at:  # a concurrent request has already recorded this failure
            return
        else:
            self._failures += 1
            self.advised, backoff = False, min(FIRST_BACKOFF_S * 2 ** min(self._failures, 16), LONGEST_BACKOFF_S)
        self.available_at = max(self.available_at, now + backoff)


class Endpoints:
    """The URLs of one client."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self.all = [Endpoint(transport) for transport in transports]

    async def ready(self, deadline: Deadline) -> Endpoint:
        """Return the next endpoint to use. Raises `DeadlineExceeded` if none is available in time."""
        while True:
            left, now = deadline.remaining(), time.monotonic()
            available = [endpoint for endpoint in self.all if endpoint.available_at <= now]
            if available:
                return min(available, key=lambda endpoint: (endpoint.in_flight, endpoint.available_at))
            first = min(self.all, key=lambda endpoint: endpoint.available_at)
            wait = first.available_at - now
            probe_after = (
                wait if left is None or first.advised else min(max(FIRST_BACKOFF_S, left * PROBE_SHARE), left / 2)
            )
            await deadline.sleep(min(wait, probe_after) * (1 + JITTER * random.random()) + 0.001)
            if probe_after < wait:
                return first

    def down_s(self) -> float:
        """Return for how many seconds no URL has answered; 0 if one does."""
        since = [endpoint.down_since for endpoint in self.all]
        return min((time.monotonic() - s for s in since if s is not None), default=0.0) if None not in since else 0.0

    async def aclose(self) -> None:
        """Close every transport."""
        for endpoint in self.all:
            await endpoint.transport.aclose()
