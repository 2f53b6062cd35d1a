"""The engine's sandbox: a supervisor process that owns the jails, and a channel to one slot for each sandbox lane.

Started with the service, or, embedded, with the first item that needs it. If the supervisor dies it is restarted;
until then items that need it wait, and none becomes a reward of 0. If no backend that the settings allow works on
this host, items that need one are `sandbox_unavailable`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from assay.sandbox import SandboxError, Settings, Supervisor

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
"""Pauses before a supervisor that has died is started again; each failure doubles the next."""
log = logging.getLogger("assay.engine")


class SandboxHost:
    """Owns the supervisor process and restarts it. All methods belong to the engine's loop."""

    def __init__(self, settings: Settings | None, *, on_ready: Callable[[], None]) -> None:
        self.settings = settings
        self.failure = "" if settings and settings.backends else "settings allow no sandbox backend"
        self._on_ready = on_ready
        self._supervisor: Supervisor | None = None
        self._starting: asyncio.Task[None] | None = None
        self.lost = False
        """Whether there was a supervisor, it died, and none is in its place yet."""
        self.restarts = 0

    @property
    def ready(self) -> bool:
        """Whether slots are available now."""
        return self._supervisor is not None and self._supervisor.alive

    @property
    def pid(self) -> int | None:
        """Process id of the supervisor, while there is one."""
        return self._supervisor.pid if self._supervisor is not None else None

    @property
    def possible(self) -> bool:
        """Whether slots are available, or may be soon."""
        return not self.failure

    async def start(self) -> None:
        """Start the supervisor, once; afterwards it is `ready`, or `failure` says why not."""
        if self.ready or not self.possible:
            return
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    async def _start(self) -> None:
        assert self.settings is not None
        try:
            self._supervisor = await asyncio.to_thread(Supervisor.start, self.settings)
        except SandboxError as error:
            self.failure = str(error)
        except Exception as error:  # the host is short of something now: that passes
            log.error("sandbox supervisor not started: %s: %.300s", type(error).__name__, error)
            self.lost = True
            self._starting = asyncio.create_task(self._start_again())
            return
        self._starting = None
        if self.ready:
            self._on_ready()

    def channel(self) -> int:
        """Return a new channel to a slot. Raises SandboxError."""
        if self._supervisor is None:
            raise SandboxError("the sandbox is not started")
        return self._supervisor.connect()

    def watch(self) -> bool:
        """Return True if the supervisor has died; a restart is then under way."""
        if self._supervisor is None or self._supervisor.alive:
            return False
        dead, self._supervisor, self.lost = self._supervisor, None, True
        log.error("sandbox supervisor %d died", dead.pid)
        self._starting = asyncio.create_task(self._restart(dead))
        return True

    async def _restart(self, dead: Supervisor) -> None:
        """Start another supervisor in place of a dead one."""
        try:
            await asyncio.to_thread(dead.close)
        except Exception as error:
            log.error("what is left of the supervisor: %s: %.300s", type(error).__name__, error)
        await self._start_again()

    async def _start_again(self) -> None:
        """Start a supervisor; a failure is tried again for as long as it takes."""
        pause_s = FIRST_PAUSE_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            try:
                assert self.settings is not None
                self._supervisor = await asyncio.to_thread(Supervisor.start, self.settings)
                break
            except Exception as error:
                log.error("sandbox supervisor not restarted, next try in %.0f s: %.300s", pause_s, error)
        self.lost, self._starting = False, None
        self.restarts += 1
        log.warning("sandbox supervisor restarted: %s", self.pid)
        self._on_ready()

    @property
    def fingerprint(self) -> bytes:
        """Digest of backend, toolchains and images; empty while there is no sandbox."""
        return self._supervisor.fingerprint().encode() if self._supervisor else b""

    def isolation(self) -> dict[str, Any]:
        """Return the isolation report of this host, for `/v1/isolation`."""
        if self._supervisor is not None:
            return self._supervisor.isolation()
        return {"backend": None, "reason": self.failure or "not started yet"}

    async def close(self) -> None:
        """End every jail and the supervisor."""
        if self._starting is not None:
            if self.lost:
                self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._supervisor is not None:
            supervisor, self._supervisor = self._supervisor, None
            await asyncio.to_thread(supervisor.close)
