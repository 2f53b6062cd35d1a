"""The engine's side of the forkserver: orders lanes, hears of births and deaths, starts it again if it dies.

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
from assay.service.engine.workers.forkserver import MESSAGE, Born, Died, Order

OnBorn = Callable[[int, int, int], None]
"""(lane number, pid, pidfd)"""
OnDied = Callable[[int, int], None]
"""(pid, wait status)"""

# gmpy2 stays out: a GMP call cannot be interrupted and can abort. Hash seeds are fixed: verdicts are.
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MPMATH_NOGMPY": "1",
    "SYMPY_GROUND_TYPES": "python",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


class Nursery:
    """One forkserver, and those after it."""

    def __init__(self, *, on_born: OnBorn, on_died: OnDied, on_gone: Callable[[], None], warm: Sequence[str]) -> None:
        self._on_born, self._on_died, self._on_gone = on_born, on_died, on_gone
        self._warm = list(warm)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._news = msgspec.msgpack.Decoder(Born | Died)

    @property
    def pid(self) -> int | None:
        """The forkserver's pid, while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the forkserver. Raises EngineUnavailable."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = _ENVIRONMENT | {name: os.environ[name] for name in _KEPT if name in os.environ}
        command = [sys.executable, "-P", "-m", "assay.service.engine.workers.forkserver", str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command + self._warm, env=environment, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise EngineUnavailable(f"the forkserver cannot be started: {error}") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        self._control = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._hear)

    def order(self, options: LaneOptions, *, stuck_s: float, fds: Sequence[int]) -> None:
        """Ask for a lane; `fds` are its socket, its page and, if it has one, its sandbox channel."""
        assert self._control is not None
        message = msgspec.msgpack.encode(Order(options, stuck_s))
        socket.send_fds(self._control, [message], list(fds))

    def _hear(self) -> None:
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
            news = self._news.decode(message)
            if isinstance(news, Born):
                self._on_born(news.number, news.pid, fds[0])
            else:
                self._on_died(news.pid, news.status)

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
