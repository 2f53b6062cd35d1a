"""The main loop of a lane: confine the process, send `Hello`, then process chunks until the socket closes.

The lane keeps the page of shared memory up to date (item, phase, start), so that the engine can attribute a death. A
timer on CPU time ends an item that is over its budget. Reports are sent every few milliseconds and at the end of a
chunk.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import msgspec

from assay.service.engine.protocol import (
    LENGTH,
    Chunk,
    Hello,
    Job,
    Kind,
    LaneOptions,
    Page,
    Phase,
    Report,
    Reports,
    pack,
)
from assay.service.engine.workers.confine import confine
from assay.service.engine.workers.job import JobRunner, Overrun
from assay.verifiers.registry import PluginError, Registry

TICK_S = 0.02
ALGEBRA = "assay.verifiers.math.algebra.resolve"
"""What a lane of that kind imports before its first item."""
SLOW_NS = 60_000_000
"""CPU time of one item after which the jobs queued behind it are returned."""
READ = 1 << 20
UIDS = 4096
FLUSH_NS = 3_000_000
SPENT = frozenset({Kind.OVERRUN, Kind.FAILED})
"""After a report of these kinds the lane's caches are not to be trusted: it ends, and a fresh lane replaces it."""


class Lane:
    """One worker process, from the inside."""

    def __init__(self, channel: socket.socket, page: Page, options: LaneOptions) -> None:
        self._channel = channel
        self._page = page
        self._options = options
        self._seq = -1
        self._limit_ns = 0
        self._began_ns = 0
        self._slow = False
        self._buffer = bytearray()
        self._waiting: list[Report] = []
        self._rest: deque[Job] = deque()
        self._statm = _Statm()
        self._chunks = msgspec.msgpack.Decoder(Chunk)

    def serve(self, *, stuck_s: float) -> None:
        """Process chunks until the engine closes the socket, or until this lane must end."""
        try:
            registry = Registry(self._options.plugins)
        except PluginError as error:
            self._send(pack(Hello(error=str(error))))
            return
        if self._options.algebra:
            importlib.import_module(ALGEBRA)  # before any item's CPU budget runs
        self._confine()
        self._send(pack(Hello(catalogue=_catalogue(registry) if self._options.catalogue else b"")))
        runner = JobRunner(registry, self._enter, stuck_s=stuck_s)
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        while (frame := self._receive()) is not None and not self._work(runner, self._chunks.decode(frame)):
            pass

    def _confine(self) -> None:
        plugins = [Path(p).resolve().parent for p in self._options.plugins if p.endswith(".py")]
        confine(
            number=self._options.number % UIDS,
            memory_mb=self._options.memory_mb,
            readable=plugins,
            sandbox=self._options.sandbox,
        )

    def _work(self, runner: JobRunner, chunk: Chunk) -> bool:
        """Process one chunk; return True if the lane must end after it."""
        self._waiting, self._rest = [], deque(chunk.jobs)
        flushed = time.monotonic_ns()
        while self._rest:
            job = self._rest.popleft()
            self._seq = job.seq
            report = runner.run(job, chunk.references[job.reference_digest])
            self._waiting.append(report)
            if report.kind in SPENT:
                self._flush(rss=True, retire=True)
                return True
            if (now := time.monotonic_ns()) - flushed > FLUSH_NS:
                self._flush()
                flushed = now
        self._flush(rss=True)
        return False

    def _flush(self, *, rss: bool = False, retire: bool = False, returned: Sequence[int] = ()) -> None:
        waiting, self._waiting = self._waiting, []
        self._send(pack(Reports(waiting, self._statm.rss_kb() if rss else 0, retire, list(returned))))

    def _return_queued(self) -> None:
        """Return the jobs that wait behind a slow one, in its chunk or unread, to the engine."""
        self._slow = True
        limit, self._limit_ns = self._limit_ns, 0  # an overrun must not cut this short
        returned = [job.seq for job in self._rest]
        self._rest.clear()
        self._read_what_is_there()
        while (frame := self._frame()) is not None:
            returned += [job.seq for job in self._chunks.decode(frame).jobs]
        if returned:
            self._flush(returned=returned)
        self._limit_ns = limit

    def _enter(self, phase: Phase, cpu_s: float, wall_s: float) -> tuple[int, int]:
        # The thread's clock: that of the process is only as fine as the timer's tick while a timer runs.
        cpu_ns, wall_ns = time.thread_time_ns(), time.monotonic_ns()
        self._began_ns, self._slow = cpu_ns, False
        self._limit_ns = 0 if phase is Phase.IDLE else cpu_ns + int(cpu_s * 1e9)
        self._page.write((self._seq, phase, cpu_ns, wall_ns, cpu_s, wall_s))
        return cpu_ns, wall_ns

    def _tick(self, signum: int, frame: FrameType | None) -> None:
        if not self._limit_ns:
            return
        now = time.thread_time_ns()
        if now > self._limit_ns:
            self._limit_ns = 0
            raise Overrun
        if not self._slow and now - self._began_ns > SLOW_NS:
            self._return_queued()

    def _receive(self) -> bytes | None:
        """Return the next frame, or None when the engine has closed the socket."""
        while (frame := self._frame()) is None:
            data = os.read(self._channel.fileno(), READ)
            if not data:
                return None
            self._buffer += data
        return frame

    def _frame(self) -> bytes | None:
        """Return the next frame that has been read completely, or None."""
        if len(self._buffer) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < end:
            return None
        frame = bytes(self._buffer[LENGTH.size : end])
        del self._buffer[:end]
        return frame

    def _read_what_is_there(self) -> None:
        os.set_blocking(self._channel.fileno(), False)
        try:
            while data := os.read(self._channel.fileno(), READ):
                self._buffer += data
        except BlockingIOError:
            return  # everything is read
        finally:
            os.set_blocking(self._channel.fileno(), True)

    def _send(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            view = view[os.write(self._channel.fileno(), view) :]


def _catalogue(registry: Registry) -> bytes:
    entries = []
    for info in registry.describe():
        verifier = registry.get(info.name)
        private = {name: getattr(verifier, name) for name in ("may_sandbox", "repeatable")}
        entries.append({**info.model_dump(), "cpu_s": verifier.budget.verify_cpu_s, **private})
    return msgspec.json.encode(entries)


class _Statm:
    """The resident set of this process. Opened before confinement, as landlock refuses procfs afterwards."""

    def __init__(self) -> None:
        self._fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def rss_kb(self) -> int:
        """Resident kilobytes now."""
        return int(os.pread(self._fd, 128, 0).split()[1]) * 4


def main(channel: socket.socket, page_fd: int, options: LaneOptions, *, stuck_s: float) -> None:
    """Run a lane in a child of the forkserver. Returns when the engine closes its socket."""
    sys.setrecursionlimit(1000)
    gc.collect()
    gc.freeze()
    Lane(channel, Page(page_fd), options).serve(stuck_s=stuck_s)
