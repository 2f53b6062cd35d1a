"""The service as an ASGI application: its parts, and its lifespan from start to drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from assay.service.auth import KeyRing
from assay.service.compat import add_protocols
from assay.service.compat.startup import check_protocols
from assay.service.engine.engine import Engine
from assay.service.engine.schedule.shares import FairBudget
from assay.service.front import Front
from assay.service.http.guard import Guard
from assay.service.http.handlers import add_handlers
from assay.service.http.openapi import documented
from assay.service.http.routes import about_routes, score_routes, shadow_routes
from assay.service.metrics import Metrics
from assay.service.offload.readers import Readers
from assay.service.replicas.share import Share
from assay.service.rpc.server import serving_grpc
from assay.service.settings import Settings
from assay.service.shadow import Shadow
from assay.service.tls import Tls


def create_app(settings: Settings, *, engine: Engine | None = None) -> FastAPI:
    """Return the service as an ASGI app. The engine starts and stops with the app's lifespan."""
    engine = engine or Engine(settings.engine())
    share = Share(engine, settings.redis, settings.quota)
    shadow = None if settings.shadow is None else Shadow(settings.shadow)
    metrics = Metrics(engine, share, shadow)
    keys = KeyRing(settings)
    readers = Readers(engine)
    tls = Tls.of(settings)
    budget = FairBudget(settings.limits.inflight_bytes)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not engine.started:
            await engine.start()
            check_protocols(settings.wires, engine.descriptions)
        if settings.sandbox_backends:
            await engine.open_sandbox()
        async with share.running():
            async with serving_grpc(app.state.front, keys, settings, tls=tls, budget=budget, leaving=app.state.leaving):
                yield
            if shadow is not None:
                await shadow.close()
            await engine.close(drain_s=settings.drain_s)
            readers.close()

    app = FastAPI(title="Assay", version=version("assay"), summary="Verdicts and rewards for RLVR.", lifespan=lifespan)
    app.state.front = Front(
        engine=engine, observe=metrics.results, share=share if share.active else None, readers=readers
    )
    app.state.keys = keys
    app.state.tls = tls
    app.state.budget = budget
    app.state.leaving = asyncio.Event()
    """Set once no new requests are accepted."""
    app.state.shadow = shadow
    app.include_router(score_routes(app.state.front, shadow))
    app.include_router(about_routes(app.state.front, metrics))
    if shadow is not None:
        app.include_router(shadow_routes(shadow))
    add_protocols(app, app.state.front, settings.wires)
    add_handlers(app)
    app.add_middleware(Guard, settings=settings, keys=keys, budget=budget)
    documented(app)
    return app
