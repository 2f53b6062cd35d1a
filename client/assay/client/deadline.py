"""A point in time by which the caller wants an answer; `Deadline(None)` never expires."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from assay.client.errors import DeadlineExceeded

T = TypeVar("T")

GRACE_S = 1.0
"""Extra seconds after the deadline: the service answers `deadline` for items it could not start, and that answer
takes time.
"""


class Deadline:
    """A time limit in seconds from now, on the monotonic clock."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Return the seconds left, or None without a limit. Raises `DeadlineExceeded`."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("the deadline passed before all results arrived")
        return left

    async def sleep(self, seconds: float) -> None:
        """Sleep, or raise `DeadlineExceeded` if the deadline comes first."""
        left = self.remaining()
        if left is not None and left <= seconds:
            raise DeadlineExceeded("no service is ready before the deadline")
        await asyncio.sleep(seconds)

    async def bound(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work` until shortly after the deadline at most. Raises `DeadlineExceeded`."""
        if self._end is None:
            return await work
        try:
            return await asyncio.wait_for(work, max(0.0, self._end - time.monotonic()) + GRACE_S)
        except asyncio.TimeoutError:
            raise DeadlineExceeded("the service did not answer by the deadline") from None
