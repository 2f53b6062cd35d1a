"""Several URLs, one service: the least busy one that is not resting is used next.

A URL that fails rests a second, then twice as long each time; one that says `Retry-After` rests exactly
that long. Requests that fail together are one failure. While all rest, callers wait for the first to
wake, spread over a little jitter; but none lets its deadline pass without asking: a URL that rests for
its failures alone is tried after a quarter of the time that is left.
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
FIRST_REST_S, LONGEST_REST_S = 0.25, 30.0
LONGEST_ADVICE_S = 300.0
JITTER = 0.25
BOLD = 0.25
"""The share of a caller's time after which a URL that rests is tried all the same."""


class Endpoint:
    """One transport, its load, and until when it rests."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.references: set[str] = set()
        """Digests of the references that were uploaded here."""
        self.uploading = asyncio.Lock()
        self.in_flight = 0
        self.awake_at = 0.0
        self.down_since: float | None = None
        """When it last began to give no answer; None while it does."""
        self.advised = False
        """Whether it rests because it asked for it."""
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
        """An answer came."""
        self._failures = 0
        self.down_since = None

    def failed(self, fault: AssayError) -> None:
        """No answer came: rest."""
        now = time.monotonic()
        if not isinstance(fault, Overloaded) and self.down_since is None:
            self.down_since = now
            log.warning("%s; trying again", fault)
        if isinstance(fault, Overloaded) and fault.retry_after_s is not None:
            self.advised, rest = True, min(fault.retry_after_s, LONGEST_ADVICE_S)
        elif now < self.awake_at:  # its neighbours have said so already
            return
        else:
            self._failures += 1
            self.advised, rest = False, min(FIRST_REST_S * 2 ** min(self._failures, 16), LONGEST_REST_S)
        self.awake_at = max(self.awake_at, now + rest)


class Endpoints:
    """All URLs of one client."""

    def __init__(self, transports: Sequence[Transport]) -> None:
        self.all = [Endpoint(transport) for transport in transports]

    async def ready(self, deadline: Deadline) -> Endpoint:
        """The next endpoint to use. Raises `DeadlineExceeded` if none wakes in time."""
        while True:
            left, now = deadline.remaining(), time.monotonic()
            awake = [endpoint for endpoint in self.all if endpoint.awake_at <= now]
            if awake:
                return min(awake, key=lambda endpoint: (endpoint.in_flight, endpoint.awake_at))
            first = min(self.all, key=lambda endpoint: endpoint.awake_at)
            wait = first.awake_at - now
            bold = wait if left is None or first.advised else min(max(FIRST_REST_S, left * BOLD), left / 2)
            await deadline.sleep(min(wait, bold) * (1 + JITTER * random.random()) + 0.001)
            if bold < wait:
                return first

    def down_s(self) -> float:
        """Seconds for which no URL has given an answer; 0 while one does."""
        since = [endpoint.down_since for endpoint in self.all]
        return min((time.monotonic() - s for s in since if s is not None), default=0.0) if None not in since else 0.0

    async def aclose(self) -> None:
        """Close every transport."""
        for endpoint in self.all:
            await endpoint.transport.aclose()
