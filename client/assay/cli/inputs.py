"""The rows of a command's input: a JSONL file, a Parquet file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from assay.cli.files import STREAM, is_parquet, open_file
from assay.cli.parquet import parquet_rows
from assay.cli.rows import Row, read_rows


@contextmanager
def open_rows(name: str) -> Iterator[Iterator[Row]]:
    """Open a file, or standard input, and yield its rows lazily. Raises `Unusable`."""
    if is_parquet(name):
        yield parquet_rows(name)
    elif name == STREAM:
        yield read_rows(sys.stdin.buffer, source="<stdin>")
    else:
        with open_file(name) as stream:
            yield read_rows(stream, source=name)
