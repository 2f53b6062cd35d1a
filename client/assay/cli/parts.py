"""Scored rows as Parquet: part files while running, one file at the end, a row group per part.

Rows of a Parquet input keep their columns and types, rows of a JSONL input become one column per item
field (what is no string as JSON text) and `extra` for their own columns. `result` is a struct of what
people filter by, and `json`, the whole result. Each part carries a hash of its input rows, which a
resumed run checks. Needs the extra `[batch]`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from assay.cli.errors import Unusable
from assay.cli.parquet import arrow
from assay.cli.pipeline import Scored
from assay.cli.resume import check_version
from assay.cli.rows import SLIM, Row
from assay.cli.summary import Summary
from assay.contract.item import ITEM_FIELDS

PART_ROWS = 8192
HASH, COUNT = b"assay.input", b"assay.parts"
_PLAIN = ("reward", "score", "outcome", "reason", "flags", "verifier", "item_key")
_TEXT = ("id", "verifier", "prefill", "group", "run")


class Parts:
    """The part files of one output."""

    def __init__(self, output: str, *, slim: bool) -> None:
        self._pa = arrow()
        self._pq = self._pa.parquet
        self._output = Path(output)
        self._folder = Path(output + ".parts")
        self._slim = slim
        self._result = _result_type(self._pa)

    def clear(self) -> None:
        """Forget an earlier run."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def files(self) -> list[Path]:
        """The parts in order."""
        return sorted(self._folder.glob("[0-9]*.parquet"))

    def check(self, rows: Iterable[Row], offered: Mapping[str, int]) -> int:
        """Rows that the parts hold. Raises `Unusable` unless they are the input's and of these versions."""
        self._explode()
        source = iter(rows)
        kept = 0
        for path in self.files():
            file = self._pq.read_table(path, columns=["result"])
            mine = list(islice(source, len(file)))
            if file.schema.metadata.get(HASH, b"").decode() != _hash(mine) or len(mine) != len(file):
                raise Unusable("holds results of another input; start afresh", source=str(path))
            for verifier in set(file["result"].combine_chunks().field("verifier").to_pylist()):
                check_version(verifier, offered)
            kept += len(file)
        return kept

    def retryable(self) -> set[int]:
        """Indexes of the rows to be scored again."""
        found: set[int] = set()
        start = 0
        for path in self.files():
            flags = self._pq.read_table(path, columns=["result"])["result"].combine_chunks().field("retryable")
            found.update(start + i for i, flag in enumerate(flags.to_pylist()) if flag)
            start += len(flags)
        return found

    def settled(self, rows: Iterable[Row], again: set[int], summary: Summary) -> Iterator[Row]:
        """The kept rows; `settled` is the result of those that stay. Parts without a retry are left out."""
        source = iter(rows)
        start = 0
        for path in self.files():
            texts = self._pq.read_table(path, columns=["result"])["result"].combine_chunks().field("json")
            due = any(start + i in again for i in range(len(texts)))
            for row, text in zip(islice(source, len(texts)), texts.to_pylist(), strict=True):
                if row.index not in again:
                    summary.add(json.loads(text))
                    row.settled = text
                if due:
                    yield row
            start += len(texts)

    def appender(self, start: int) -> PartSink:
        """A sink that writes new parts from row `start` on."""
        return PartSink(self, start)

    def rewriter(self) -> Rewriter:
        """A sink that replaces the parts whose rows it is given."""
        return Rewriter(self, self.files())

    def write(self, path: Path, rows: list[Row], results: list[str]) -> None:
        """Write one part, whole or not at all."""
        table = self._table(rows).append_column("result", self._results(results))
        table = table.replace_schema_metadata({HASH: _hash(rows)})
        beside = path.with_suffix(".tmp")
        self._pq.write_table(table, beside, row_group_size=max(len(rows), 1))
        os.replace(beside, path)

    def path(self, start: int) -> Path:
        """The file of the part that starts at row `start`."""
        return self._folder / f"{start:012d}.parquet"

    def join(self) -> None:
        """Put the parts together in the output file, and remove them."""
        files = self.files()
        if not files:
            raise Unusable("the input holds no rows", source=str(self._output))
        schema = self._pa.unify_schemas([self._pq.read_schema(path).remove_metadata() for path in files])
        hashes = [self._pq.read_schema(path).metadata[HASH].decode() for path in files]
        beside = Path(f"{self._output}.tmp")
        with self._pq.ParquetWriter(beside, schema.with_metadata({COUNT: json.dumps(hashes)})) as writer:
            for path in files:
                table = self._pq.read_table(path).cast(schema)
                writer.write_table(table, row_group_size=max(len(table), 1))
        os.replace(beside, self._output)
        shutil.rmtree(self._folder)

    def _explode(self) -> None:
        """A finished output is parts again, a row group each."""
        if self._folder.exists() or not self._output.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            return
        with self._pq.ParquetFile(self._output) as file:
            hashes = json.loads((file.schema_arrow.metadata or {}).get(COUNT, b"[]"))
            if len(hashes) != file.num_row_groups:
                raise Unusable("was not written by `assay score`", source=str(self._output))
            self._folder.mkdir(parents=True)
            start = 0
            for index, digest in enumerate(hashes):
                table = file.read_row_group(index).replace_schema_metadata({HASH: digest})
                self._pq.write_table(table, self.path(start), row_group_size=max(len(table), 1))
                start += len(table)

    def _table(self, rows: list[Row]) -> Any:
        if all(row.origin is not None for row in rows):
            table = self._pa.Table.from_batches(list(_slices(rows)))
            return table.select([name for name in table.column_names if name != "result" and not self._dropped(name)])
        names = [name for name in ITEM_FIELDS if not self._dropped(name)]
        columns = {name: [_cell(row, name) for row in rows] for name in names}
        columns["extra"] = [_extra(row) for row in rows]
        return self._pa.table({name: self._pa.array(cells, self._pa.string()) for name, cells in columns.items()})

    def _dropped(self, name: str) -> bool:
        return self._slim and name in SLIM

    def _results(self, texts: list[str]) -> Any:
        return self._pa.array([_result_record(text) for text in texts], self._result)


