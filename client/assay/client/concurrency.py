"""Bounded concurrency: an ordered window of jobs, and an unordered pool."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

J = TypeVar("J")
T = TypeVar("T")


async def in_order(
    jobs: Iterable[J],
    work: Callable[[J], Coroutine[Any, Any, T]],
    *,
    window: int,
    read_in_thread: bool = False,
) -> AsyncIterator[T]:
    """Yield the result of `work` for each job, in the order of the jobs, with at most `window` running.

    `read_in_thread` reads the next job in a thread, for sources that block. The first exception, from `jobs` or `work`,
    is raised at its place in the order; running jobs are then cancelled.
    """
    source = iter(jobs)
    pending: deque[asyncio.Task[T]] = deque()
    more = True
    try:
        while more or pending:
            while more and len(pending) < window:
                job = await asyncio.to_thread(_next, source) if read_in_thread else _next(source)
                more = job is not None
                if job is not None:
                    pending.append(asyncio.create_task(work(job)))
            if pending:
                yield await pending.popleft()
    finally:
        await _cancel(pending)


async def run_all(jobs: Iterable[J], work: Callable[[J], Awaitable[None]], *, limit: int) -> None:
    """Run `work` for every job, at most `limit` at once. The first exception cancels the others and is raised."""
    waiting = iter(jobs)

    async def worker() -> None:
        for job in waiting:
            await work(job)

    tasks = [asyncio.create_task(worker()) for _ in range(limit)]
    try:
        await asyncio.gather(*tasks)
    finally:
        await _cancel(tasks)


def _next(source: Iterator[J]) -> J | None:
    return next(source, None)


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
