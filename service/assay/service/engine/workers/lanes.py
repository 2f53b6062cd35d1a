"""The lanes: so many of each kind are kept alive; one that dies or retires is replaced at once.

Text lanes are confined and share nothing. Sandbox lanes hold a channel to one sandbox slot, which a
supervisor outside owns. What a death means for the items is not decided here (see `dispatch`).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Coroutine
from typing import Protocol

from assay.sandbox import SandboxError
from assay.service.engine.errors import EngineUnavailable, PluginRefused
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import Hello, LaneOptions, Reports
from assay.service.engine.settings import EngineSettings
from assay.service.engine.workers.lane import EngineLane, State
from assay.service.engine.workers.nursery import Nursery

BROKEN_AFTER = 5
"""Lanes in a row that died before their first word: the host cannot run lanes."""
LONGEST_PAUSE_S = 5.0
STATUS_WAIT_S = 0.5
HELLO_S = 60.0


class Channels(Protocol):
    """Where sandbox lanes get their channel to a slot from."""

    def channel(self) -> int:
        """A new file descriptor for one lane; the caller closes it. Raises OSError."""


class LaneUser(Protocol):
    """Who gives the lanes their work."""

    def lane_ready(self, lane: EngineLane) -> None:
        """A new lane can work."""

    def lane_reports(self, lane: EngineLane, reports: Reports) -> None:
        """Reports have come."""

    def lane_dead(self, lane: EngineLane) -> None:
        """A lane is dead; `lane.assigned` is what it still had."""

    def lanes_broken(self) -> None:
        """No lane can be started on this host at present."""


class Lanes:
    """Keeps `counts[kind]` lanes of each kind alive."""

    def __init__(self, settings: EngineSettings, user: LaneUser) -> None:
        self._settings = settings
        self._user = user
        self._numbers = itertools.count()
        self._counts = {**dict.fromkeys(LaneKind, 0), LaneKind.TEXT: settings.lanes}
        self._channels: Channels | None = None
        self._lanes: dict[int, EngineLane] = {}
        self._by_pid: dict[int, EngineLane] = {}
        self._statuses: dict[int, int] = {}
        self._failures = 0
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._told = asyncio.Event()
        self._catalogue = b""
        self._refusal: EngineUnavailable | None = None
        self._nursery = Nursery(
            on_born=self._born, on_died=self._died, on_gone=self._forkserver_gone, warm=settings.warm
        )

    async def start(self) -> bytes:
        """Start the lanes; returns the catalogue of verifiers. Raises EngineUnavailable."""
        self._nursery.start()
        self._fill()
        try:
            await asyncio.wait_for(self._told.wait(), HELLO_S)
        except TimeoutError:
            raise EngineUnavailable("no lane came up in time") from None
        if self._refusal is not None:
            raise self._refusal
        return self._catalogue

    def _refuse(self, error: EngineUnavailable) -> None:
        """Tell the caller of `start` why no lane comes up."""
        if not self._told.is_set():
            self._refusal = error
            self._told.set()

    def open_sandbox_lanes(self, count: int, channels: Channels) -> None:
        """From now on keep so many sandbox lanes too."""
        self._channels, self._counts[LaneKind.SANDBOX] = channels, count
        self._fill()

    def open(self, kind: LaneKind, count: int) -> None:
        """From now on keep so many lanes of a kind that is started on first use."""
        if self._counts[kind] != count:
            self._counts[kind] = count
            self._fill()

    def retire_sandbox_lanes(self) -> None:
        """Their channels are dead."""
        for lane in self.alive:
            if lane.kind is LaneKind.SANDBOX:
                lane.retire()

    def ready(self, kind: LaneKind) -> list[EngineLane]:
        """Lanes of a kind that can be given work."""
        return [lane for lane in self._lanes.values() if lane.kind is kind and lane.state is State.READY]

    @property
    def alive(self) -> list[EngineLane]:
        """All lanes that are not dead."""
        return [lane for lane in self._lanes.values() if lane.state is not State.DEAD]

    @property
    def forkserver_pid(self) -> int | None:
        """The forkserver's pid."""
        return self._nursery.pid

    @property
    def broken(self) -> bool:
        """Whether the host cannot run lanes at present."""
        return self._failures >= BROKEN_AFTER

    def replace(self, lane: EngineLane) -> None:
        """Let a lane end and start another in its place."""
        lane.retire()
        self._fill()

    def fill(self) -> None:
        """Start what is missing: a slot may have been taken when its lane was to start."""
        if not self.broken:
            self._fill()

    def _fill(self) -> None:
        if self._closing or self._nursery.pid is None:
            return
        for kind, count in self._counts.items():
            active = sum(
                lane.kind is kind and lane.state in (State.STARTING, State.READY) for lane in self._lanes.values()
            )
            for _ in range(count - active):
                self._spawn(kind)

    def _spawn(self, kind: LaneKind) -> None:
        sandbox = kind is LaneKind.SANDBOX
        channel = self._channel() if sandbox else None
        if sandbox and channel is None:
            return
        number = next(self._numbers)
        lane = EngineLane(number, kind=kind, idle_s=self._settings.stuck_s, events=self)
        self._lanes[number] = lane
        options = LaneOptions(
            number=number,
            plugins=list(self._settings.plugins),
            memory_mb=self._settings.lane_memory_mb,
            catalogue=not self._catalogue,
            sandbox=sandbox,
            algebra=kind is LaneKind.ALGEBRA,
        )
        fds = [lane.theirs.fileno(), lane.page_fd]
        self._nursery.order(options, stuck_s=self._settings.stuck_s, fds=fds if channel is None else [*fds, channel])
        if channel is not None:
            os.close(channel)
        self._task(lane.connect())

    def _channel(self) -> int | None:
        """A channel to a slot, or None while there is no sandbox: `open_sandbox_lanes` comes again when there is."""
        try:
            return self._channels.channel() if self._channels is not None else None
        except (SandboxError, OSError):
            return None

    def _task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what lanes say ---

    def hello(self, lane: EngineLane, hello: Hello) -> None:
        """A lane's first word."""
        if hello.error:
            self._refuse(PluginRefused(hello.error))
            return
        if hello.catalogue and not self._catalogue:
            self._catalogue = hello.catalogue
            self._told.set()
        self._failures = 0
        if lane.state is State.STARTING:
            lane.state = State.READY
            self._user.lane_ready(lane)

    def reports(self, lane: EngineLane, reports: Reports) -> None:
        """Reports of a lane, and whether it has had enough."""
        spent = reports.rss_kb > self._settings.lane_rss_mb * 1024 or lane.served >= self._settings.lane_items
        if reports.retire or spent:
            lane.state = State.RETIRING
            self._fill()
        self._user.lane_reports(lane, reports)
        if lane.state is State.RETIRING and not lane.assigned:
            lane.retire()

    def lost(self, lane: EngineLane) -> None:
        """A lane's socket is closed: wait a moment for how it died."""
        self._task(self._bury(lane))

    async def _bury(self, lane: EngineLane) -> None:
        started = lane.state is not State.STARTING
        until = time.monotonic() + STATUS_WAIT_S
        while lane.pid not in self._statuses and self._nursery.pid is not None and time.monotonic() < until:
            await asyncio.sleep(0.005)
        if lane.pid not in self._statuses:
            lane.end()  # its socket is closed and it lives: stopped, or beyond reading
        lane.status = self._statuses.pop(lane.pid, None) if lane.pid is not None else None
        if lane.pid is not None:
            self._by_pid.pop(lane.pid, None)
        self._lanes.pop(lane.number, None)
        lane.close()
        if self._closing:
            return
        if started:
            self._fill()
            self._user.lane_dead(lane)
        else:
            await self._failed_to_start()

    async def _failed_to_start(self) -> None:
        self._failures += 1
        if self.broken:
            self._user.lanes_broken()
            self._refuse(EngineUnavailable("lanes die before their first message"))
        await asyncio.sleep(min(0.02 * 2**self._failures, LONGEST_PAUSE_S))
        self._fill()

    # --- what the forkserver says ---

    def _born(self, number: int, pid: int, pidfd: int) -> None:
        lane = self._lanes.get(number)
        if lane is None:
            return
        lane.born(pid, pidfd)
        self._by_pid[pid] = lane

    def _died(self, pid: int, status: int) -> None:
        if pid in self._by_pid:
            self._statuses[pid] = status

    def _forkserver_gone(self) -> None:
        if self._closing:
            return
        self._nursery.start()
        asyncio.get_running_loop().call_later(0.01, self._fill)

    async def close(self) -> None:
        """End every lane and the forkserver."""
        self._closing = True
        for lane in list(self._lanes.values()):
            lane.retire()
        self._nursery.stop()
        for _ in range(100):
            if not self._tasks:
                break
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
