"""One run seen from the host: descriptors and a header go to a zygote, bounded output comes back.

`Execution(control, spec)` sends a `RunSpec` to a zygote's control socket and so starts the run; `collect` drains the
pipes of one or more runs at once (two that talk to each other end together) and stops a run whose output exceeds its
limit. Output is handled as bytes only; the zygote reports what ended the run.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.sandbox.guest.zygote import zygote
from assay.sandbox.spec import RunResult, RunSpec, Status

STDERR_KEPT_BYTES = 64 << 10
_CHUNK = 1 << 16
_SEALS = 0xF  # no more seals, shrinking, growing or writing
_WATCHDOG_S = 30.0
_STOP = zygote.HEADER.pack(zygote.STOP, *[0] * 11)


_SHARE_OF_LIMIT: dict[int, float] = {signal.SIGXCPU: 0.5, signal.SIGKILL: 0.95}
"""Share of the CPU limit that must be used for a death by this signal to count as "limit reached"."""


class JailLost(Exception):
    """The jail died or fell silent with a run alive; the caller asks the supervisor why."""


def sealed_memfd(name: str, *parts: bytes) -> int:
    """Return a read-only descriptor of an anonymous file that holds `parts` and is sealed against changes."""
    fd = os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
        return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(fd)


def copied_memfd(fd: int) -> int:
    """Return a sealed copy of a file: locks, times and attributes of one inode could be seen by other runs of it."""
    copy = os.memfd_create("artefact", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        at = 0
        while chunk := os.pread(fd, 1 << 20, at):  # not `sendfile`: lanes are not allowed to call it
            at += os.write(copy, chunk)
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _SEALS)
        os.fchmod(copy, 0o555)
        return os.open(f"/proc/self/fd/{copy}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(copy)


def pipe() -> tuple[int, int]:
    """Return the ends of a pipe that a program of another uid may reopen through /dev/stdin or /dev/stdout."""
    read, write = os.pipe2(os.O_CLOEXEC)
    os.fchmod(read, 0o666)
    return read, write


@dataclass
class _Stream:
    """One pipe that a program writes: keeps `cap` bytes; beyond, drains or makes the run stop."""

    fd: int
    cap: int
    stops: bool
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0
    open: bool = True

    @property
    def overflowed(self) -> bool:
        return self.size > self.cap

    def read(self) -> None:
        data = os.read(self.fd, _CHUNK)
        if not data:
            self.close()
            return
        room = self.cap - self.size
        if room > 0:
            self.chunks.append(data[:room])
        self.size += len(data)

    def close(self) -> None:
        if self.open:
            os.close(self.fd)
            self.open = False

    def content(self) -> bytes:
        return b"".join(self.chunks)


class Execution:
    """A run in progress. Constructing it starts the run; `collect` finishes it."""

    def __init__(self, control: socket.socket, spec: RunSpec, *, data_mb: int = 0) -> None:
        self.spec = spec
        self.control = control
        self.reply: tuple[int, ...] | None = None
        self.clean = True
        """Whether nothing of the run is left in its jail."""
        self.lost = False
        self.stopped = False
        limits = spec.limits
        self.deadline = time.monotonic() + 2 * limits.wall_s + _WATCHDOG_S
        self.streams: list[_Stream] = []
        self._send(data_mb)

    def _send(self, data_mb: int) -> None:
        """Hand the descriptors over; keep only the read ends."""
        given: list[int] = []
        try:
            given.append(_job(self.spec))
            stdin = self.spec.stdin
            given.append(sealed_memfd("stdin", stdin) if isinstance(stdin, bytes) else os.dup(stdin))
            output_cap = int(self.spec.limits.output_mb * (1 << 20))
            given.append(self._stdout(output_cap))
            given.append(self._stream(STDERR_KEPT_BYTES, stops=False))
            given += [self._stream(self.spec.output_bytes, stops=True) for _ in range(self.spec.outputs)]
            given += [copied_memfd(fd) for fd in self.spec.copies]
            header = _header(self.spec, data_mb)
            socket.send_fds(self.control, [header], [*given, *self.spec.descriptors])
        except (BrokenPipeError, ConnectionResetError):
            self.lost = True
        except BaseException:
            self.close()
            raise
        finally:
            for fd in given:
                os.close(fd)

    def _stdout(self, cap: int) -> int:
        if self.spec.stdout is not None:
            return os.dup(self.spec.stdout)
        return self._stream(cap, stops=True)

    def _stream(self, cap: int, *, stops: bool) -> int:
        read, write = pipe()
        self.streams.append(_Stream(read, cap, stops))
        return write

    def stop(self) -> None:
        """Ask the zygote to kill the run now."""
        if not self.stopped:
            self.stopped = True
            with contextlib.suppress(OSError):
                self.control.send(_STOP)

    def receive(self) -> None:
        """Take the zygote's reply from the (readable) control socket."""
        try:
            data = self.control.recv(zygote.REPLY.size)
        except ConnectionResetError:
            data = b""
        if len(data) == zygote.REPLY.size:
            *fields, clean = zygote.REPLY.unpack(data)
            self.reply, self.clean = tuple(fields), bool(clean)
        else:
            self.lost = True

    @property
    def finished(self) -> bool:
        """Nothing more will come."""
        return self.lost or (self.reply is not None and not any(stream.open for stream in self.streams))

    def close(self) -> None:
        """Close the read ends that are left."""
        for stream in self.streams:
            stream.close()

    def result(self, *, oom_killed: bool) -> RunResult:
        """The result. Raises `JailLost` where the zygote did not answer or could not start the run."""
        if self.reply is None or self.reply[0] == zygote.NOT_STARTED:
            raise JailLost
        outcome, wait_status, wall_us, cpu_us, rss_kb, delay_us = self.reply
        own = self.spec.stdout is None
        streams = self.streams if own else [_Stream(-1, 0, False, open=False), *self.streams]
        killed_by = os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else None
        forced = outcome != zygote.ENDED
        return RunResult(
            status=self._status(outcome, wait_status, cpu_us / 1e6, oom_killed=oom_killed),
            exit_code=os.WEXITSTATUS(wait_status) if os.WIFEXITED(wait_status) and not forced else None,
            signal=None if forced else killed_by,
            wall_s=wall_us / 1e6,
            cpu_s=cpu_us / 1e6,
            memory_kb=rss_kb,
            stdout=streams[0].content(),
            stderr=streams[1].content(),
            stdout_truncated=streams[0].overflowed,
            stderr_truncated=streams[1].overflowed,
            outputs=tuple(stream.content() for stream in streams[2:]),
            delay_s=delay_us / 1e6,
        )

    def _status(self, outcome: int, wait_status: int, cpu_s: float, *, oom_killed: bool) -> Status:
        if outcome == zygote.TIMEOUT or _out_of_cpu(wait_status, cpu_s, self.spec.limits.cpu_seconds):
            return Status.TIMEOUT
        if any(stream.stops and stream.overflowed for stream in self.streams):
            return Status.OUTPUT_LIMIT
        if wait_status == 0 and outcome == zygote.ENDED:
            return Status.OK
        return Status.MEMORY_LIMIT if oom_killed else Status.RUNTIME_ERROR


