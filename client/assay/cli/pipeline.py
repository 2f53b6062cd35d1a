"""Rows in, rows and answers out, in order, with a bounded window of requests under way.

A pipe is read in a thread, so that a slow one does not hold up what is in flight; a file is read in
place, for two threads that take turns cost more than the reading.
Bad input ends the run only after every row before it is through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from assay.cli.errors import Unusable
from assay.cli.rows import Row
from assay.cli.summary import Summary
from assay.client import AsyncClient
from assay.client.answers import Answer
from assay.client.chunks import chunks
from assay.client.concurrency import in_order
from assay.client.core import Chunk
from assay.client.deadline import Deadline


@dataclass(frozen=True)
class Scored:
    """A chunk of rows; the answers of those that were sent, by row index."""

    rows: list[Row]
    answers: dict[int, Answer]

    def count(self, summary: Summary) -> None:
        """Add the answers to a summary; rows that were settled before are in it already."""
        for answer in self.answers.values():
            summary.add(answer.fields)


async def score_rows(
    client: AsyncClient,
    rows: Iterable[Row],
    *,
    window: int,
    explain: Collection[str] = (),
    deadline_s: float | None = None,
    defaults: bytes | None = None,
    slow: bool = False,
) -> AsyncIterator[Scored]:
    """Score the rows that are not settled."""
    guarded = Guarded(rows)

    async def score(chunk: list[Row]) -> Scored:
        return await _score(client, chunk, explain, deadline_s, defaults)

    async for scored in in_order(chunks(guarded), score, window=window, read_in_thread=slow):
        yield scored
    if guarded.fault is not None:
        raise guarded.fault


class Guarded:
    """Rows up to the first that cannot be used; the fault is kept for later."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.fault: Unusable | None = None

    def __iter__(self) -> Iterator[Row]:
        try:
            yield from self._rows
        except Unusable as error:
            self.fault = error


async def _score(
    client: AsyncClient,
    rows: list[Row],
    explain: Collection[str],
    deadline_s: float | None,
    defaults: bytes | None,
) -> Scored:
    items = [row.item(explain=row.id in explain) for row in rows if row.settled is None]
    if not items:
        return Scored(rows, {})
    answers = await client.core().score(Chunk(items=items, deadline=Deadline(deadline_s), defaults=defaults))
    return Scored(rows, {int(answer.id): answer for answer in answers})


class JsonlSink:
    """Writes one line per row, flushed chunk by chunk: a kill loses only what is in flight."""

    def __init__(self, stream: BinaryIO, *, slim: bool) -> None:
        self._stream = stream
        self._slim = slim

    def write(self, scored: Scored) -> None:
        """Write the rows of one chunk."""
        lines = [
            row.settled if row.settled is not None else row.output(scored.answers[row.index], slim=self._slim)
            for row in scored.rows
        ]
        self._stream.write(("\n".join(lines) + "\n").encode())
        self._stream.flush()
