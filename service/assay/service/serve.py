"""`assay serve`: the HTTP service under uvicorn.

It binds loopback, and other addresses only with keys. SIGTERM drains: no new connections, running work is finished
within `drain_s` seconds. SIGHUP reads the keys and the certificate again. Logs are JSON lines on stderr.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import os
import secrets
import signal
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer
import uvicorn
import uvloop
from pydantic import SecretStr, ValidationError

from assay.client import ConfigurationError
from assay.service.auth import NoKeys
from assay.service.compat.startup import check_protocols
from assay.service.engine.engine import Engine
from assay.service.engine.errors import EngineError, EngineUnavailable
from assay.service.http.app import create_app
from assay.service.http.protocol import RESERVE, BoundedProtocol, Connections, raise_descriptor_limit
from assay.service.settings import Settings, load
from assay.service.tls import UnusableCertificate

log = structlog.get_logger()
KEEP_ALIVE_S = 75
"""Keep-alive of idle connections: longer than clients', so that none is closed while a request is sent."""
ANSWER_S = 5.0
"""Seconds for writing the answers once the engine has drained."""
_BACKLOG = 2048


def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind; beyond loopback only with keys.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 chooses a free one.")] = None,
    uds: Annotated[Path | None, typer.Option(help="Listen on a Unix socket (mode 0600) instead.")] = None,
    grpc_port: Annotated[int | None, typer.Option(help="Also serve gRPC on this port.")] = None,
    lanes: Annotated[int | None, typer.Option(help="Worker processes; default: one per core.")] = None,
    verifiers: Annotated[list[str] | None, typer.Option(help="Plugin: file, module or entry point.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.")] = None,
    generate_key: Annotated[bool, typer.Option(help="Generate an API key, print it once, and require it.")] = False,
) -> None:
    """Run the scoring service."""
    _log_json()
    settings = _settings(config, host=host, port=port, grpc_port=grpc_port, uds=uds, lanes=lanes, verifiers=verifiers)
    if generate_key:
        settings = _with_new_key(settings)
    if not settings.loopback and not settings.keys and settings.key_file is None:
        raise ConfigurationError(
            f"--host {settings.host}: addresses beyond loopback require keys (ASSAY_KEYS, --generate-key)"
        )
    if settings.uds is not None and settings.grpc_port is not None and not settings.keys and settings.key_file is None:
        raise ConfigurationError(
            "--uds keeps other users out, --grpc-port does not: using both requires keys (ASSAY_KEYS)"
        )
    gc.set_threshold(50_000, 20, 100)  # a batch creates many short-lived objects
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_serve(settings))
        except EngineError as error:
            print(f"assay: {' '.join(str(error).split())[:1000]}", file=sys.stderr)
            raise typer.Exit(1) from None


def _settings(config: Path | None, **overrides: Any) -> Settings:
    try:
        return load(config, **overrides)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise ConfigurationError(f"settings: {faults}") from None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"settings: {error}") from None


def _with_new_key(settings: Settings) -> Settings:
    key = secrets.token_urlsafe(24)
    print(f"assay: API key for this run: {key}", file=sys.stderr)
    return settings.model_copy(update={"keys": (*settings.keys, SecretStr(key))})


async def _serve(settings: Settings) -> None:
    engine = Engine(settings.engine())
    try:
        app = create_app(settings, engine=engine)
    except (OSError, NoKeys) as error:
        raise ConfigurationError(f"key_file: {error}") from None
    except UnusableCertificate as error:
        raise ConfigurationError(str(error)) from None
    listener = _listen(settings)
    await _start(engine, settings)
    limit = raise_descriptor_limit()
    connections = Connections(max(limit - RESERVE, limit // 2), read_s=settings.limits.read_s)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=math.ceil(settings.drain_s + ANSWER_S),
        timeout_keep_alive=KEEP_ALIVE_S,
        http=partial(BoundedProtocol, open_connections=connections),  # type: ignore[arg-type]
        ws="none",
    )
    config.load()
    if app.state.tls is not None:
        config.ssl = app.state.tls.context
    server = _Server(config, engine, settings, leaving=app.state.leaving)
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, app)
    log.info("serving", address=_address(settings, listener), lanes=settings.lanes, keys=not app.state.keys.open)
    await server.serve(sockets=[listener])
    if not server.started:
        raise ConfigurationError("the engine did not start; see the log")


class _Server(uvicorn.Server):
    """uvicorn's server; engine and gRPC drain concurrently with it, so that all together take `drain_s`."""

    def __init__(self, config: uvicorn.Config, engine: Engine, settings: Settings, *, leaving: asyncio.Event) -> None:
        super().__init__(config)
        self._engine, self._settings, self._leaving = engine, settings, leaving

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that the service is not ready, then accept nothing new and finish running work.

        After `drain_s` the engine answers what is left with retryable results; requests are not cut off.
        """
        self._engine.leave()
        await asyncio.sleep(self._settings.lame_duck_s)
        self._leaving.set()
        await asyncio.gather(super().shutdown(sockets), self._engine.drain(self._settings.drain_s))


async def _start(engine: Engine, settings: Settings) -> None:
    """Start the engine and its sandbox. Raises `EngineUnavailable` and, for settings that fit no row,
    `ConfigurationError`.
    """
    await engine.start()
    try:
        check_protocols(settings.wires, engine.descriptions)
    except ConfigurationError:
        await engine.close()
        raise
    if not settings.sandbox_backends:
        return
    try:
        await engine.open_sandbox()
    except EngineUnavailable as error:
        await engine.close()
        tried = ", ".join(settings.sandbox_backends)
        raise EngineUnavailable(f"sandbox_backends ({tried}): {error}") from None


def _listen(settings: Settings) -> socket.socket:
    try:
        if settings.uds is not None:
            return _unix_listener(settings.uds)
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)  # now: two sockets may be bound to one port, but only one may listen
        return listener
    except OSError as error:
        raise ConfigurationError(f"cannot listen: {error.strerror}") from None


def _unix_listener(path: Path) -> socket.socket:
    if path.is_socket():
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


def _address(settings: Settings, listener: socket.socket) -> str:
    if settings.uds is not None:
        return f"unix:{settings.uds}"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http{'s' if settings.tls_cert else ''}://{host}:{listener.getsockname()[1]}"


def _reload(app: Any) -> None:
    try:
        app.state.keys.reload()
        log.info("keys reloaded")
    except (OSError, NoKeys) as error:
        log.error("keys not reloaded; the old ones stay", error=str(error))
    try:
        if app.state.tls is not None:
            app.state.tls.reload()
            log.info("certificate reloaded")
    except UnusableCertificate as error:
        log.error("certificate not reloaded; the old one stays", error=str(error))


def _log_json() -> None:
    """Write every log line as JSON to stderr: those of libraries and the engine, which log by `logging`, too."""
    common: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
    ]
    structlog.configure(
        processors=[*common, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
