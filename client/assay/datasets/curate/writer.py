"""Lines to JSONL, or to Parquet, by the file's name.

A Parquet file has one schema, and lines differ (an optional column, a tool call in one message of a thousand): lines
wait in a temporary file until all are there, the schema is that of all of them, and values without a type in common are
an error. A lone surrogate, which UTF-8 has not, is written as U+FFFD in Parquet and as its escape in JSONL.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.cli.errors import Unusable
from assay.cli.files import is_parquet
from assay.cli.parquet import arrow

_BATCH = 1000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Writer:
    """Writes one file."""

    def __init__(self, path: Path) -> None:
        self._path, self._columns = path, dict[str, None]()
        parquet = is_parquet(path.name)
        self._stream: Any = tempfile.TemporaryFile("w+") if parquet else path.open("w")  # noqa: SIM115
        self._parquet = parquet

    def __enter__(self) -> Writer:
        return self

    def add(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._columns.update(dict.fromkeys(line))
        self._stream.write(json.dumps(line) + "\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stream:
            if self._parquet and kind is None:
                self._write_parquet()

    def _write_parquet(self) -> None:
        """Raises `Unusable` naming the column that has no type."""
        pyarrow = arrow()
        try:
            schemas = [pyarrow.Table.from_pylist(batch).schema for batch in self._batches()]
            schema = pyarrow.unify_schemas(schemas, promote_options="permissive") if schemas else pyarrow.schema([])
            with pyarrow.parquet.ParquetWriter(self._path, schema) as writer:
                for batch in self._batches():
                    writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
        except pyarrow.ArrowException as fault:
            raise Unusable(
                f"lines do not fit one Parquet schema ({fault}); JSONL takes them", source=str(self._path)
            ) from None

    def _batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all lines again, each with every column."""
        self._stream.seek(0)
        batch: list[dict[str, Any]] = []
        for text in self._stream:
            line = json.loads(text)
            batch.append({column: _clean(line.get(column)) for column in self._columns})
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


def _clean(value: Any) -> Any:
    """Return the value without lone surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return {key: _clean(item) for key, item in value.items()} if isinstance(value, dict) else value
