"""The gRPC server `assay.v1.Scorer`: Score, ScoreStream (chunks), Verifiers; plus health and reflection.

A client's deadline bounds the start of its items, and its cancellation reaches the lanes. Refusals carry the problem
document (RFC 9457) as JSON in the trailing metadata `assay-problem-bin`; for a full queue also `retry-after`, in
seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from assay.contract import assay_pb2 as pb
from assay.contract.codes import ProblemCode
from assay.service.auth import KeyRing, Unauthorized
from assay.service.engine.errors import EngineError
from assay.service.engine.intake.frames import json_of
from assay.service.engine.intake.work import Batch
from assay.service.engine.schedule.tickets import Submission
from assay.service.front import Front
from assay.service.http.problems import problem, problem_of
from assay.service.rpc.requests import PbCodec, frame, frames, parsed
from assay.service.rpc.results import response, result
from assay.service.settings import Settings
from assay.service.tls import Tls

SERVICE = "assay.v1.Scorer"
STATUSES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    413: grpc.StatusCode.INVALID_ARGUMENT,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
}
Context = grpc.aio.ServicerContext[Any, Any]
T = TypeVar("T")


class Scorer:
    """The methods of the service."""

    def __init__(self, front: Front, keys: KeyRing) -> None:
        self._front = front
        self._keys = keys

    async def score(self, request: bytes, context: Context) -> pb.ScoreResponse:
        """Score a batch and return its results in order. The request is parsed only after the key is checked."""

        async def work() -> pb.ScoreResponse:
            started = time.perf_counter()
            submission = await self._submit(request, context)
            await self._front.wait_for_results(submission)
            every = self._front.frames(submission, range(len(submission.results)))
            return response(every, wall_ms=(time.perf_counter() - started) * 1000)

        return await _answered(context, work)

    async def stream(self, request: bytes, context: Context) -> AsyncIterator[pb.ScoreChunk]:
        """Score a batch and yield chunks as they are ready, groups together; the last chunk says `done`."""

        async def submit() -> Submission:
            return await self._submit(request, context)

        submission = await _answered(context, submit)
        count = 0
        async for ready in self._front.arrivals(submission):
            count += len(ready)
            yield pb.ScoreChunk(results=map(result, self._front.frames(submission, ready)))
        yield pb.ScoreChunk(done=True, count=count)

    async def verifiers(self, request: pb.VerifiersRequest, context: Context) -> pb.VerifiersResponse:
        """Return the available verifiers."""

        async def work() -> pb.VerifiersResponse:
            self._owner(context)
            return pb.VerifiersResponse(verifiers=map(_info, self._front.engine.descriptions))

        return await _answered(context, work)

    def _owner(self, context: Context) -> str:
        metadata = dict(context.invocation_metadata() or ())
        return self._keys.owner(str(metadata.get("authorization", "")) or None)

    async def _submit(self, request: bytes, context: Context) -> Submission:
        owner = self._owner(context)
        message = parsed(request, most=self._front.engine.settings.limits.items)
        return await self._front.submit_batch(lambda: self._batch(message, context, owner), owner=owner)

    def _batch(self, request: pb.ScoreRequest, context: Context, owner: str) -> Batch:
        defaults = frame(request.defaults) if request.HasField("defaults") else None
        asked = request.deadline_s if request.HasField("deadline_s") else None
        left = context.time_remaining()
        given = [seconds for seconds in (asked, left) if seconds is not None]
        return self._front.engine.intake.read_frames(
            frames(request), PbCodec(), defaults=defaults, owner=owner, deadline_s=min(given, default=None)
        )


async def _answered(context: Context, work: Callable[[], Awaitable[T]]) -> T:
    """Return the work's result, or abort the call with the status of its error."""
    try:
        return await work()
    except Unauthorized as error:
        document = problem(401, ProblemCode.UNAUTHORIZED, str(error))
    except EngineError as error:
        document = problem_of(error)
    trailing: list[tuple[str, str | bytes]] = [("assay-problem-bin", json_of(document))]
    if "retry_after_s" in document:
        trailing.append(("retry-after", str(document["retry_after_s"])))
    status = STATUSES.get(document["status"], grpc.StatusCode.INTERNAL)
    await context.abort(status, str(document.get("detail", "")), tuple(trailing))
    raise AssertionError("unreachable: abort raises")


def _info(entry: Any) -> pb.VerifierInfo:
    return pb.VerifierInfo(
        name=entry["name"],
        version=entry["version"],
        reads=entry["reads"],
        sandboxed=entry["sandboxed"],
        reference_schema_json=json_of(entry["reference"]),
        summary=entry["summary"],
    )


@asynccontextmanager
async def serving_grpc(
    front: Front,
    keys: KeyRing,
    settings: Settings,
    *,
    tls: Tls | None = None,
    leaving: asyncio.Event | None = None,
) -> AsyncIterator[int | None]:
    """Serve gRPC inside the context if the settings name a port; yields the bound port. Raises `OSError`.

    `leaving`: once set, new calls are refused and health reports it, while running calls are finished.
    """
    if settings.grpc_port is None:
        yield None
        return
    health = HealthServicer()
    server = make_server(front, keys, body_bytes=settings.limits.body_bytes, health=health)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    try:
        address = f"{host}:{settings.grpc_port}"
        port = server.add_secure_port(address, tls.credentials()) if tls else server.add_insecure_port(address)
    except RuntimeError:
        raise OSError(f"cannot listen for gRPC on port {settings.grpc_port}") from None
    await server.start()

    left = leaving or asyncio.Event()

    async def stop() -> None:
        await left.wait()
        await health.enter_graceful_shutdown()
        await server.stop(settings.drain_s)

    stopping = asyncio.create_task(stop())
    yield port
    left.set()
    await stopping


def make_server(front: Front, keys: KeyRing, *, body_bytes: int, health: HealthServicer) -> grpc.aio.Server:
    """Return a server with the scorer, health and reflection; not yet bound or started."""
    options = [
        ("grpc.max_receive_message_length", body_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.aio.server(options=options)
    server.add_generic_rpc_handlers((_handlers(Scorer(front, keys)),))
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    reflection.enable_server_reflection((SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name), server)
    return server


def _handlers(scorer: Scorer) -> grpc.GenericRpcHandler[Any, Any]:
    def unary(method: Any, read: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(method, read, _serialized)

    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "Score": unary(scorer.score, _as_sent),
            "ScoreStream": grpc.unary_stream_rpc_method_handler(scorer.stream, _as_sent, _serialized),
            "Verifiers": unary(scorer.verifiers, pb.VerifiersRequest.FromString),
        },
    )


def _as_sent(body: bytes) -> bytes:
    return body


def _serialized(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body
