"""A ticket stands for one verdict to be found, a waiter for an item that wants it, a submission for one request.

Items with the same key share a ticket (single flight). When a waiter leaves, or its own deadline passes, the
ticket still runs for the others. A `no_verdict` is not shared: it answers the first waiter, and a new ticket runs for
the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.service.engine.intake.work import Batch, Work
from assay.service.engine.protocol import Report
from assay.service.engine.schedule.blame import State


@dataclass(slots=True, eq=False)
class Ticket:
    """One verdict to be found."""

    seq: int
    key: bytes
    work: Work
    state: State
    waiters: dict[Waiter, None] = field(default_factory=dict)
    """Who waits for it, in order: a set, so that one may leave at any time."""
    started: float = 0.0
    running: bool = False

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits for it."""
        return bool(self.waiters)


@dataclass(slots=True, eq=False)
class Waiter:
    """One item of one submission."""

    submission: Submission
    index: int
    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Scored:
    """What one item got: its report, and how it came by it."""

    report: Report
    key: bytes | None = None
    queue_ms: float = 0.0
    cached: bool = False


class Submission:
    """One request being processed; its results become available one by one, groups as a whole."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.received = time.monotonic()
        self.results: list[Scored | None] = [None] * len(batch.entries)
        self.open = len(batch.entries)
        self.waiters: set[Waiter] = set()
        self.timer: asyncio.TimerHandle | None = None
        """Its deadline."""
        self._groups = _groups(batch)
        self._ready: asyncio.Queue[list[int]] = asyncio.Queue()
        self._all = asyncio.Event()

    def settle(self, index: int, scored: Scored) -> None:
        """Record the result of one item."""
        if self.results[index] is not None:
            return
        self.results[index] = scored
        self.open -= 1
        if not self.open:
            self._all.set()
        group = self._groups.get(index)
        if group is None:
            self._ready.put_nowait([index])
            return
        group.open -= 1
        if not group.open:
            self._ready.put_nowait(group.members)

    async def arrivals(self) -> list[int]:
        """Return the next indices whose results are ready together."""
        return await self._ready.get()

    async def done(self) -> None:
        """Wait until every item has its result."""
        await self._all.wait()


class _Group:
    """The items of one prompt in one request."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.open = 0


def _groups(batch: Batch) -> dict[int, _Group]:
    """Return the group of each item that has one."""
    by_name: dict[str, _Group] = {}
    by_index: dict[int, _Group] = {}
    for index, work in works(batch):
        if work.group is not None:
            group = by_index[index] = by_name.setdefault(work.group, _Group())
            group.members.append(index)
            group.open += 1
    return by_index


def works(batch: Batch) -> Iterator[tuple[int, Work]]:
    """Yield the items of a batch that are fit to be scored, with their indices."""
    for index, entry in enumerate(batch.entries):
        if isinstance(entry, Work):
            yield index, entry
