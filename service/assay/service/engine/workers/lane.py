"""One lane as the engine sees it: a socket, a page of shared memory, a pidfd, and what it was given to do."""

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
"""Seconds to a lane's first word."""


class State(Enum):
    """A lane's life, as the engine knows it."""

    STARTING = "starting"
    READY = "ready"
    RETIRING = "retiring"
    DEAD = "dead"


class LaneEvents(Protocol):
    """Who hears what a lane has to say."""

    def hello(self, lane: EngineLane, hello: Hello) -> None:
        """It can work, or says why it cannot."""

    def reports(self, lane: EngineLane, reports: Reports) -> None:
        """Some of its tickets have their reports."""

    def lost(self, lane: EngineLane) -> None:
        """Its socket is closed."""


class EngineLane(asyncio.Protocol):
    """The engine's end of a lane."""

    def __init__(self, number: int, *, kind: LaneKind, idle_s: float, events: LaneEvents) -> None:
        self.number = number
        self.idle_s = idle_s
        """Seconds that it may have work and not be at it."""
        self.kind = kind
        self.state = State.STARTING
        self.served = 0
        self.assigned: deque[Ticket] = deque()
        self.since = time.monotonic()
        self.killed_by_us = False
        self.slow = False
        """It has given back what waited behind an item that takes long."""
        self._events = events
        self._buffer = bytearray()
        self._greeted = False
        self._transport: asyncio.Transport | None = None
        self._pidfd: int | None = None
        self._pid: int | None = None
        self.status: int | None = None
        """How it ended, as of os.waitpid; None: nobody could tell."""
        self.last: Moment | None = None
        """Where it was when it ended."""
        page_fd = os.memfd_create(f"assay-lane-{number}")
        os.ftruncate(page_fd, 4096)
        self.page = Page(page_fd)
        self.page_fd = page_fd
        self.socket, self.theirs = socket.socketpair()

    async def connect(self) -> None:
        """Listen to the lane. Its own ends of the sockets must have been sent before."""
        self.theirs.close()
        os.close(self.page_fd)
        self.socket.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: self, sock=self.socket)

    def born(self, pid: int, pidfd: int) -> None:
        """The forkserver has started it."""
        self._pid, self._pidfd = pid, pidfd

    @property
    def pid(self) -> int | None:
        """The lane's pid, once born."""
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
        """Close the socket: the lane ends when it has read what it was given."""
        if self.state in (State.STARTING, State.READY):
            self.state = State.RETIRING
        if self._transport is not None:
            self._transport.close()

    def kill(self) -> None:
        """End the lane now, for what its item does. Its death is told like any other."""
        self.killed_by_us = True
        self.end()
        if self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """Make sure that the process is gone."""
        if self._pidfd is not None:
            with contextlib.suppress(ProcessLookupError):  # dead already: that is what was wanted
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def overrun(self) -> str | None:
        """Why the lane must be killed, if it must: its item is over its CPU budget, or stuck."""
        if self.state is State.STARTING and time.monotonic() - self.since > START_S:
            return "stuck"
        if not self.assigned or self._pid is None:
            return None
        moment = self.page.read()
        if moment.phase is Phase.IDLE:  # stopped, or it never came to what it was given
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
        """Let go of what the dead lane held."""
        self.state = State.DEAD
        self.last = self.page.read()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        self.page.close()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ours."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Frames from the lane."""
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
        """The lane closed its end, or died."""
        self._events.lost(self)
