"""Lines to JSONL, or to Parquet in batches, by the file's name."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.client.cli._files import is_parquet
from assay.client.cli._parquet import arrow

_BATCH = 1000


class Writer:
    """Writes one file; Parquet's columns are those of the first batch (a later line of another shape is an error)."""

    def __init__(self, path: Path) -> None:
        self._path, self._lines = path, list[dict[str, Any]]()
        self._parquet: Any = None
        self._stream = None if is_parquet(path.name) else path.open("w", encoding="utf-8")
        self.count = 0

    def __enter__(self) -> Writer:
        return self

    def add(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self.count += 1
        if self._stream is not None:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            return
        self._lines.append(line)
        if len(self._lines) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        pyarrow = arrow()
        if not self._lines and self._parquet is not None:
            return
        schema = None if self._parquet is None else self._parquet.schema
        table = pyarrow.Table.from_pylist(self._lines, schema=schema)
        if self._parquet is None:
            self._parquet = pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._parquet.write_table(table)
        self._lines = []

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()
        elif kind is None:
            self._flush()
        if self._parquet is not None:
            self._parquet.close()
