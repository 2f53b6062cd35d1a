"""The asynchronous client: batches in, results out in order, over one or several URLs.

Connections belong to one process and one event loop. After a `fork`, or in another event loop, the client opens its own
connections; the old ones are left to the process or loop that opened them. A transport object given by the caller is
used as it is.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from assay.client._persist import score_until_verdict
from assay.client.answers import Answer
from assay.client.chunks import CHUNK_BYTES, CHUNK_ITEMS, chunks, gathered
from assay.client.concurrency import run_all
from assay.client.core import Chunk, Core, RetryLimits
from assay.client.deadline import Deadline
from assay.client.endpoints import Endpoints
from assay.client.errors import ConfigurationError, ProtocolError, refused
from assay.client.items import Encoded, ItemLike, encode_items, to_json
from assay.client.transport import Transport, open_transport
from assay.contract.envelope import VerifierInfo
from assay.contract.result import Result

T = TypeVar("T")

_VERIFIERS = TypeAdapter(list[VerifierInfo])


class AsyncClient:
    """Score completions in this process (`embedded:`) or on a service (`http://…`, `unix:/…`).

    Args:
        url: where the engine is; several URLs are replicas of one service, used with fail-over.
        api_key: bearer token; default: the environment variable `ASSAY_API_KEY`.
        deadline_s: seconds for a whole call; items not started by then have error `deadline`.
        max_in_flight: maximum number of concurrent requests.
        chunk_items, chunk_bytes: maximum size of a request; a group is split only if it alone is larger.
        tries: how often a chunk is sent while no URL answers, before `ServiceUnavailable` is raised.
        share_references: upload a large reference once if several items share it (HTTP only).
        transport: a transport object instead of a URL, such as `MemoryTransport`.
        options: further options of the transport (embedded: `plugins=["my_rewards.py"]`, TLS: `ca_file`, `client_cert`,
            `client_key`, …).
    """

    def __init__(
        self,
        url: str | Sequence[str] = "embedded:",
        *,
        api_key: str | None = None,
        deadline_s: float | None = None,
        max_in_flight: int = 8,
        chunk_items: int = CHUNK_ITEMS,
        chunk_bytes: int = CHUNK_BYTES,
        tries: int = 6,
        share_references: bool = True,
        transport: Transport | None = None,
        **options: Any,
    ) -> None:
        if max_in_flight < 1 or chunk_items < 1 or chunk_bytes < 1 or tries < 1:
            raise ConfigurationError("max_in_flight, chunk_items, chunk_bytes and tries must be at least 1")
        self._urls = [url] if isinstance(url, str) else list(url)
        if not self._urls:
            raise ConfigurationError("no URL given")
        self._transport = transport
        self._options = {"api_key": api_key, **options}
        self._deadline_s = deadline_s
        self._max_in_flight = max_in_flight
        self._size = {"max_items": chunk_items, "max_bytes": chunk_bytes}
        self._limits = RetryLimits(unavailable_tries=tries, share_references=share_references)
        self._home: tuple[int, asyncio.AbstractEventLoop] | None = None
        self._opened: Core | None = None

    async def score(
        self,
        items: Iterable[ItemLike],
        *,
        defaults: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> list[Result]:
        """Return one result per item, in the order of the items.

        Raises `RequestRefused`, `Overloaded`, `ServiceUnavailable`, `DeadlineExceeded`, `ProtocolError`.
        """
        encoded = encode_items(items)
        answers = await self._all(self._cut(encoded, defaults, deadline_s, self._size), self.core().score)
        found = {answer.id: answer for answer in answers}
        return [found[item.id].result() for item in encoded]

    async def score_until_verdict(
        self, items: Iterable[ItemLike], *, deadline_s: float, chunk_items: int | None = None
    ) -> list[Result]:
        """Return one result per item, in order, by the deadline. Items with a retryable null are sent again until then.

        An outage is not raised: an item without a verdict at the deadline has a retryable result that gives the cause.
        Raises `RequestRefused` and `ProtocolError`.
        """
        encoded = encode_items(items)
        size = self._size if chunk_items is None else {**self._size, "max_items": chunk_items}
        core = self.core()

        async def persist(request: Chunk) -> list[Answer]:
            return await score_until_verdict(request, core.score)

        answers = await self._all(self._cut(encoded, None, deadline_s, size), persist)
        found = {answer.id: answer for answer in answers}
        return [found[item.id].result() for item in encoded]

    async def score_one(self, item: ItemLike, *, deadline_s: float | None = None) -> Result:
        """Return the result of one item."""
        return (await self.score([item], deadline_s=deadline_s))[0]

    async def stream(
        self,
        items: Iterable[ItemLike],
        *,
        defaults: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> AsyncIterator[Result]:
        """Yield results as they are ready, each item exactly once; a group's together if the service supports it."""
        requests = self._cut(encode_items(items), defaults, deadline_s, self._size)
        queue: asyncio.Queue[Answer | None] = asyncio.Queue(self._max_in_flight * 256)
        core = self.core()

        async def pump(request: Chunk) -> None:
            async for answer in core.stream(request):
                await queue.put(answer)

        async def pump_all() -> None:
            try:
                await run_all(requests, pump, limit=self._max_in_flight)
            except Exception:
                await queue.put(None)
                raise
            await queue.put(None)

        producer = asyncio.create_task(pump_all())
        try:
            while (answer := await queue.get()) is not None:
                yield answer.result()
            await producer
        finally:
            producer.cancel()
            await asyncio.gather(producer, return_exceptions=True)

    async def verifiers(self) -> list[VerifierInfo]:
        """Return the verifiers that the engine offers, with the JSON schema of each one's reference."""
        body = await self.get("/v1/verifiers")
        try:
            listing = json.loads(body)
            return _VERIFIERS.validate_python(listing["verifiers"] if isinstance(listing, dict) else listing)
        except (ValueError, KeyError, ValidationError):
            raise ProtocolError("the list of verifiers does not follow the contract") from None

    async def get(self, path: str) -> bytes:
        """Return the body at a GET path that the transport has, such as `/v1/isolation` or `/healthz`."""
        return await self.core().get(path, Deadline(self._deadline_s))

    async def aclose(self) -> None:
        """Close connections and processes. The client may be used again afterwards."""
        core, self._opened = self._opened, None
        if core is not None and self._home == (os.getpid(), asyncio.get_running_loop()):
            await core.endpoints.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def core(self) -> Core:
        """Return the core of this process and loop."""
        home = (os.getpid(), asyncio.get_running_loop())
        if self._opened is None or self._home != home:
            own = [] if self._transport is None else [self._transport]
            transports = own or [open_transport(url, **self._options) for url in self._urls]
            self._opened, self._home = Core(Endpoints(transports), self._limits), home
        return self._opened

    def _cut(
        self,
        encoded: list[Encoded],
        defaults: Mapping[str, Any] | None,
        deadline_s: float | None,
        size: Mapping[str, int],
    ) -> list[Chunk]:
        try:
            common = to_json(dict(defaults)) if defaults else None
        except (TypeError, ValueError, RecursionError) as error:
            raise refused(f"defaults have no JSON form ({type(error).__name__})", field="defaults") from None
        deadline = Deadline(self._deadline_s if deadline_s is None else deadline_s)
        return [Chunk(items=part, deadline=deadline, defaults=common) for part in chunks(gathered(encoded), **size)]

    async def _all(self, requests: Sequence[Chunk], score: Callable[[Chunk], Awaitable[list[Answer]]]) -> list[Answer]:
        answers: list[Answer] = []

        async def send(request: Chunk) -> None:
            answers.extend(await score(request))

        await run_all(requests, send, limit=self._max_in_flight)
        return answers
