"""Background tasks with an owner: one that fails is logged, counted and started again.

A task that an unexpected exception ends for good would leave the service half working while it says that it is ready.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("assay.engine")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0
SOUND_S = 10.0
"""Seconds without a failure after which the next one is a first one again."""


class Background:
    """Runs a coroutine function for as long as its owner wants it."""

    def __init__(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        self._name, self._run = name, run
        self._task: asyncio.Task[None] | None = None
        self.failures = 0
        self.down = False
        """Whether it has failed and does not run again yet."""

    def start(self) -> None:
        """Start it, on the running loop."""
        self._task = asyncio.create_task(self._supervise(), name=self._name)

    def cancel(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """End it, and wait until it has ended."""
        self.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _supervise(self) -> None:
        loop, pause_s = asyncio.get_running_loop(), FIRST_PAUSE_S
        while True:
            started, self.down = loop.time(), False
            try:
                await self._run()
                return
            except Exception as error:
                self.failures += 1
                self.down = True
                log.error("background task %s failed: %s: %.300s", self._name, type(error).__name__, error)
            pause_s = FIRST_PAUSE_S if loop.time() - started > SOUND_S else min(2 * pause_s, LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)
