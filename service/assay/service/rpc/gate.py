"""What stands before gRPC's methods: keys before a message is read, and bounds on messages in flight.

gRPC reads the whole message of a unary method before it calls it. So the methods are served as streams of one message
(the same bytes on the wire): the interceptor checks the key from the metadata, and `Messages` reads the message then,
few at a time for each key, and not forever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import grpc

from assay.contract.codes import ProblemCode
from assay.service.auth import KeyRing, Unauthorized
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.engine.schedule.shares import FairBudget
from assay.service.http.bodies import Held
from assay.service.http.problems import problem

AT_ONCE = 4
"""Messages that are being read at a time, for each key."""
STATUSES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    413: grpc.StatusCode.INVALID_ARGUMENT,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
}
Context = grpc.aio.ServicerContext[Any, Any]


async def refuse(context: Context, document: dict[str, Any]) -> NoReturn:
    """End a call with a problem document in its trailing metadata."""
    trailing: list[tuple[str, str | bytes]] = [("assay-problem-bin", json_of(document))]
    if "retry_after_s" in document:
        trailing.append(("retry-after", str(document["retry_after_s"])))
    status = STATUSES.get(document["status"], grpc.StatusCode.INTERNAL)
    await context.abort(status, str(document.get("detail", "")), tuple(trailing))
    raise AssertionError("unreachable: abort raises")


def owner_of(keys: KeyRing, metadata: Any) -> str:
    """Return the owner for a call's metadata. Raises `Unauthorized`."""
    return keys.owner(str(dict(metadata or ()).get("authorization", "")) or None)


class KeyGate(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Refuses calls of one service without a valid key, before their messages are read."""

    def __init__(self, keys: KeyRing, service: str) -> None:
        self._keys, self._prefix = keys, f"/{service}/"

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        """Return the method's handler, or one that refuses the call."""
        if details.method.startswith(self._prefix):
            try:
                owner_of(self._keys, details.invocation_metadata)
            except Unauthorized as error:
                return _refusing(problem(401, ProblemCode.UNAUTHORIZED, str(error)))
        return await continuation(details)


def _refusing(document: dict[str, Any]) -> Any:
    async def handle(requests: Any, context: Context) -> None:
        await refuse(context, document)

    return grpc.stream_unary_rpc_method_handler(handle)


class Messages:
    """Reads the messages of calls, and counts them among the bodies in flight."""

    def __init__(self, budget: FairBudget, *, read_s: float) -> None:
        self._budget, self._read_s = budget, read_s
        self._reading: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def message(self, requests: AsyncIterator[bytes], owner: str) -> AsyncIterator[bytes]:
        """Yield the only message of a call. Raises `EnvelopeFault`, `NoRoom`."""
        slot = self._reading.setdefault(owner, asyncio.Semaphore(AT_ONCE))
        async with slot:
            body = await self._read(requests)
        held = Held(self._budget, owner)
        held.grow(len(body))
        try:
            yield body
        finally:
            held.release()

    async def _read(self, requests: AsyncIterator[bytes]) -> bytes:
        try:
            async with asyncio.timeout(self._read_s):
                return await anext(aiter(requests))
        except TimeoutError:
            raise EnvelopeFault(ProblemCode.INVALID_BODY, "the message did not arrive in time", status=408) from None
        except StopAsyncIteration:
            raise EnvelopeFault(ProblemCode.INVALID_BODY, "the call has no message", status=400) from None
