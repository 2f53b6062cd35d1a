"""Keeps a fixed number of lanes of each kind alive and replaces each that dies or retires.

All lanes are confined. Sandbox lanes also hold a channel to one sandbox slot, which the supervisor process owns.
`schedule.blame` decides what the death of a lane means for its items.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import Coroutine
from typing import Protocol

from assay.sandbox import SandboxError
from assay.service.engine.errors import EngineUnavailable, PluginRefused
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import Hello, LaneOptions, Reports
from assay.service.engine.settings import EngineSettings
from assay.service.engine.workers.forkserver_client import ForkserverClient
from assay.service.engine.workers.lane import EngineLane, State

log = logging.getLogger("assay.engine")
BROKEN_AFTER = 5
"""Number of lanes in a row that died before their first message, after which the host counts as unable to run lanes."""
LONGEST_PAUSE_S = 5.0
STATUS_WAIT_S = 0.5
PAUSE_S = 1.0
"""Seconds between tries to start a forkserver, and between log lines on lanes that cannot be started."""
HELLO_S = 60.0


class Channels(Protocol):
    """Source of channels to sandbox slots."""

    def channel(self) -> int:
        """Return a new file descriptor for one lane; the caller closes it. Raises SandboxError, OSError."""


class LaneUser(Protocol):
    """Gives the lanes their work and receives their events."""

    def lane_ready(self, lane: EngineLane) -> None:
        """Handle a new lane that can work."""

    def lane_reports(self, lane: EngineLane, reports: Reports) -> None:
        """Handle reports."""

    def lane_dead(self, lane: EngineLane) -> None:
        """Handle a dead lane; `lane.assigned` holds its unfinished tickets."""

    def lanes_broken(self) -> None:
        """Handle that no lane can be started on this host."""


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
        self._next_try = self._next_line = 0.0
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._known = asyncio.Event()
        self._catalogue = b""
        self._refusal: EngineUnavailable | None = None
        self._forkserver = ForkserverClient(
            on_started=self._lane_started, on_ended=self._lane_ended, on_gone=self._forkserver_gone, warm=settings.warm
        )

    async def start(self) -> bytes:
        """Start the lanes; returns the catalogue of verifiers. Raises EngineUnavailable."""
        self._forkserver.start()
        self._fill()
        try:
            await asyncio.wait_for(self._known.wait(), HELLO_S)
        except TimeoutError:
            raise EngineUnavailable("no lane came up in time") from None
        if self._refusal is not None:
            raise self._refusal
        return self._catalogue

    def _refuse(self, error: EngineUnavailable) -> None:
        """Tell the caller of `start` why no lane comes up."""
        if not self._known.is_set():
            self._refusal = error
            self._known.set()

    def open_sandbox_lanes(self, count: int, channels: Channels) -> None:
        """Keep `count` sandbox lanes too, from now on."""
        self._channels, self._counts[LaneKind.SANDBOX] = channels, count
        self._fill()

    def open(self, kind: LaneKind, count: int) -> None:
        """From now on keep so many lanes of a kind that is started on first use."""
        if self._counts[kind] != count:
            self._counts[kind] = count
            self._fill()

    def retire_sandbox_lanes(self) -> None:
        """Retire all sandbox lanes, whose channels are dead."""
        for lane in self.alive:
            if lane.kind is LaneKind.SANDBOX:
                lane.retire()

    def ready(self, kind: LaneKind) -> list[EngineLane]:
        """Return the lanes of a kind that can be given work."""
        return [lane for lane in self._lanes.values() if lane.kind is kind and lane.state is State.READY]

    @property
    def alive(self) -> list[EngineLane]:
        """All lanes that are not dead."""
        return [lane for lane in self._lanes.values() if lane.state is not State.DEAD]

    @property
    def forkserver_pid(self) -> int | None:
        """The forkserver's pid."""
        return self._forkserver.pid

    @property
    def broken(self) -> bool:
        """Whether the host cannot run lanes now."""
        return self._failures >= BROKEN_AFTER

    def replace(self, lane: EngineLane) -> None:
        """Retire a lane and start another in its place."""
        lane.retire()
        self._fill()

    def fill(self) -> None:
        """Start the lanes that are missing, such as one whose slot was taken before, and a forkserver that is."""
        if self._forkserver.pid is None and time.monotonic() > self._next_try:
            self._start_forkserver()
        if not self.broken:
            self._fill()

    def _start_forkserver(self) -> None:
        """Start another forkserver; where that fails, `fill` tries again later."""
        if self._closing:
            return
        self._next_try = time.monotonic() + PAUSE_S
        try:
            self._forkserver.start()
        except (EngineUnavailable, OSError) as error:
            log.error("forkserver not started, next try in %.0f s: %.300s", PAUSE_S, error)

    def _fill(self) -> None:
        """Start missing lanes; where the host refuses one, the watch tries again."""
        try:
            self._fill_all()
        except OSError as error:
            if time.monotonic() > self._next_line:
                self._next_line = time.monotonic() + PAUSE_S
                log.error("lane not started: %.300s", error)

    def _fill_all(self) -> None:
        if self._closing or self._forkserver.pid is None:
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
        try:
            lane = EngineLane(number, kind=kind, idle_s=self._settings.stuck_s, events=self)
        except OSError:
            if channel is not None:
                os.close(channel)
            raise
        self._lanes[number] = lane
        options = LaneOptions(
            number=number,
            plugins=list(self._settings.plugins),
            memory_mb=self._settings.lane_memory_mb,
            catalogue=not self._catalogue,
            sandbox=sandbox,
            algebra=kind is LaneKind.ALGEBRA,
        )
        fds = [lane.lane_end.fileno(), lane.page_fd]
        try:
            self._forkserver.order(
                options, stuck_s=self._settings.stuck_s, fds=fds if channel is None else [*fds, channel]
            )
        except OSError:
            del self._lanes[number]
            lane.abandon()
            raise
        finally:
            if channel is not None:
                os.close(channel)
        self._task(lane.connect())

    def _channel(self) -> int | None:
        """Return a channel to a slot, or None while there is no sandbox; lanes are opened again when there is."""
        try:
            return self._channels.channel() if self._channels is not None else None
        except (SandboxError, OSError):
            return None

    def _task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- events of lanes ---

    def hello(self, lane: EngineLane, hello: Hello) -> None:
        """Handle the first message of a lane."""
        if hello.error:
            self._refuse(PluginRefused(hello.error))
            return
        if hello.catalogue and not self._catalogue:
            self._catalogue = hello.catalogue
            self._known.set()
        self._failures = 0
        if lane.state is State.STARTING:
            lane.state = State.READY
            self._user.lane_ready(lane)

    def reports(self, lane: EngineLane, reports: Reports) -> None:
        """Handle reports of a lane, and retire it once it has used its share of items or memory."""
        spent = reports.rss_kb > self._settings.lane_rss_mb * 1024 or lane.served >= self._settings.lane_items
        if reports.retire or spent:
            lane.state = State.RETIRING
            self._fill()
        self._user.lane_reports(lane, reports)
        if lane.state is State.RETIRING and not lane.assigned:
            lane.retire()

    def lost(self, lane: EngineLane) -> None:
        """Handle a closed socket: wait a moment for the wait status of the lane."""
        self._task(self._after_socket_closed(lane))

    async def _after_socket_closed(self, lane: EngineLane) -> None:
        started = lane.state is not State.STARTING
        until = time.monotonic() + STATUS_WAIT_S
        while lane.pid not in self._statuses and self._forkserver.pid is not None and time.monotonic() < until:
            await asyncio.sleep(0.005)
        if lane.pid not in self._statuses:
            lane.end()  # its socket is closed, but the process lives: stopped, or broken
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

    # --- events of the forkserver ---

    def _lane_started(self, number: int, pid: int, pidfd: int) -> None:
        lane = self._lanes.get(number)
        if lane is None:
            return
        lane.started(pid, pidfd)
        self._by_pid[pid] = lane

    def _lane_ended(self, pid: int, status: int) -> None:
        if pid in self._by_pid:
            self._statuses[pid] = status

    def _forkserver_gone(self) -> None:
        if self._closing:
            return
        log.error("forkserver ended")
        self._start_forkserver()
        asyncio.get_running_loop().call_later(0.01, self._fill)

    async def close(self) -> None:
        """End every lane and the forkserver."""
        self._closing = True
        for lane in list(self._lanes.values()):
            lane.retire()
        self._forkserver.stop()
        for _ in range(100):
            if not self._tasks:
                break
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
