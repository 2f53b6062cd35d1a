"""Arrays of numpy and tables of pandas that cross a border by content, as plain lists beside their types.

Encoding takes a subclass of a table for what it holds; decoding builds from bounded plain parts, with dtypes from an
allow-list: numbers, text, times, and objects whose members cross themselves. Neither package is imported by encoding.
Not covered (they stay opaque): categories, time zones, several levels of an index, structured and masked arrays.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

Encode = Callable[[Any], Any]
_KINDS = "biufcUSOmM"
_DTYPE = re.compile(r"[<>|=]?[biufcUSOmM]\d{0,4}(\[(ns|us|ms|s|m|h|D)\])?")
_FRAME_DTYPES = re.compile(
    r"object|str|string|bool(ean)?|[Uu]?[Ii]nt\d{1,2}|[Ff]loat\d{2}|(datetime|timedelta)64\[(ns|us|ms|s)\]"
)


def encode(value: Any, encode_part: Encode) -> Any:
    """The form of an array or table, or None."""
    parts = _array_parts(value) or _table_parts(value)
    return None if parts is None else {"D": [parts[0], encode_part(parts[1])]}


def is_array(value: Any) -> bool:
    """Whether this is exactly an array of numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def _array_parts(value: Any) -> tuple[str, Any] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not (is_array(value) or isinstance(value, numpy.generic)):
        return None
    if value.dtype.kind not in _KINDS or value.dtype.names:
        return None
    plain = value.view("i8") if value.dtype.kind in "mM" else value
    sort = "array" if is_array(value) else "scalar"
    return sort, [value.dtype.str, list(value.shape), plain.ravel().tolist()]


def _table_parts(value: Any) -> tuple[str, Any] | None:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    try:
        if isinstance(value, pandas.DataFrame):
            columns = [_column(value.iloc[:, place]) for place in range(value.shape[1])]
            return "frame", [_index(value.columns, pandas), _index(value.index, pandas), columns]
        if isinstance(value, pandas.Series):
            return "series", [_index(value.index, pandas), _column(value), value.name]
        if isinstance(value, pandas.Index):
            return "index", _index(value, pandas)
        if type(value) is pandas.Timestamp and value.tzinfo is None:
            return "timestamp", value.isoformat()
    except _Unlike:
        return None
    return None


class _Unlike(Exception):
    """A part that does not cross."""


def _column(series: Any) -> list[Any]:
    """[dtype, values]; a missing value is None."""
    name = str(series.dtype)
    if not _FRAME_DTYPES.fullmatch(name):
        raise _Unlike
    missing = series.isna().tolist()
    items = series.astype("int64").tolist() if "64[" in name else series.tolist()
    return [name, [None if gone else item for gone, item in zip(missing, items, strict=True)]]


def _index(index: Any, pandas: Any) -> list[Any]:
    """[range or [dtype, values], name]."""
    if type(index) is pandas.RangeIndex:
        return [range(index.start, index.stop, index.step), index.name]
    if isinstance(index, pandas.MultiIndex):
        raise _Unlike
    return [_column(index.to_series()), index.name]


def checked_dtype(text: Any) -> Any:
    """The numpy dtype of that name. Raises `ValueError` for one that is not on the allow-list."""
    if not _DTYPE.fullmatch(text):
        raise ValueError("not a dtype of an array")
    return importlib.import_module("numpy").dtype(text)


def decode_array(parts: Any) -> Any:
    """An array from [dtype, shape, flat values]. Raises `ValueError`."""
    numpy = importlib.import_module("numpy")
    text, shape, items = parts
    dtype = checked_dtype(text)
    if dtype.kind in "mM":
        return numpy.array(items, dtype="i8").view(dtype).reshape(tuple(shape))
    if dtype.kind != "O":
        return numpy.array(items, dtype=dtype).reshape(tuple(shape))
    flat = numpy.empty(len(items), dtype=object)
    flat[:] = items
    return flat.reshape(tuple(shape))


def decode_frame(parts: Any) -> Any:
    """A DataFrame from [columns, index, [[dtype, values] …]]. Raises `ValueError`."""
    pandas = importlib.import_module("pandas")
    columns, index, content = parts
    rows = _read_index(index, pandas)
    series = [_read_column(column, rows, pandas) for column in content]
    frame = pandas.concat(series, axis=1) if series else pandas.DataFrame(index=rows)
    frame.columns = _read_index(columns, pandas)
    return frame


def decode_series(parts: Any) -> Any:
    """A Series from [index, [dtype, values], name]. Raises `ValueError`."""
    pandas = importlib.import_module("pandas")
    index, content, name = parts
    return _read_column(content, _read_index(index, pandas), pandas).rename(name)


def decode_index(parts: Any) -> Any:
    """An Index from [range or [dtype, values], name]. Raises `ValueError`."""
    return _read_index(parts, importlib.import_module("pandas"))


def decode_timestamp(text: Any) -> Any:
    """A Timestamp from its ISO text."""
    return importlib.import_module("pandas").Timestamp(str(text))


def _read_column(column: Any, index: Any, pandas: Any) -> Any:
    dtype, items = column
    if not _FRAME_DTYPES.fullmatch(dtype):
        raise ValueError("not a dtype of a table")
    if "64[" not in dtype:
        return pandas.Series(items, index=index, dtype=dtype)
    numpy = importlib.import_module("numpy")
    gone = numpy.iinfo("i8").min  # NaT
    raw = numpy.array([gone if item is None else item for item in items], dtype="i8")
    return pandas.Series(raw.view(dtype), index=index)


def _read_index(parts: Any, pandas: Any) -> Any:
    content, name = parts
    if isinstance(content, range):
        return pandas.RangeIndex(content, name=name)
    return pandas.Index(_read_column(content, None, pandas), name=name)


DECODERS: dict[str, Callable[[Any], Any]] = {
    "array": decode_array, "scalar": lambda parts: decode_array(parts)[()], "frame": decode_frame,
    "series": decode_series, "index": decode_index, "timestamp": decode_timestamp,
}  # fmt: skip
