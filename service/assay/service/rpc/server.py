"""The gRPC server `assay.v1.Scorer`: Score, ScoreStream (chunks), Verifiers; plus health and reflection.

A client's deadline bounds the start of its items, and its cancellation reaches the lanes. Refusals carry the problem
document (RFC 9457) as JSON in the trailing metadata `assay-problem-bin`; for a full queue also `retry-after`, in
seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from assay.contract import assay_pb2 as pb
from assay.contract.codes import ProblemCode
from assay.service.auth import KeyRing, Unauthorized
from assay.service.engine.errors import EngineError
from assay.service.engine.intake.frames import json_of
from assay.service.engine.schedule.shares import FairBudget
from assay.service.engine.schedule.tickets import Submission
from assay.service.front import Front
from assay.service.http.bodies import NoRoom
from assay.service.http.problems import problem, problem_of
from assay.service.offload.orders import Encoding
from assay.service.rpc.gate import Context, KeyGate, Messages, owner_of, refuse
from assay.service.rpc.requests import batch_of
from assay.service.rpc.results import response, result
from assay.service.settings import Settings
from assay.service.tls import Tls

SERVICE = "assay.v1.Scorer"
IDLE_MS = 15 * 60 * 1000
"""Milliseconds without a call after which a connection is closed."""
HANDSHAKE_MS = 20_000


class Scorer:
    """The methods of the service."""

    def __init__(self, front: Front, keys: KeyRing, messages: Messages) -> None:
        self._front = front
        self._keys = keys
        self._messages = messages

    async def score(self, requests: AsyncIterator[bytes], context: Context) -> pb.ScoreResponse:
        """Score a batch and return its results in order. The message is read only after the key is checked."""
        async with _answering(context):
            owner = self._owner(context)
            async with self._messages.message(requests, owner) as request:
                started = time.perf_counter()
                submission = await self._submit(request, context, owner)
                await self._front.wait_for_results(submission)
                every = self._front.frames(submission, range(len(submission.results)))
                return response(every, wall_ms=(time.perf_counter() - started) * 1000)

    async def stream(self, requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[pb.ScoreChunk]:
        """Score a batch and yield chunks as they are ready, groups together; the last chunk says `done`."""
        async with _answering(context):
            owner = self._owner(context)
            async with self._messages.message(requests, owner) as request:
                submission = await self._submit(request, context, owner)
                count = 0
                async for ready in self._front.arrivals(submission):
                    count += len(ready)
                    yield pb.ScoreChunk(results=map(result, self._front.frames(submission, ready)))
                yield pb.ScoreChunk(done=True, count=count)

    async def verifiers(self, request: pb.VerifiersRequest, context: Context) -> pb.VerifiersResponse:
        """Return the available verifiers."""

        async with _answering(context):
            self._owner(context)
            return pb.VerifiersResponse(verifiers=map(_info, self._front.engine.descriptions))

    def _owner(self, context: Context) -> str:
        return owner_of(self._keys, context.invocation_metadata())

    async def _submit(self, request: bytes, context: Context, owner: str) -> Submission:
        left = context.time_remaining()
        intake = self._front.engine.intake
        return await self._front.submit_batch(
            Encoding.PROTOBUF,
            request,
            lambda: batch_of(request, intake, owner=owner, left_s=left),
            owner=owner,
            left_s=left,
        )


@asynccontextmanager
async def _answering(context: Context) -> AsyncIterator[None]:
    """Abort the call with the status of an error that is raised inside."""
    try:
        yield
    except Unauthorized as error:
        await refuse(context, problem(401, ProblemCode.UNAUTHORIZED, str(error)))
    except NoRoom as error:
        await refuse(context, error.document)
    except EngineError as error:
        await refuse(context, problem_of(error))


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
    budget: FairBudget | None = None,
    leaving: asyncio.Event | None = None,
) -> AsyncIterator[int | None]:
    """Serve gRPC inside the context if the settings name a port; yields the bound port. Raises `OSError`.

    `leaving`: once set, new calls are refused and health reports it, while running calls are finished.
    """
    if settings.grpc_port is None:
        yield None
        return
    health = HealthServicer()
    messages = Messages(budget or FairBudget(settings.limits.inflight_bytes), read_s=settings.limits.read_s)
    server = make_server(Scorer(front, keys, messages), keys, body_bytes=settings.limits.body_bytes, health=health)
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


def make_server(scorer: Scorer, keys: KeyRing, *, body_bytes: int, health: HealthServicer) -> grpc.aio.Server:
    """Return a server with the scorer, health and reflection; not yet bound or started."""
    options = [
        ("grpc.max_receive_message_length", body_bytes),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
        ("grpc.max_connection_idle_ms", IDLE_MS),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
    ]
    server = grpc.aio.server(options=options, interceptors=[KeyGate(keys, SERVICE)])
    server.add_generic_rpc_handlers((_handlers(scorer),))
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    reflection.enable_server_reflection((SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name), server)
    return server


def _handlers(scorer: Scorer) -> grpc.GenericRpcHandler[Any, Any]:
    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "Score": grpc.stream_unary_rpc_method_handler(scorer.score, _as_sent, _serialized),
            "ScoreStream": grpc.stream_stream_rpc_method_handler(scorer.stream, _as_sent, _serialized),
            "Verifiers": grpc.unary_unary_rpc_method_handler(
                scorer.verifiers, pb.VerifiersRequest.FromString, _serialized
            ),
        },
    )


def _as_sent(body: bytes) -> bytes:
    return body


def _serialized(message: Any) -> bytes:
    body: bytes = message.SerializeToString()
    return body
