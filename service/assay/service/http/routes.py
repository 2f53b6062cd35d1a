"""Routes of the service's own API: bytes in, bytes out.

Bodies are read as bytes and validated by the engine's intake, so that big integers survive and a faulty item does not
fail its neighbours; the pydantic models of `assay.contract` document them (`openapi`).
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.front import Front
from assay.service.http.connection import while_connected
from assay.service.metrics import Metrics
from assay.service.shadow import MARK, Shadow

JSON, MSGPACK, NDJSON = "application/json", "application/msgpack", "application/x-ndjson"
_FLAGS = {"0": False, "false": False, "no": False, "off": False, "1": True, "true": True, "yes": True, "on": True}


def score_routes(front: Front, shadow: Shadow | None) -> APIRouter:
    """Return the routes that score and that take uploads."""
    router = APIRouter(tags=["score"])

    @router.post("/v1/score")
    async def score(request: Request) -> Response:
        """Score a batch; results are in the order of the items. `?strict=1`: a faulty item fails the request."""
        strict = _strict(request)
        body, owner = await request.body(), request.scope["assay.owner"]
        packed = _is_msgpack(request)
        call = front.score_msgpack if packed else front.score_json
        answer = await while_connected(request, call(body, owner=owner, strict=strict))
        kind = MSGPACK if packed else JSON
        if shadow is not None and MARK not in request.headers:
            shadow.offer(body, answer, kind=kind, owner=owner)
        return Response(answer, media_type=kind)

    @router.post("/v1/score/stream")
    async def stream(request: Request) -> Response:
        """Score a batch as NDJSON: each result as it is ready, groups together; the last line is `done`."""
        if _strict(request):
            raise EnvelopeFault(ProblemCode.INVALID_PARAMETER, "strict is not possible for a stream", field="strict")
        body, owner = await request.body(), request.scope["assay.owner"]
        submission = await front.submit_body(body, owner=owner, packed=_is_msgpack(request))
        return StreamingResponse(front.stream(submission), media_type=NDJSON)

    @router.put("/v1/references/{sha256}", status_code=204)
    async def put_reference(sha256: str, request: Request) -> Response:
        """Upload a reference once; items then refer to it by `{"$ref": "sha256:…"}`."""
        front.put_reference(sha256.lower(), await request.body(), owner=request.scope["assay.owner"])
        return Response(status_code=204)

    @router.post("/v1/invalidate")
    async def invalidate(request: Request) -> Response:
        """Drop cached verdicts of the caller's key: by `item_key`, `verifier`, `since` and `until` (Unix seconds)."""
        answer = await front.invalidate(await request.body(), owner=request.scope["assay.owner"])
        return Response(answer, media_type=JSON)

    return router


def about_routes(front: Front, metrics: Metrics) -> APIRouter:
    """Return the routes that describe the service and its state."""
    router = APIRouter(tags=["about"])

    @router.get("/v1/verifiers")
    async def verifiers() -> Response:
        """List the verifiers, each with the JSON schema of its reference."""
        return Response(front.verifiers(), media_type=JSON)

    @router.get("/v1/isolation")
    async def isolation() -> Response:
        """Report the isolation of programs on this host, and which probes hold."""
        return Response(json_of(front.engine.isolation()), media_type=JSON)

    @router.get("/healthz")
    async def healthz() -> Mapping[str, str]:
        """Report that the process is alive."""
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz() -> Response:
        """Report whether a batch would be accepted now: 200 or 503."""
        cause = front.engine.unready
        body = {"status": "not ready" if cause else "ready", "queue_depth": front.engine.depth}
        return Response(
            json_of(body | ({"cause": cause} if cause else {})), status_code=503 if cause else 200, media_type=JSON
        )

    @router.get("/metrics")
    async def scrape() -> Response:
        """Return Prometheus metrics."""
        return Response(metrics.text(), media_type=metrics.content_type)

    return router


def shadow_routes(shadow: Shadow) -> APIRouter:
    """Return the route of shadow mode."""
    router = APIRouter(tags=["about"])

    @router.get("/v1/shadow")
    async def compared(request: Request) -> Response:
        """Report how the other version's verdicts differ, with the caller's latest examples."""
        return Response(json_of(shadow.report(request.scope["assay.owner"])), media_type=JSON)

    return router


def _strict(request: Request) -> bool:
    value = request.query_params.get("strict", "0").lower()
    if value not in _FLAGS:
        raise EnvelopeFault(ProblemCode.INVALID_PARAMETER, "strict must be 1 or 0", field="strict")
    return _FLAGS[value]


def _is_msgpack(request: Request) -> bool:
    """Return whether the body is msgpack: the guard accepts no types but JSON and msgpack's two."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON
