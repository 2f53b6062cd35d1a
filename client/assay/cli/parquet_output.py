"""Write scored rows as one Parquet file, converted from the JSONL lines of a finished run.

While a run is in progress its lines are in `OUT.partial.jsonl`, so a Parquet run is resumed like any other. Rows of a
Parquet input keep their columns and types. Rows of a JSONL input become one column per item field (JSON text for
fields that are not strings) and `extra` for their own columns. `result` is a struct of the fields that people filter
by, and `json`, the whole result. The metadata hold a hash of the input, which `restore` checks. Requires the extra
`[batch]`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO

from assay.cli.errors import Unusable
from assay.cli.parquet import arrow
from assay.cli.resume import result_text
from assay.cli.rows import SLIM, Row
from assay.contract.item import ITEM_FIELDS

PART_ROWS = 8192
"""Rows per row group."""
INPUT_HASH = b"assay.input"
_PLAIN = ("reward", "score", "outcome", "reason", "flags", "verifier", "item_key")
_TEXT = frozenset({"id", "verifier", "prefill", "group", "run"})


def partial(output: str) -> str:
    """Return the name of the file with the lines of an unfinished run."""
    return output + ".partial.jsonl"


def convert(rows: Iterable[Row], output: str, *, slim: bool) -> None:
    """Write `output` from the partial file, completely or not at all, and remove the partial file.

    Raises `Unusable` for an input without rows, and for lines that do not belong to `rows`.
    """
    pa = arrow()
    digest = hashlib.sha256()
    beside = Path(f"{output}.tmp")
    writer = None
    with open(partial(output), "rb") as lines:
        source = iter(rows)
        while part := list(islice(source, PART_ROWS)):
            _update(digest, part)
            table = _table(pa, part, slim=slim).append_column("result", _results(pa, _texts(part, lines, slim=slim)))
            writer = writer or pa.parquet.ParquetWriter(beside, table.schema)
            writer.write_table(table.cast(writer.schema), row_group_size=len(part))
    if writer is None:
        raise Unusable("the input has no rows", source=output)
    writer.add_key_value_metadata({INPUT_HASH: digest.hexdigest()})
    writer.close()
    os.replace(beside, output)
    os.remove(partial(output))


def restore(rows: Iterable[Row], output: str, *, slim: bool) -> None:
    """Recreate the partial file from a finished `output`, if that exists and the partial file does not.

    Raises `Unusable` if `output` is not the result of these rows.
    """
    if os.path.exists(partial(output)) or not os.path.exists(output):
        return
    pa = arrow()
    digest, beside = hashlib.sha256(), partial(output) + ".tmp"
    with pa.parquet.ParquetFile(output) as file, open(beside, "wb") as lines:
        metadata = file.schema_arrow.metadata or file.metadata.metadata or {}
        expected = (file.metadata.metadata or metadata).get(INPUT_HASH, b"").decode()
        source = iter(rows)
        for batch in file.iter_batches(batch_size=PART_ROWS, columns=["result"]):
            texts = batch.column("result").field("json").to_pylist()
            part = list(islice(source, len(texts)))
            _update(digest, part)
            for row, text in zip(part, texts, strict=False):
                lines.write((row.output_text(text, slim=slim) + "\n").encode())
        if digest.hexdigest() != expected or next(source, None) is not None:
            os.remove(beside)
            raise Unusable("contains results of another input; start again without --resume", source=output)
    os.replace(beside, partial(output))


def _update(digest: Any, rows: Iterable[Row]) -> None:
    for row in rows:
        digest.update(f"{len(row.text)}:".encode() + row.text.encode())


def _texts(rows: list[Row], lines: BinaryIO, *, slim: bool) -> Iterator[str]:
    for row in rows:
        text = result_text(lines.readline(), row, slim=slim)
        if text is None:
            raise Unusable(f"line {row.line} of the input has no result; use --resume")
        yield text


def _table(pa: Any, rows: list[Row], *, slim: bool) -> Any:
    def kept(name: str) -> bool:
        return name != "result" and not (slim and name in SLIM)

    if all(row.origin is not None for row in rows):
        table = pa.Table.from_batches(list(_slices(rows)))
        return table.select([name for name in table.column_names if kept(name)])
    columns = {name: [_cell(row, name) for row in rows] for name in ITEM_FIELDS if kept(name)}
    columns["extra"] = [_extra(row) for row in rows]
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def _slices(rows: list[Row]) -> Iterator[Any]:
    """Yield the records of `rows` as slices of their Arrow batches."""
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


def _results(pa: Any, texts: Iterable[str]) -> Any:
    text, number, flag = pa.string(), pa.float64(), pa.bool_()
    types = {"reward": number, "score": number, "flags": pa.list_(text), "retryable": flag}
    names = (*_PLAIN, "error", "retryable", "json")
    return pa.array(map(_record, texts), pa.struct([(name, types.get(name, text)) for name in names]))


def _record(text: str) -> dict[str, Any]:
    fields = json.loads(text)
    error = fields.get("error") or {}
    flat = {"error": error.get("code"), "retryable": bool(error.get("retryable")), "json": text}
    return {name: fields.get(name) for name in _PLAIN} | flat
