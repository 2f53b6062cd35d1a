"""The synchronous client: runs the asynchronous one on an event loop in a background thread.

The thread starts with the first call and is a daemon. After a `fork` the child starts its own. Safe to use from several
threads, and from inside a running event loop (which it blocks).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from assay.client._async import AsyncClient
from assay.client.items import ItemLike
from assay.contract.envelope import VerifierInfo
from assay.contract.result import Result

T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its result; an interrupt here cancels the coroutine."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Schedule a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Stop the loop and join the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Client:
    """Score completions synchronously; see `AsyncClient` for the arguments.

    >>> with Client("embedded:") as client:
    ...     client.score_one({"verifier": "exact", "completion": "#### 7", "reference": {...}}).reward
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._client = AsyncClient(*args, **kwargs)
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()

    def score(
        self,
        items: Iterable[ItemLike],
        *,
        defaults: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> list[Result]:
        """Return one result per item, in the order of the items."""
        return self._run(self._client.score(items, defaults=defaults, deadline_s=deadline_s))

    def score_one(self, item: ItemLike, *, deadline_s: float | None = None) -> Result:
        """Return the result of one item."""
        return self._run(self._client.score_one(item, deadline_s=deadline_s))

    def stream(
        self,
        items: Iterable[ItemLike],
        *,
        defaults: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Result]:
        """Yield results as they are ready."""
        results = self._client.stream(items, defaults=defaults, deadline_s=deadline_s)
        try:
            while (result := self._run(_next(results))) is not None:
                yield result
        finally:
            self._run(_close(results))

    def verifiers(self) -> list[VerifierInfo]:
        """Return the verifiers that the engine offers."""
        return self._run(self._client.verifiers())

    def get(self, path: str) -> bytes:
        """Return the body at a GET path that the transport has, such as `/v1/isolation` or `/healthz`."""
        return self._run(self._client.get(path))

    def submit(self, work: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> Future[T]:
        """Schedule `work(client)` on this client's own loop, from any thread or loop, and return at once.

        The connections then outlive the caller's loop: `await asyncio.wrap_future(client.submit(...))`.
        """
        return self._running().submit(work(self._client))

    def close(self) -> None:
        """Close connections, processes and the thread. The client may be used again afterwards."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread.pid == os.getpid():
            thread.run(self._client.aclose())
            thread.stop()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._running().run(work)

    def _running(self) -> LoopThread:
        with self._lock:
            if self._thread is None or self._thread.pid != os.getpid():
                self._thread = LoopThread()
            return self._thread


async def _next(results: AsyncIterator[Result]) -> Result | None:
    return await anext(results, None)


async def _close(results: Any) -> None:
    await results.aclose()
