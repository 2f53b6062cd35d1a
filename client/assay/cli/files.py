"""Files that commands read and write, standard streams among them. Imports no client."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.cli.errors import Unusable

STREAM = "-"
"""Standard input, or standard output."""


def is_parquet(name: str) -> bool:
    """Return whether a file's name says Parquet."""
    return name.endswith((".parquet", ".pq"))


def total_bytes(name: str) -> int | None:
    """Return the size of the input in bytes, where it can be known and its rows add up to it."""
    path = Path(name)
    return path.stat().st_size if path.is_file() and not is_parquet(name) else None


@contextmanager
def open_output(name: str, *, mode: str = "wb") -> Iterator[BinaryIO]:
    """Open a file to write, or standard output. Raises `Unusable`."""
    if name == STREAM:
        yield sys.stdout.buffer
    else:
        with open_file(name, mode) as stream:
            yield stream


def open_file(name: str, mode: str = "rb") -> BinaryIO:
    """Open a file in binary mode. Raises `Unusable`."""
    try:
        return open(name, mode, buffering=1 << 20)  # type: ignore[return-value]
    except OSError as error:
        raise Unusable(f"{error.strerror or error}", source=name) from None
