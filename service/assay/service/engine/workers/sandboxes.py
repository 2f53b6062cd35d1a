"""The engine's sandbox: a supervisor process that owns the jails, and a channel to one slot for each sandbox lane.

Started with the service, or embedded with the first item that needs it. If the supervisor dies it is
started again; until then items that need it wait, and none becomes a 0. If none of the backends that
settings allow holds on this host, items that need one are `sandbox_unavailable`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from assay.sandbox import SandboxError, Settings, Supervisor

RESTART_PAUSE_S = 1.0


class SandboxHost:
    """Owns the supervisor process and restarts it. All methods belong to the engine's loop."""

    def __init__(self, settings: Settings | None, *, on_ready: Callable[[], None]) -> None:
        self.settings = settings
        self.failure = "" if settings and settings.backends else "settings allow no sandbox backend"
        self._on_ready = on_ready
        self._supervisor: Supervisor | None = None
        self._starting: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether slots can be had now."""
        return self._supervisor is not None and self._supervisor.alive

    @property
    def pid(self) -> int | None:
        """Process id of the supervisor, while there is one."""
        return self._supervisor.pid if self._supervisor is not None else None

    @property
    def possible(self) -> bool:
        """Whether slots can be had, or may be soon."""
        return not self.failure

    async def start(self) -> None:
        """Start the supervisor, once; afterwards `ready`, or `failure` says why not."""
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
        finally:
            self._starting = None
        if self.ready:
            self._on_ready()

    def channel(self) -> int:
        """A new channel to a slot. Raises SandboxError."""
        if self._supervisor is None:
            raise SandboxError("the sandbox is not started")
        return self._supervisor.connect()

    def watch(self) -> bool:
        """True if the supervisor has died; another is then on its way."""
        if self._supervisor is None or self._supervisor.alive:
            return False
        dead, self._supervisor = self._supervisor, None
        dead.close()
        self._starting = asyncio.create_task(self._restart())
        return True

    async def _restart(self) -> None:
        await asyncio.sleep(RESTART_PAUSE_S)
        await self._start()

    @property
    def fingerprint(self) -> bytes:
        """Digest of backend, toolchains and images; empty while there is no sandbox."""
        return self._supervisor.fingerprint().encode() if self._supervisor else b""

    def isolation(self) -> dict[str, Any]:
        """What holds on this host, for people and for `/v1/isolation`."""
        if self._supervisor is not None:
            return self._supervisor.isolation()
        return {"backend": None, "reason": self.failure or "not started yet"}

    async def close(self) -> None:
        """End every jail and the supervisor."""
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._supervisor is not None:
            supervisor, self._supervisor = self._supervisor, None
            await asyncio.to_thread(supervisor.close)
