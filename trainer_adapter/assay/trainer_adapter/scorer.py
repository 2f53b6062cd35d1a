"""Grades for items, within a deadline: what a trainer gets of Assay, whatever happens to the service.

Trainers have no time-out and stop at any exception, so a scorer always answers within its deadline (and a second of
grace): an item without a verdict by then is a grade that says whose fault that is. Retries are the client's
(`AsyncClient.score_until_verdict`).

`score_one` collects the items asked for on one event loop within `window_s` and sends them together: 4,096 calls at
once are 16 requests. Before the first verdict a refusal (wrong key, wrong URL, unknown verifier) is raised, so that a
mistake stops the run at its start; later it counts as an outage.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary

from assay.client import (
    AssayError,
    AsyncClient,
    Client,
    ConfigurationError,
)
from assay.trainer_adapter.grades import Grade, Tally
from assay.trainer_adapter.sessions import Target

log = logging.getLogger("assay.trainer_adapter")
Prepared = Mapping[str, Any] | Grade
"""An item, or the grade of a row that needs no sending."""
DEADLINE_S = 120.0
REQUEST_ITEMS = 256
WINDOW_S = 0.002
HOPELESS_ROWS = 64
"""So many rows at fault and never a verdict: the fault is the template's, and the run stops at its start."""


class Scorer:
    """Sends items and brings back grades. Picklable with a `Target`; safe on any loop and thread."""

    def __init__(
        self,
        target: Target | Client,
        *,
        deadline_s: float = DEADLINE_S,
        request_items: int = REQUEST_ITEMS,
        window_s: float = WINDOW_S,
    ) -> None:
        """`deadline_s`: wall seconds for a whole call, retries and outages included."""
        if deadline_s <= 0 or request_items < 1 or window_s < 0:
            raise ConfigurationError("deadline_s > 0, request_items >= 1, window_s >= 0")
        self._target, self._deadline_s, self._request_items = target, deadline_s, request_items
        self._window_s = window_s
        self._new_here()

    def _new_here(self) -> None:
        self._worked = False
        self._hopeless = 0
        self._lock = threading.Lock()
        self._gathering: WeakKeyDictionary[asyncio.AbstractEventLoop, _Gathering] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        names = ("_target", "_deadline_s", "_request_items", "_window_s")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._new_here()

    def score(self, items: Sequence[Prepared]) -> list[Grade]:
        """A grade per item, in order. Raises `ConfigurationError`, `RequestRefused` before the first verdict."""
        future = self._start(items)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, items: Sequence[Prepared]) -> Future[list[Grade]]:
        """The same, waited for by the caller; cancelling the future cancels the requests, down to the sandbox."""
        return self._start(items)

    async def score_async(self, items: Sequence[Prepared]) -> list[Grade]:
        """The same without blocking the loop; a caller that is cancelled cancels the requests."""
        return await asyncio.wrap_future(self._start(items))

    async def score_one(self, item: Prepared) -> Grade:
        """The grade of one item, asked for together with what else this loop asks for now."""
        if isinstance(item, Grade):
            self._fail_if_no_row_is_gradable([item])
            return item
        loop = asyncio.get_running_loop()
        with self._lock:
            gathering = self._gathering.get(loop) or self._gathering.setdefault(loop, _Gathering(self._window_s))
        return await gathering.add(item, self.score_async, loop)

    def _start(self, items: Sequence[Prepared]) -> Future[list[Grade]]:
        client = self._target if isinstance(self._target, Client) else self._target.client()
        until = time.monotonic() + self._deadline_s
        return client.submit(lambda asynchronous: self._grade(asynchronous, items, until))

    async def _grade(self, client: AsyncClient, items: Sequence[Prepared], until: float) -> list[Grade]:
        unsent = [item for item in items if not isinstance(item, Grade)]
        answers = iter(await self._ask(client, unsent, until) if unsent else [])
        grades = [item if isinstance(item, Grade) else next(answers) for item in items]
        _log_ungraded(grades)
        self._fail_if_no_row_is_gradable(grades)
        return grades

    async def _ask(self, client: AsyncClient, items: Sequence[Any], until: float) -> list[Grade]:
        try:
            results = await client.score_until_verdict(
                items, deadline_s=max(until - time.monotonic(), 0.001), chunk_items=self._request_items
            )
        except ConfigurationError:
            raise
        except AssayError as error:  # a refusal, or an answer that breaks the contract
            if not self._worked:
                raise
            return [Grade.of_outage(str(error))] * len(items)
        grades = [Grade.of(result) for result in results]
        self._check(grades)
        return grades

    def _check(self, grades: Sequence[Grade]) -> None:
        self._worked = self._worked or any(grade.fault is None for grade in grades)
        unknown = [grade for grade in grades if grade.fault == "row" and grade.field == "verifier"]
        if unknown and not self._worked:
            raise ConfigurationError(f"the engine does not take the verifier: {unknown[0].detail}")

    def _fail_if_no_row_is_gradable(self, grades: Sequence[Grade]) -> None:
        """Raise ConfigurationError where no row could ever be judged, and there were many."""
        self._worked = self._worked or any(grade.fault is None for grade in grades)
        if self._worked:
            return
        faulty = [grade for grade in grades if grade.fault == "row"]
        self._hopeless += len(faulty)
        if self._hopeless >= HOPELESS_ROWS and faulty:
            raise ConfigurationError(f"none of the first {self._hopeless} rows can be judged: {faulty[0].detail[:300]}")


class _Gathering:
    """What one event loop asks for, until the window closes."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._waiting: list[tuple[Any, asyncio.Future[Grade]]] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def add(self, item: Any, send: Any, loop: asyncio.AbstractEventLoop) -> Grade:
        future: asyncio.Future[Grade] = loop.create_future()
        self._waiting.append((item, future))
        if len(self._waiting) == 1:
            loop.call_later(self._window_s, self._flush, send, loop)
        return await future

    def _flush(self, send: Any, loop: asyncio.AbstractEventLoop) -> None:
        waiting, self._waiting = self._waiting, []
        wanted = [(item, future) for item, future in waiting if not future.done()]
        task = loop.create_task(_deliver(wanted, send))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


async def _deliver(wanted: list[tuple[Any, asyncio.Future[Grade]]], send: Any) -> None:
    try:
        grades = await send([item for item, _ in wanted])
    except BaseException as error:
        for _, future in wanted:
            if not future.done():
                future.cancel() if isinstance(error, asyncio.CancelledError) else future.set_exception(error)
        if not isinstance(error, Exception):
            raise
        return
    for (_, future), grade in zip(wanted, grades, strict=True):
        if not future.done():
            future.set_result(grade)


def _log_ungraded(grades: Sequence[Grade]) -> None:
    tally = Tally.of(grades)
    if tally.reasons:
        why = ", ".join(f"{code} {count}" for code, count in tally.reasons.most_common(5))
        detail = next((grade.detail for grade in grades if grade.fault and grade.detail), "")
        log.warning(
            "%d of %d completions have no verdict: %s (%s)", tally.reasons.total(), tally.items, why, detail[:300]
        )
