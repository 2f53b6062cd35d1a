"""Where rows come from and where they go: JSONL files, standard streams, Parquet files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.cli.errors import Unusable
from assay.cli.pipeline import Scored
from assay.cli.rows import Row, read_rows
from assay.cli.summary import Summary

STREAM = "-"
"""Standard input, or standard output."""


def is_parquet(name: str) -> bool:
    """Whether a file's name says Parquet."""
    return name.endswith((".parquet", ".pq"))


@contextmanager
def open_rows(name: str) -> Iterator[Iterator[Row]]:
    """The rows of a file, or of standard input. Raises `Unusable`."""
    if is_parquet(name):
        from assay.cli.parquet import parquet_rows

        yield parquet_rows(name)
    elif name == STREAM:
        yield read_rows(sys.stdin.buffer, source="<stdin>")
    else:
        with _open(name, "rb") as stream:
            yield read_rows(stream, source=name)


def total_bytes(name: str) -> int | None:
    """Size of the input, where it can be known and its rows add up to it."""
    path = Path(name)
    return path.stat().st_size if path.is_file() and not is_parquet(name) else None


class JsonlSink:
    """One line per row, written and flushed chunk by chunk: a kill loses only what is in flight."""

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


@contextmanager
def open_output(name: str, *, mode: str = "wb") -> Iterator[BinaryIO]:
    """A file to write, or standard output. Raises `Unusable`."""
    if name == STREAM:
        yield sys.stdout.buffer
    else:
        with _open(name, mode) as stream:
            yield stream


def _open(name: str, mode: str) -> BinaryIO:
    try:
        return open(name, mode, buffering=1 << 20)  # type: ignore[return-value]
    except OSError as error:
        raise Unusable(f"{error.strerror or error}", source=name) from None


def count(summary: Summary, scored: Scored) -> None:
    """Add a chunk's answers to the table; settled rows are in it already."""
    for answer in scored.answers.values():
        summary.add(answer.fields)
