"""The engine's side of the forkserver: orders lanes, receives their starts and ends, restarts it if it dies.

The forkserver is started by exec with a bare environment, never forked from the front; nothing of the
caller's main module runs in it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence

import msgspec

from assay.service.engine.errors import EngineUnavailable
from assay.service.engine.protocol import LaneOptions
from assay.service.engine.workers.forkserver import MESSAGE, Ended, Order, Started

OnStarted = Callable[[int, int, int], None]
"""(lane number, pid, pidfd)"""
OnEnded = Callable[[int, int], None]
"""(pid, wait status)"""

# No gmpy2: a GMP call cannot be interrupted and can abort. A fixed hash seed keeps verdicts deterministic.
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MPMATH_NOGMPY": "1",
    "SYMPY_GROUND_TYPES": "python",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


class ForkserverClient:
    """Owns the forkserver process and restarts it."""

    def __init__(
        self, *, on_started: OnStarted, on_ended: OnEnded, on_gone: Callable[[], None], warm: Sequence[str]
    ) -> None:
        self._on_started, self._on_ended, self._on_gone = on_started, on_ended, on_gone
        self._warm = list(warm)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._events = msgspec.msgpack.Decoder(Started | Ended)

    @property
    def pid(self) -> int | None:
        """Process id of the forkserver, while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the forkserver. Raises EngineUnavailable."""
        engine_end, forkserver_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = _ENVIRONMENT | {name: os.environ[name] for name in _KEPT if name in os.environ}
        command = [sys.executable, "-P", "-m", "assay.service.engine.workers.forkserver", str(forkserver_end.fileno())]
        try:
            self._process = subprocess.Popen(
                command + self._warm, env=environment, pass_fds=[forkserver_end.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            engine_end.close()
            raise EngineUnavailable(f"the forkserver cannot be started: {error}") from error
        finally:
            forkserver_end.close()
        engine_end.setblocking(False)
        self._control = engine_end
        asyncio.get_running_loop().add_reader(engine_end.fileno(), self._on_message)

    def order(self, options: LaneOptions, *, stuck_s: float, fds: Sequence[int]) -> None:
        """Order a lane; `fds` are its socket, its page and, for a sandbox lane, its channel."""
        assert self._control is not None
        message = msgspec.msgpack.encode(Order(options, stuck_s))
        socket.send_fds(self._control, [message], list(fds))

    def _on_message(self) -> None:
        assert self._control is not None
        while True:
            try:
                message, fds, _, _ = socket.recv_fds(self._control, MESSAGE, 1)
            except BlockingIOError:
                return
            except ConnectionError:
                message, fds = b"", []
            if not message:
                self._lost()
                return
            event = self._events.decode(message)
            if isinstance(event, Started):
                self._on_started(event.number, event.pid, fds[0])
            else:
                self._on_ended(event.pid, event.status)

    def _lost(self) -> None:
        self.stop()
        self._on_gone()

    def stop(self) -> None:
        """End the forkserver and, with it, every lane. Idempotent."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        if self._process is not None:
            process, self._process = self._process, None
            try:
                process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
