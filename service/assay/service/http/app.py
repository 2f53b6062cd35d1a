"""The HTTP face: FastAPI for routes and documentation, bytes in and bytes out for the work.

Bodies are read as bytes and validated by the engine's intake, so that big integers survive and a bad
item does not fail its neighbours; the pydantic models of `assay.contract` document them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from assay.service.auth import KeyRing
from assay.service.compat import add_wires
from assay.service.engine.engine import Engine
from assay.service.engine.errors import EngineError, EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.front import Front
from assay.service.http.connection import ClientGone, while_connected
from assay.service.http.guard import Guard
from assay.service.http.openapi import documented
from assay.service.http.problems import problem, problem_of
from assay.service.metrics import Metrics
from assay.service.replicas.share import Share
from assay.service.rpc.server import serving_grpc
from assay.service.settings import Settings
from assay.service.shadow import MARK, Shadow

JSON, MSGPACK, PROBLEM = "application/json", "application/msgpack", "application/problem+json"
NDJSON = "application/x-ndjson"
log = structlog.get_logger()


def create_app(settings: Settings, *, engine: Engine | None = None) -> FastAPI:
    """Return the service as an ASGI app. The engine starts and ends with the app's lifespan."""
    engine = engine or Engine(settings.engine())
    share = Share(engine, settings.redis, settings.quota)
    shadow = None if settings.shadow is None else Shadow(settings.shadow)
    metrics = Metrics(engine, share, shadow)
    keys = KeyRing(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not engine.started:
            await engine.start()
        if settings.sandbox_backends:
            await engine.open_sandbox()
        async with share.running():
            async with serving_grpc(app.state.front, keys, settings, leaving=app.state.leaving):
                yield
            if shadow is not None:
                await shadow.close()
            await engine.close(drain_s=settings.drain_s)

    app = FastAPI(title="Assay", version=version("assay"), summary="Verdicts and rewards for RLVR.", lifespan=lifespan)
    app.state.front = Front(engine=engine, observe=metrics.results, share=share if share.active else None)
    app.state.keys = keys
    app.state.leaving = asyncio.Event()
    """Set when nothing new is taken in any more."""
    app.state.shadow = shadow
    _routes(app, app.state.front, metrics, shadow)
    add_wires(app, app.state.front, settings.wires)
    _faults(app)
    app.add_middleware(Guard, settings=settings, keys=keys)
    documented(app)
    return app


def _routes(app: FastAPI, front: Front, metrics: Metrics, shadow: Shadow | None) -> None:
    @app.post("/v1/score", tags=["score"])
    async def score(request: Request) -> Response:
        """Score a batch; results come in the order of the items. `?strict=1`: a faulty item fails the request."""
        strict = _strict(request)
        body, owner = await request.body(), request.scope["assay.owner"]
        packed = _packed(request)
        call = front.score_msgpack if packed else front.score_json
        answer = await while_connected(request, call(body, owner=owner, strict=strict))
        kind = MSGPACK if packed else JSON
        if shadow is not None and MARK not in request.headers:
            shadow.offer(body, answer, kind=kind, owner=owner)
        return Response(answer, media_type=kind)

    @app.post("/v1/score/stream", tags=["score"])
    async def stream(request: Request) -> Response:
        """Score a batch; NDJSON, each result as it is ready, groups whole; the last line says `done`."""
        if _strict(request):
            raise EnvelopeFault("invalid_parameter", "strict: not with a stream", field="strict")
        body, owner = await request.body(), request.scope["assay.owner"]
        submission = await front.taken(body, owner=owner, packed=_packed(request))
        return StreamingResponse(front.stream(submission), media_type=NDJSON)

    @app.put("/v1/references/{sha256}", tags=["score"], status_code=204)
    async def put_reference(sha256: str, request: Request) -> Response:
        """Upload a reference once; items then carry `{"$ref": "sha256:…"}`."""
        front.put_reference(sha256.lower(), await request.body(), owner=request.scope["assay.owner"])
        return Response(status_code=204)

    @app.get("/v1/verifiers", tags=["about"])
    async def verifiers() -> Response:
        """What can be verified, each with the JSON schema of its reference."""
        return Response(front.verifiers(), media_type=JSON)

    @app.get("/v1/isolation", tags=["about"])
    async def isolation() -> Response:
        """What isolates programs on this host, and which probes hold."""
        return Response(json_of(front.engine.isolation()), media_type=JSON)

    if shadow is not None:

        @app.get("/v1/shadow", tags=["about"])
        async def compared(request: Request) -> Response:
            """How the other version's verdicts differ, and the last of your own that did."""
            return Response(json_of(shadow.report(request.scope["assay.owner"])), media_type=JSON)

    @app.get("/healthz", tags=["about"])
    async def healthz() -> Mapping[str, str]:
        """The process is alive."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["about"])
    async def readyz() -> Response:
        """Whether a batch would be taken in now: 200 or 503."""
        ready = front.engine.ready
        body = {"status": "ready" if ready else "not ready", "queue_depth": front.engine.depth}
        return Response(json_of(body), status_code=200 if ready else 503, media_type=JSON)

    @app.get("/metrics", tags=["about"])
    async def scrape() -> Response:
        """Prometheus metrics."""
        return Response(metrics.text(), media_type=metrics.content_type)


_FLAGS = {"0": False, "false": False, "no": False, "off": False, "1": True, "true": True, "yes": True, "on": True}


def _strict(request: Request) -> bool:
    value = request.query_params.get("strict", "0").lower()
    if value not in _FLAGS:
        raise EnvelopeFault("invalid_parameter", "strict: 1 or 0", field="strict")
    return _FLAGS[value]


def _packed(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON


def _faults(app: FastAPI) -> None:
    async def engine_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, EngineError)
        return _problem_response(problem_of(error))

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _problem_response(problem(error.status_code, "http", str(error.detail)))

    async def client_gone(request: Request, error: Exception) -> Response:
        return Response(status_code=499)

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error("internal error", kind=type(error).__name__, path=request.url.path, where=_where(error))
        return _problem_response(problem(500, "internal", "an error of the service; it is in its log"))

    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        EngineError: engine_error, HTTPException: http_error, ClientGone: client_gone,
        ClientDisconnect: client_gone, Exception: unexpected,
    }  # fmt: skip
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def _where(error: BaseException) -> list[str]:
    """Files and lines of the traceback: never values, which could be a completion."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return lines[-5:]


def _problem_response(document: Mapping[str, Any]) -> Response:
    headers = {}
    if "retry_after_s" in document:
        headers["retry-after"] = str(int(document["retry_after_s"]))
    return Response(json_of(document), status_code=document["status"], headers=headers, media_type=PROBLEM)
