"""One lane as the engine sees it: a socket, a page of shared memory, a pidfd, and its assigned tickets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections import deque
from enum import Enum
from typing import Protocol

import msgspec

from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import LENGTH, Chunk, Hello, Moment, Page, Phase, Reports, pack
from assay.service.engine.schedule.tickets import Ticket

CPU_SLACK_S = 0.5
CPU_FACTOR = 1.5
WALL_SLACK_S = 5.0
START_S = 60.0
"""Seconds until a lane must have sent its first message."""


class State(Enum):
    """The state of a lane, as the engine knows it."""

    STARTING = "starting"
    READY = "ready"
    RETIRING = "retiring"
    DEAD = "dead"


class LaneEvents(Protocol):
    """Receives the events of a lane."""

    def hello(self, lane: EngineLane, hello: Hello) -> None:
        """Handle its first message."""

    def reports(self, lane: EngineLane, reports: Reports) -> None:
        """Handle reports on some of its tickets."""

    def lost(self, lane: EngineLane) -> None:
        """Handle the end of its socket."""


class EngineLane(asyncio.Protocol):
    """The engine's end of a lane."""

    def __init__(self, number: int, *, kind: LaneKind, idle_s: float, events: LaneEvents) -> None:
        self.number = number
        self.idle_s = idle_s
        """Seconds that it may have work without starting it."""
        self.kind = kind
        self.state = State.STARTING
        self.served = 0
        self.assigned: deque[Ticket] = deque()
        self.since = time.monotonic()
        self.killed_by_engine = False
        self.slow = False
        """It has returned queued jobs because the current one is slow."""
        self._events = events
        self._buffer = bytearray()
        self._greeted = False
        self._transport: asyncio.Transport | None = None
        self._pidfd: int | None = None
        self._pid: int | None = None
        self.status: int | None = None
        """Its wait status (os.waitpid), or None if it is unknown."""
        self.last: Moment | None = None
        """Its item and phase when it ended."""
        self.page_fd = os.memfd_create(f"assay-lane-{number}")
        try:
            os.ftruncate(self.page_fd, 4096)
            self.page = Page(self.page_fd)
            self.socket, self.lane_end = socket.socketpair()
        except OSError:
            os.close(self.page_fd)
            raise

    async def connect(self) -> None:
        """Connect to the lane, whose ends of the sockets have been sent before."""
        self.lane_end.close()
        os.close(self.page_fd)
        self.socket.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=self.socket)

    def abandon(self) -> None:
        """Release everything of a lane that could not be ordered."""
        self.state = State.DEAD
        self.lane_end.close()
        self.socket.close()
        os.close(self.page_fd)
        self.page.close()

    def started(self, pid: int, pidfd: int) -> None:
        """Record that the forkserver has started it."""
        self._pid, self._pidfd = pid, pidfd

    @property
    def pid(self) -> int | None:
        """The lane's process id, once started."""
        return self._pid

    def give(self, chunk: Chunk, tickets: list[Ticket]) -> None:
        """Send a chunk."""
        assert self._transport is not None
        if not self.assigned:
            self.since = time.monotonic()
        self.assigned.extend(tickets)
        self.served += len(tickets)
        self._transport.write(pack(chunk))

    def retire(self) -> None:
        """Close the socket: the lane ends when it has processed what it was sent."""
        if self.state in (State.STARTING, State.READY):
            self.state = State.RETIRING
        if self._transport is not None:
            self._transport.close()

    def kill(self) -> None:
        """Kill the lane because of its current item. Its death is reported like any other."""
        self.killed_by_engine = True
        self.end()
        if self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """Kill the process if it still runs."""
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):  # it is dead already
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def overrun(self) -> str | None:
        """Return why the lane must be killed (`cpu`: over its budget, `stuck`), or None."""
        if self.state is State.STARTING and time.monotonic() - self.since > START_S:
            return "stuck"
        if not self.assigned or self._pid is None:
            return None
        moment = self.page.read()
        if moment.phase is Phase.IDLE:  # it is stopped, or never started the chunk
            return "stuck" if time.monotonic() - self.since > self.idle_s + WALL_SLACK_S else None
        if self._cpu_since(moment) > CPU_FACTOR * moment.cpu_s + CPU_SLACK_S:
            return "cpu"
        waited = (time.monotonic_ns() - moment.wall_ns) / 1e9
        return "stuck" if waited > moment.wall_s + WALL_SLACK_S else None

    def _cpu_since(self, moment: Moment) -> float:
        assert self._pid is not None
        try:
            now = time.clock_gettime_ns(((~self._pid) << 3) | 2)  # the CPU clock of that process
        except OSError:
            return 0.0
        return (now - moment.cpu_ns) / 1e9

    def close(self) -> None:
        """Release the resources of a dead lane."""
        self.state = State.DEAD
        self.last = self.page.read()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self.page.close()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, or close it if the lane was retired before it was connected."""
        self._transport = transport  # type: ignore[assignment]
        if self.state is State.RETIRING:
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Collect frames from the lane."""
        self._buffer += data
        while len(self._buffer) >= LENGTH.size:
            size = LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < LENGTH.size + size:
                return
            frame = bytes(self._buffer[LENGTH.size : LENGTH.size + size])
            del self._buffer[: LENGTH.size + size]
            self._frame(frame)

    def _frame(self, frame: bytes) -> None:
        if not self._greeted:
            self._greeted = True
            self._events.hello(self, msgspec.msgpack.decode(frame, type=Hello))
        else:
            self._events.reports(self, msgspec.msgpack.decode(frame, type=Reports))

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle a lane that closed its socket or died."""
        self._events.lost(self)
