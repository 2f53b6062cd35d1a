"""Read rows from a Parquet file in batches.

A string in `reference`, or in another field that is not text, is JSON and is kept byte-exact, which allows large
integers and references of different shapes. In structs, null members count as absent. Messages are lists of structs: a
string in `completion` is always the text itself. Requires the extra `[batch]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.cli.errors import Unusable
from assay.cli.rows import Row, parse_row
from assay.contract.item import ITEM_FIELDS

BATCH_ROWS = 1024
TEXT = frozenset({"id", "verifier", "completion", "prompt", "prefill", "group", "run"})
JSON_TEXT = frozenset(ITEM_FIELDS) - TEXT
"""Columns whose strings are JSON."""


def arrow() -> Any:
    """Return the module pyarrow. Raises `Unusable` if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Unusable("Parquet requires pyarrow: pip install 'assay[batch]'") from None
    return pyarrow


def parquet_rows(name: str) -> Iterator[Row]:
    """Yield the rows of a file, lazily. Raises `Unusable` naming the row."""
    pyarrow = arrow()
    index = 0
    try:
        with pyarrow.parquet.ParquetFile(name) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                for position, record in enumerate(batch.to_pylist()):
                    row = _row(record, index=index, source=name)
                    row.origin = (batch, position)
                    yield row
                    index += 1
    except (OSError, pyarrow.ArrowException) as error:
        raise Unusable(f"not a readable Parquet file ({type(error).__name__})", source=name) from None


def _row(record: dict[str, Any], *, index: int, source: str) -> Row:
    members = [
        f"{json.dumps(key)}:{_json(key, value, index, source)}" for key, value in record.items() if value is not None
    ]
    return parse_row(("{" + ",".join(members) + "}").encode(), index=index, line=index + 1, source=source)


def _json(key: str, value: Any, index: int, source: str) -> str:
    if key in JSON_TEXT and isinstance(value, str):
        return value
    try:
        return json.dumps(_present(value), allow_nan=False)
    except (TypeError, ValueError):
        raise Unusable(f"column {key!r} has no JSON form", line=index + 1, source=source) from None


def _present(value: Any) -> Any:
    """Return `value` without null members of structs, and with dates and similar types as text."""
    if isinstance(value, dict):
        return {key: _present(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_present(member) for member in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
