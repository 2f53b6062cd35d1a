"""Kinds of containers of numpy and pandas: arrays by buffer, with views of one buffer; tables by content.

An array that is a view crosses as its base and a place in it, so that a change through either is seen in both.
Neither package is imported here unless a value of it crosses.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from assay.sandbox.guest.relay.containers import Decode, Encode, Kind
from assay.sandbox.guest.values import stdtypes, tables

_BY_CONTENT = "O"
"""Arrays of objects have no bytes that mean anything at the other end."""


def name_of(value: Any) -> str | None:
    """Return the name of the kind of an array or table, or None."""
    if tables.is_array(value):
        return None if value.dtype.names or (value.dtype.hasobject and value.dtype.kind != "O") else _array_name(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and type(value) in (pandas.DataFrame, pandas.Series):
        return "table" if tables.encode(value, lambda part: part) is not None else None
    return None


def _array_name(value: Any) -> str:
    base = value.base
    is_view = tables.is_array(base) and tables.is_array(_root(value)) and _root(value).flags.forc
    return "view" if is_view and value.dtype.kind != _BY_CONTENT else "ndarray"


def _root(value: Any) -> Any:
    while tables.is_array(value.base):
        value = value.base
    return value


class Buffers(Kind):
    """`numpy.ndarray` that is no view."""

    def head(self, value: Any, encode: Encode) -> Any:
        """[dtype, shape, order]."""
        return [value.dtype.str, list(value.shape), "F" if value.flags.fnc else "C"]

    def empty(self, head: Any) -> Any:
        """See `Kind`."""
        dtype, shape, order = head
        numpy = importlib.import_module("numpy")
        return numpy.zeros(tuple(shape), dtype=tables.checked_dtype(dtype), order=order)

    def content(self, value: Any, encode: Encode) -> Any:
        """Hexadecimal in memory order, or the objects."""
        if value.dtype.kind == _BY_CONTENT:
            return [encode(item) for item in value.ravel(order="C").tolist()]
        return self.snapshot(value).hex()

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        numpy = importlib.import_module("numpy")
        if value.dtype.kind == _BY_CONTENT:
            flat = numpy.empty(value.size, dtype=object)
            flat[:] = [decode(form) for form in content]
            value[...] = flat.reshape(value.shape)
            return
        order = "F" if value.flags.fnc else "C"
        read = numpy.frombuffer(bytes.fromhex(content), dtype=value.dtype)
        value[...] = read.reshape(value.shape, order=order)

    def snapshot(self, value: Any) -> Any:
        """The bytes in memory order, or the objects."""
        if value.dtype.kind == _BY_CONTENT:
            return value.ravel(order="C").tolist()
        return value.tobytes(order="F" if value.flags.fnc else "C")

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        now = self.snapshot(value)
        if isinstance(known, list):
            return len(now) == len(known) and all(a is b for a, b in zip(now, known, strict=True))
        return bool(now == known)

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """The whole content."""
        return self.content(value, encode)

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        self.fill(value, edits, decode)


class Views(Kind):
    """A view of another array: its content is that array's."""

    def bases(self, value: Any) -> tuple[Any, ...]:
        """The array that owns the buffer."""
        return (_root(value),)

    def head(self, value: Any, encode: Encode) -> Any:
        """[base, byte offset, dtype, shape, strides, writable]."""
        root = _root(value)
        offset = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return [encode(root), offset, value.dtype.str, list(value.shape), list(value.strides), value.flags.writeable]

    def empty(self, head: Any) -> Any:
        """See `Kind`. Raises `ValueError` if the view does not lie within its base."""
        root, offset, dtype, shape, strides, writable = head
        numpy = importlib.import_module("numpy")
        flat = root.reshape(-1, order="A").view("u1")  # numpy checks that the view lies within this buffer
        made = numpy.ndarray(tuple(shape), tables.checked_dtype(dtype), flat, offset, tuple(strides))
        made.flags.writeable = bool(writable)
        return made

    def content(self, value: Any, encode: Encode) -> Any:
        """See `Kind`."""
        return None

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""

    def snapshot(self, value: Any) -> Any:
        """See `Kind`."""
        return None

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        return True


class Tables(Kind):
    """`pandas.DataFrame` and `pandas.Series`: the whole content at each change."""

    def head(self, value: Any, encode: Encode) -> Any:
        """The content: pandas makes no empty table that could be filled."""
        return tables.encode(value, lambda parts: stdtypes.encode_parts(parts, encode))

    def empty(self, head: Any) -> Any:
        """See `Kind`."""
        return head

    def content(self, value: Any, encode: Encode) -> Any:
        """See `Kind`."""
        return None

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""

    def snapshot(self, value: Any) -> Any:
        """See `Kind`."""
        return value.copy(deep=True)

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        axes = zip(value.axes, known.axes, strict=True)
        return bool(value.equals(known)) and all(
            now.equals(old) and list(now.names) == list(old.names) and type(now) is type(old) for now, old in axes
        )

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """The whole content."""
        return self.head(value, encode)

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        now = decode(edits)
        if type(now) is not type(value):
            raise TypeError("another sort of table")
        value._update_inplace(now)


KINDS: dict[str, Kind] = {"ndarray": Buffers(), "view": Views(), "table": Tables()}
"""Kinds by the name that a message gives them."""
