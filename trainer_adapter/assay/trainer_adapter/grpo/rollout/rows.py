"""Rows to train on: JSON lines, Parquet, a folder that `datasets` saved, or the name of a data set of the hub.

Every row is an object of plain JSON values, whatever the file's format, so that templates see the same in each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.cli.errors import Unusable
from assay.cli.files import is_parquet
from assay.cli.parquet import arrow
from assay.client import ConfigurationError

Row = dict[str, Any]
BATCH_ROWS = 1024
JSON_LINES = (".jsonl", ".json", ".ndjson")


def read_rows(path: str | Path, *, split: str = "train", subset: str | None = None) -> list[Row]:
    """Return the rows of a file, folder or data set. Raises ConfigurationError.

    `split`: of a data set that has several. `subset`: configuration of a data set of the hub.
    """
    name = str(path)
    if Path(path).is_dir():
        return _plain_rows(_saved(name, split), name)
    if is_parquet(name):
        return _plain_rows(_parquet(name), name)
    if _is_hub_name(name):
        return _plain_rows(_hub(name, split, subset), name)
    return _json_lines(name)


def _is_hub_name(name: str) -> bool:
    """Return whether `name` is `owner/name`, and no file."""
    owner, slash, rest = name.partition("/")
    file = Path(name).exists() or name.endswith(JSON_LINES) or "/" in rest
    return bool(slash) and owner not in ("", ".", "..", "~") and not file


def _json_lines(name: str) -> list[Row]:
    rows, number = [], 0
    try:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("not an object")
                    rows.append(row)
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{name}: line {number} is not a JSON object") from None
    return rows


def _parquet(name: str) -> Iterator[Row]:
    try:
        pyarrow = arrow()
    except Unusable:
        raise ConfigurationError(f"{name}: Parquet requires pyarrow: pip install 'assay[train]'") from None
    try:
        with pyarrow.parquet.ParquetFile(name) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                yield from batch.to_pylist()
    except FileNotFoundError:
        raise ConfigurationError(f"{name}: No such file or directory") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise ConfigurationError(f"{name}: not a readable Parquet file ({type(error).__name__})") from None


def _datasets(name: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise ConfigurationError(f"{name}: pip install datasets") from None
    return datasets


def _saved(name: str, split: str) -> Iterable[Row]:
    """Return the rows of a folder of `save_to_disk`."""
    library = _datasets(name)
    return _split(lambda: library.load_from_disk(name), name, split, library)


def _hub(name: str, split: str, subset: str | None) -> Iterable[Row]:
    """Return the rows of a data set of the hub, or of its cache on this machine."""
    library = _datasets(name)
    return _split(lambda: library.load_dataset(name, subset), name, split, library)


def _split(load: Callable[[], Any], name: str, split: str, library: Any) -> Iterable[Row]:
    try:
        found = load()
    except Exception as error:  # the library raises errors of many kinds, also of what it downloads with
        said = " ".join(str(error).split())[:300]
        raise ConfigurationError(f"{name}: {said or type(error).__name__}") from None
    if isinstance(found, Mapping):
        if split not in found:
            raise ConfigurationError(
                f"{name}: no split {split!r}; there are {', '.join(found)} (data.split, eval_split)"
            )
        found = found[split]
    media = [column for column, kind in found.features.items() if hasattr(kind, "decode_example")]
    rows: Iterable[Row] = found.remove_columns(media).with_format(None)
    return rows


def _plain_rows(rows: Iterable[Row], name: str) -> list[Row]:
    plain = []
    for number, row in enumerate(rows, 1):
        try:
            plain.append({key: _plain(value) for key, value in row.items()})
        except ValueError as error:
            raise ConfigurationError(f"{name}: row {number}: {error}") from None
    return plain


def _plain(value: Any) -> Any:
    """Return a value as JSON has it. Members of structs that are null are absent, as no row had them."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("a column of bytes that are not UTF-8") from None
    return str(value)
