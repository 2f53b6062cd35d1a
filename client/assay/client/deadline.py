"""A point in time by which the caller wants an answer; `Deadline(None)` never comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from assay.client.errors import DeadlineExceeded

T = TypeVar("T")

GRACE_S = 1.0
"""The service answers `deadline` for what it could not start in time: that answer may still travel."""


class Deadline:
    """Seconds from now, on the monotonic clock."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds left, or None for ever. Raises `DeadlineExceeded`."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("the deadline passed before every result was there")
        return left

    async def sleep(self, seconds: float) -> None:
        """Sleep, unless the deadline comes first. Raises `DeadlineExceeded`."""
        left = self.remaining()
        if left is not None and left <= seconds:
            raise DeadlineExceeded("no service is ready before the deadline")
        await asyncio.sleep(seconds)

    async def bound(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`, at most until a little after the deadline. Raises `DeadlineExceeded`."""
        if self._end is None:
            return await work
        try:
            return await asyncio.wait_for(work, max(0.0, self._end - time.monotonic()) + GRACE_S)
        except asyncio.TimeoutError:
            raise DeadlineExceeded("the service did not answer by the deadline") from None