class PartSink:
    """Collects chunks, and writes a part whenever there are enough rows."""

    def __init__(self, parts: Parts, start: int) -> None:
        self._parts = parts
        self._start = start
        self._rows: list[Row] = []
        self._results: list[str] = []

    def write(self, scored: Scored) -> None:
        """Take the rows of one chunk."""
        self._rows += scored.rows
        self._results += _texts(scored)
        if len(self._rows) >= PART_ROWS:
            self.close()

    def close(self) -> None:
        """Write what is there."""
        if self._rows:
            self._parts.write(self._parts.path(self._start), self._rows, self._results)
            self._start += len(self._rows)
            self._rows, self._results = [], []

    def abandon(self) -> None:
        """Keep the rows that are there: a part may be short."""
        self.close()


class Rewriter:
    """Gathers the rows of an existing part, and replaces it when it is complete."""

    def __init__(self, parts: Parts, files: list[Path]) -> None:
        self._parts = parts
        self._starts = [int(path.stem) for path in files]
        self._held: dict[int, tuple[Row, str]] = {}

    def write(self, scored: Scored) -> None:
        """Take the rows of one chunk."""
        for row, text in zip(scored.rows, _texts(scored), strict=True):
            self._held[row.index] = (row, text)
            if row.index + 1 in self._starts:
                self._flush()

    def close(self) -> None:
        """Replace the last part."""
        self._flush()

    def abandon(self) -> None:
        """A part that is not complete stays as it was."""
        self._held = {}

    def _flush(self) -> None:
        if self._held:
            rows, texts = zip(*self._held.values(), strict=True)
            self._parts.write(self._parts.path(rows[0].index), list(rows), list(texts))
            self._held = {}


def _texts(scored: Scored) -> list[str]:
    return [row.settled if row.settled is not None else row.result(scored.answers[row.index]) for row in scored.rows]


def _hash(rows: list[Row]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(f"{len(row.text)}:".encode() + row.text.encode())
    return digest.hexdigest()


def _slices(rows: list[Row]) -> Iterator[Any]:
    """The records of `rows`, neighbours in one batch together."""
    for _, run in groupby(rows, key=lambda row: id(row.origin[0])):
        neighbours = list(run)
        batch, first = neighbours[0].origin
        yield batch.slice(first, len(neighbours))


def _cell(row: Row, name: str) -> str | None:
    raw = row.raw(name)
    if raw is None or raw == "null":
        return None
    plain = name in _TEXT or (name in ("completion", "prompt") and raw.startswith('"'))
    return str(json.loads(raw)) if plain else raw


def _extra(row: Row) -> str | None:
    names = [name for name in row.spans if name not in ITEM_FIELDS and name != "result"]
    return "{" + ",".join(f"{json.dumps(name)}:{row.raw(name)}" for name in names) + "}" if names else None


def _result_type(pa: Any) -> Any:
    text, number, flag = pa.string(), pa.float64(), pa.bool_()
    return pa.struct(
        [("reward", number), ("score", number), ("outcome", text), ("reason", text), ("error", text),
         ("retryable", flag), ("flags", pa.list_(text)), ("verifier", text), ("item_key", text), ("json", text)]
    )  # fmt: skip


def _result_record(text: str) -> dict[str, Any]:
    fields = json.loads(text)
    error = fields.get("error") or {}
    plain = {
        name: fields.get(name) for name in ("reward", "score", "outcome", "reason", "flags", "verifier", "item_key")
    }
    return {**plain, "error": error.get("code"), "retryable": bool(error.get("retryable")), "json": text}
