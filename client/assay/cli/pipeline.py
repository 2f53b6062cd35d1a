"""Score rows in order, with a bounded number of requests in flight.

A pipe is read in a thread, so that a slow writer does not delay requests in flight. A file is read directly, because
switching between two threads costs more than the reading. An invalid row ends the run only after every row before it
is finished.
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
class ScoredChunk:
    """A chunk of rows, with the answers of those that were sent, by row index."""

    rows: list[Row]
    answers: dict[int, Answer]

    def count(self, summary: Summary) -> None:
        """Add the answers to a summary. Rows that an earlier run scored are already in it."""
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
) -> AsyncIterator[ScoredChunk]:
    """Score the rows without a finished line, and yield all rows in chunks, in order."""
    guarded = Guarded(rows)

    async def score(chunk: list[Row]) -> ScoredChunk:
        return await _score(client, chunk, explain, deadline_s, defaults)

    async for scored in in_order(chunks(guarded), score, window=window, read_in_thread=slow):
        yield scored
    if guarded.fault is not None:
        raise guarded.fault


class Guarded:
    """Iterates over rows up to the first invalid one and keeps its error."""

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
) -> ScoredChunk:
    items = [row.item(explain=row.id in explain) for row in rows if row.done_line is None]
    if not items:
        return ScoredChunk(rows, {})
    answers = await client.core().score(Chunk(items=items, deadline=Deadline(deadline_s), defaults=defaults))
    return ScoredChunk(rows, {int(answer.id): answer for answer in answers})


class JsonlSink:
    """Write one line per row, flushed after each chunk, so that a kill loses only what is in flight."""

    def __init__(self, stream: BinaryIO, *, slim: bool) -> None:
        self._stream = stream
        self._slim = slim

    def write(self, scored: ScoredChunk) -> None:
        """Write the rows of one chunk."""
        lines = [
            row.done_line if row.done_line is not None else row.output(scored.answers[row.index], slim=self._slim)
            for row in scored.rows
        ]
        self._stream.write(("\n".join(lines) + "\n").encode())
        self._stream.flush()
