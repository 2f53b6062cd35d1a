"""The virtual clock: events in the order of their times."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class Clock:
    """Seconds since the run began, and the events to come."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def at(self, time_s: float, event: Callable[[], None]) -> None:
        """Let an event happen at a time, or now if that is over."""
        heapq.heappush(self._events, (max(time_s, self.now), next(self._order), event))

    def after(self, delay_s: float, event: Callable[[], None]) -> None:
        """Let an event happen after a delay."""
        self.at(self.now + delay_s, event)

    @property
    def next(self) -> float | None:
        """Time of the next event, or None."""
        return self._events[0][0] if self._events else None

    def run_until(self, time_s: float) -> None:
        """Let all events up to a time happen, each at its own time, those that they cause included."""
        while self._events and self._events[0][0] <= time_s:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = max(self.now, time_s)
