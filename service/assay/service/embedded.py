"""The embedded engine: the service's engine on the caller's machine, behind the client's transport interface.

It runs on its own event loop in a background thread. Lanes are processes started by exec, so the caller's main module
is never imported again. After a fork the child starts its own engine with its first request. Not covered: sharing one
engine between processes (run `assay serve`).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from assay.client import ConfigurationError, RequestRefused
from assay.client.problems import error_of
from assay.contract.envelope import Problem
from assay.sandbox import Settings as Sandbox
from assay.service.engine.engine import Engine
from assay.service.engine.errors import EngineError, PluginRefused
from assay.service.engine.intake.frames import json_of
from assay.service.engine.settings import EngineSettings
from assay.service.environments import Environments, recipes
from assay.service.front import Front
from assay.service.http.problems import problem_of

T = TypeVar("T")
_END = object()
BACKENDS_VARIABLE, ENVIRONMENTS_VARIABLE = "ASSAY_SANDBOX_BACKENDS", "ASSAY_SANDBOX_ENVIRONMENTS"


class EmbeddedTransport:
    """The transport of `embedded:`: an engine that starts with the first request and stops with `aclose` or the
    process.
    """

    shares_references = False

    def __init__(
        self,
        url: str = "embedded:",
        *,
        lanes: int | None = None,
        plugins: Sequence[str] = (),
        api_key: str | None = None,
        **unknown: Any,
    ) -> None:
        """`api_key` is accepted for compatibility with services and ignored: there is a single owner."""
        if unknown:
            raise ConfigurationError(f"embedded: unknown option {', '.join(sorted(unknown))}")
        settings = EngineSettings(plugins=tuple(plugins), sandbox=_sandbox())
        self._settings = settings if lanes is None else replace(settings, lanes=lanes)
        self._lock = threading.Lock()
        self._host: _Host | None = None

    def _running(self) -> _Host:
        with self._lock:
            if self._host is None or self._host.owner_pid != os.getpid():
                self._host = _Host(self._settings)
            return self._host

    async def _on_engine(self, work: Coroutine[Any, Any, T], host: _Host) -> T:
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, host.loop))
        except EngineError as error:
            raise _translated(error) from error

    async def _front(self) -> tuple[_Host, Front]:
        host = self._host
        if host is not None and host.ready is not None and host.owner_pid == os.getpid():
            return host, host.ready
        host = await asyncio.to_thread(self._running)
        return host, await self._on_engine(host.front(), host)

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        """Score a request; see `assay.client.Transport`."""
        host, front = await self._front()
        return await asyncio.wait_for(self._on_engine(front.score_json(body), host), timeout_s)

    async def stream(self, body: bytes, *, timeout_s: float | None) -> AsyncIterator[bytes]:
        """Stream results; see `assay.client.Transport`."""
        host, front = await self._front()
        lines = await self._on_engine(_opened(front, body), host)
        try:
            while True:
                piece = await asyncio.wait_for(self._on_engine(_next(lines), host), timeout_s)
                if piece is _END:
                    return
                for line in piece.splitlines():
                    yield line
        finally:
            await self._on_engine(lines.aclose(), host)  # type: ignore[attr-defined]

    async def put_reference(self, digest: str, body: bytes) -> None:
        """Keep an uploaded reference; see `assay.client.Transport`."""
        host, front = await self._front()
        await self._on_engine(_put(front, digest, body), host)

    async def get(self, path: str) -> bytes:
        """Return the JSON at a path; see `assay.client.Transport`. Raises `RequestRefused` for a path that only a
        service has.
        """
        _, front = await self._front()
        if path == "/v1/verifiers":
            return front.verifiers()
        if path == "/v1/isolation":
            return json_of(front.engine.isolation())
        if path in ("/healthz", "/readyz"):
            return json_of({"status": "ok"})
        raise RequestRefused(Problem(type="urn:assay:problem:not_found", title="Not found", status=404))

    async def aclose(self) -> None:
        """Stop the engine and its lanes."""
        host, self._host = self._host, None
        if host is not None and host.owner_pid == os.getpid():
            await asyncio.to_thread(host.close)


class _Host:
    """A background thread with the event loop of one engine."""

    def __init__(self, settings: EngineSettings) -> None:
        self.owner_pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._settings = settings
        self.ready: Front | None = None
        """The front, once the engine has started."""
        self._front: asyncio.Future[Front] | None = None
        self._thread = threading.Thread(target=self._run, name="assay-engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    async def front(self) -> Front:
        """Return the engine's front; the first call starts the engine."""
        if self._front is None:
            self._front = asyncio.ensure_future(self._start())
        front = self._front
        try:
            return await asyncio.shield(front)
        except EngineError:
            if self._front is front:
                self._front = None  # the next call starts it again
            raise

    async def _start(self) -> Front:
        engine = Engine(self._settings)
        await engine.start()
        self.ready = Front(engine=engine)
        return self.ready

    def close(self) -> None:
        """Stop the engine, then the loop, then the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    async def _end(self) -> None:
        if self._front is not None:
            (front,) = await asyncio.gather(self._front, return_exceptions=True)
            if isinstance(front, Front):
                await front.engine.close()


def _sandbox() -> Sandbox | None:
    """Return the default sandbox with the backends and environments of `assay serve`'s environment variables (JSON).

    Returns None if the list of backends is empty. Raises `ConfigurationError` naming the faulty variable.
    """
    sandbox = EngineSettings().sandbox
    if sandbox is None:
        return None
    backends = _variable(BACKENDS_VARIABLE, tuple[str, ...], 'a JSON list of backends, such as ["nsjail"]')
    asked = _variable(ENVIRONMENTS_VARIABLE, Environments, 'a JSON object, such as {"sci": {}}')
    if backends == ():
        return None
    try:
        return replace(sandbox, backends=backends or sandbox.backends, environments=recipes(asked or {}))
    except ValueError as error:
        raise ConfigurationError(f"{ENVIRONMENTS_VARIABLE}: {error}") from None


def _variable(name: str, kind: Any, meaning: str) -> Any:
    """Return the value of an environment variable, or None if it is not set. Raises `ConfigurationError`."""
    text = os.environ.get(name)
    if text is None:
        return None
    try:
        return TypeAdapter(kind).validate_json(text, strict=False)
    except ValidationError:
        raise ConfigurationError(f"{name} is {meaning}") from None


async def _opened(front: Front, body: bytes) -> AsyncIterator[bytes]:
    return front.stream(await front.submit_body(body))


async def _next(lines: AsyncIterator[bytes]) -> Any:
    return await anext(lines, _END)


async def _put(front: Front, digest: str, body: bytes) -> None:
    front.put_reference(digest, body)


def _translated(error: EngineError) -> Exception:
    """Return an error of the engine as the client's error."""
    if isinstance(error, PluginRefused):
        return ConfigurationError(str(error))
    return error_of(Problem.model_validate(problem_of(error)))
