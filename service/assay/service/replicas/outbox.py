"""Background writes to Redis: kept in order, bounded in bytes, sent in batches. If Redis is down, the oldest are
dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque

from assay.service.replicas.link import Link

TOGETHER = 256
PATIENCE = 50.0
"""Time limit of a write, in multiples of a request's budget: no request waits for it."""


class Outbox:
    """Entries waiting to be written to Redis."""

    def __init__(self, link: Link, *, ttl_s: int, capacity_bytes: int = 32 << 20) -> None:
        self._link, self._ttl_s, self._capacity = link, ttl_s, capacity_bytes
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._bytes = 0
        self._sending: asyncio.Task[None] | None = None

    def put(self, name: str, entry: bytes) -> None:
        """Add an entry. Never blocks."""
        if not self._link.up or len(entry) > self._capacity:
            self._link.counts["dropped"] += 1
            return
        self._waiting.append((name, entry))
        self._bytes += len(entry)
        while self._bytes > self._capacity:
            self._bytes -= len(self._waiting.popleft()[1])
            self._link.counts["dropped"] += 1
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._waiting:
            together = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            self._bytes -= sum(len(entry) for _, entry in together)

            async def write(redis: object, entries: list[tuple[str, bytes]] = together) -> bool:
                pipe = redis.pipeline(transaction=False)  # type: ignore[attr-defined]
                for name, entry in entries:
                    pipe.set(name, entry, ex=self._ttl_s)
                await pipe.execute()
                return True

            if not await self._link.ask(write, patience=PATIENCE):
                self._link.counts["dropped"] += len(together)

    async def close(self) -> None:
        """Send the waiting entries as long as Redis accepts them."""
        if self._sending is not None:
            await asyncio.gather(self._sending, return_exceptions=True)
