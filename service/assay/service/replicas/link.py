"""The connection to Redis with its time budget and circuit breaker.

    up    -- a refused connection, or TIMEOUTS consecutive timeouts -->  down
    down  -- a probe answered within the budget (at growing intervals) -->  up

A Redis that answers, but always later than a request would wait, stays down; an unstable one is probed at growing
intervals until it has been up for STEADY_S. While down nothing waits: `ask` returns None at once. Each transition is
one log line.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import structlog

from assay.client import ConfigurationError
from assay.service.engine.background import Background

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
TIMEOUTS = 5
FIRST_PROBE_S, LONGEST_PROBE_S = 0.1, 5.0
STEADY_S = 60.0
PROBE_TIMEOUT_S = 0.5
CONNECTIONS = 16
log = structlog.get_logger()


class Link:
    """One Redis, and whether it is in use. `counts` are for metrics."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        """Raise `ConfigurationError` if redis-py is missing or the URL is invalid."""
        self.timeout_s = timeout_s
        self.counts: Counter[str] = Counter()
        self.up = True
        self._late = 0
        self._pause, self._back_at = FIRST_PROBE_S, 0.0
        self._probe = Background("redis probe", self._probe_until_up)
        self._redis, faults, refusals = _client(url)
        self._faults: tuple[type[Exception], ...] = faults
        self._refusals: tuple[type[Exception], ...] = refusals

    async def ask(self, command: Callable[[Redis], Awaitable[T]], *, patience: float = 1.0) -> T | None:
        """Return Redis's answer within `patience` times the budget, or None."""
        if not self.up:
            return None
        try:
            async with asyncio.timeout(self.timeout_s * patience):
                answer = await command(self._redis)
        except TimeoutError:
            self._late += 1
            self._failed("slow", self._late >= TIMEOUTS)
            return None
        except self._refusals as refusal:  # Redis answers, but refuses the command or is out of memory
            self._failed(type(refusal).__name__, False)
            return None
        except self._faults as fault:
            self._failed(type(fault).__name__, True)
            return None
        self._late = 0
        return answer

    def _failed(self, why: str, broken: bool) -> None:
        self.counts["faults"] += 1
        if broken and self.up:
            self.up = False
            if time.monotonic() - self._back_at > STEADY_S:
                self._pause = FIRST_PROBE_S
            log.warning("redis unavailable: using only the local cache and quotas", why=why)
            self._probe.start()

    async def _probe_until_up(self) -> None:
        since = time.monotonic()
        while not self.up:
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LONGEST_PROBE_S)
            self.up = await self._answers()
        self._late, self._back_at = 0, time.monotonic()
        log.info("redis available again", after_s=round(self._back_at - since, 3))

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await self._redis.ping()  # opens a connection if there is none
                asked = time.monotonic()
                await self._redis.ping()
                return time.monotonic() - asked <= self.timeout_s
        except TimeoutError:
            return False
        except self._faults:
            return False

    async def close(self) -> None:
        """Close the connections."""
        await self._probe.stop()
        await self._redis.aclose()


def _client(url: str) -> tuple[Redis, tuple[type[Exception], ...], tuple[type[Exception], ...]]:
    """Return a client, and the exceptions that mean that Redis is unavailable, and that it refused a command."""
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError, ResponseError
    except ImportError:
        raise ConfigurationError("redis: install assay[redis]") from None
    try:
        pool = BlockingConnectionPool.from_url(
            url, max_connections=CONNECTIONS, timeout=None, retry=Retry(NoBackoff(), 0), socket_connect_timeout=2.0
        )
    except ValueError as error:
        raise ConfigurationError(f"redis.url: {error}") from None
    return Redis(connection_pool=pool), (RedisError, OSError), (ResponseError,)