def _out_of_cpu(wait_status: int, cpu_s: float, limit_s: float) -> bool:
    """Return whether a run has used more CPU time than its limit, or was ended by RLIMIT_CPU.

    The rlimit bounds each process, in whole seconds, and ends it by SIGXCPU, or by SIGKILL a second later if the
    program ignores SIGXCPU. This function bounds all processes together, with a second of grace. For the rlimit the
    kernel counts ticks, which on a busy host run ahead of the usage that it reports. SIGXCPU therefore counts as
    "limit reached" from half the limit on, but not earlier: a program could send itself the signal at once.
    """
    if cpu_s > math.ceil(limit_s) + 1:
        return True
    share = _SHARE_OF_LIMIT.get(os.WTERMSIG(wait_status)) if os.WIFSIGNALED(wait_status) else None
    return share is not None and cpu_s >= share * math.ceil(limit_s)


def _job(spec: RunSpec) -> int:
    head = {**spec.head, "do": spec.action, "blobs": [len(blob) for blob in spec.blobs]}
    text = json.dumps(head).encode()
    return sealed_memfd("job", struct.pack("=I", len(text)), text, *spec.blobs)


def _header(spec: RunSpec, data_mb: int) -> bytes:
    limits = spec.limits
    wall_ms = math.ceil(limits.wall_s * 1e3)
    disk_kb = min(limits.disk_mb, limits.memory_mb // 2) << 10
    return zygote.HEADER.pack(
        zygote.RUN,
        wall_ms,
        wall_ms,
        math.ceil(limits.cpu_seconds),
        data_mb,
        min(limits.file_mb, limits.disk_mb),
        limits.open_files,
        limits.processes + 2,
        limits.stack_mb,
        disk_kb,
        4096 + limits.disk_mb * 64,
        0o022,
    )


def collect(executions: Sequence[Execution]) -> None:
    """Drain all runs until each has ended. When one of several ends, its pipes to the others close."""
    poller = select.poll()
    watched: dict[int, tuple[Execution, _Stream | None]] = {}
    for execution in executions:
        if execution.lost:
            continue
        watched[execution.control.fileno()] = (execution, None)
        watched.update({stream.fd: (execution, stream) for stream in execution.streams})
    for fd in watched:
        poller.register(fd, select.POLLIN)
    deadline = max(execution.deadline for execution in executions)
    try:
        while not all(execution.finished for execution in executions):
            ready = poller.poll(max(0.0, (deadline - time.monotonic()) * 1e3))
            if not ready:
                break
            for fd, _ in ready:
                if not _serve(*watched[fd]):
                    poller.unregister(fd)
    finally:
        for execution in executions:
            execution.lost = execution.lost or execution.reply is None
            execution.close()


def _serve(execution: Execution, stream: _Stream | None) -> bool:
    """Handle one readable descriptor; False once it is done with."""
    if stream is None:
        execution.receive()
        return False
    stream.read()
    if stream.stops and stream.overflowed:
        execution.stop()
    return stream.open
