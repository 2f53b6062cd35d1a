"""The two forms of a body: JSON, and msgpack in which JSON values are `bin`.

Either way an item is cut apart first (`ItemFrame`, every open value a `Raw`), and a codec says what a
`Raw` holds. JSON stays the bytes that were sent.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import ItemFrame, json_of

NATIVE_BYTES = 1 << 20
"""A value that is packed itself, not JSON in `bin`, may be so large: each of its bytes can cost a hundred."""
_BIN = frozenset({b"\xc4", b"\xc5", b"\xc6"})


class IllTyped(ValueError):
    """A value is not of the type that its field asks for."""


class TooDeep(IllTyped):
    """A value is nested deeper than it may be."""


class Codec(Protocol):
    """How one form of body is read."""

    def decode(self, body: bytes, kind: Any) -> Any:
        """Bytes as a value of that type. Raises msgspec.MsgspecError."""

    def text_or_json(self, raw: Raw) -> str | bytes:
        """Text as str, messages as the bytes of a JSON array. Raises IllTyped, TooDeep."""

    def json(self, raw: Raw) -> bytes:
        """The value as JSON. Raises IllTyped, TooDeep."""

    def size(self, raw: Raw) -> int:
        """Bytes that the value holds."""


class JsonCodec:
    """A JSON body, already known to be strict JSON."""

    def decode(self, body: bytes, kind: Any) -> Any:
        """See Codec."""
        return msgspec.json.decode(body, type=kind)

    def text_or_json(self, raw: Raw) -> str | bytes:
        """See Codec."""
        body = bytes(raw)
        if body.startswith(b'"'):
            text: str = msgspec.json.decode(body, type=str)
            return text
        if body.startswith(b"["):
            return body
        raise IllTyped("a string or a list of messages")

    def json(self, raw: Raw) -> bytes:
        """See Codec."""
        return bytes(raw)

    def size(self, raw: Raw) -> int:
        """See Codec."""
        return len(bytes(raw))


class MsgpackCodec:
    """A msgpack body."""

    def decode(self, body: bytes, kind: Any) -> Any:
        """See Codec. Raises EnvelopeFault for a name that comes twice: which of its values is meant?"""
        value = msgspec.msgpack.decode(body, type=kind)
        if isinstance(value, msgspec.Struct) and _distinct(value, body) < _names(body):
            raise EnvelopeFault(ProblemCode.DUPLICATE_KEY, "duplicate key", status=400)
        return value

    def text_or_json(self, raw: Raw) -> str | bytes:
        """See Codec."""
        value = _unpacked(raw)
        if isinstance(value, (str, bytes)):
            return value
        raise IllTyped("a string, or messages as JSON in bin")

    def json(self, raw: Raw) -> bytes:
        """See Codec."""
        if self.size(raw) > NATIVE_BYTES and bytes(raw)[:1] not in _BIN:
            raise IllTyped("JSON in bin, where it is large")
        value = _unpacked(raw)
        if isinstance(value, bytes):
            return value
        if not _is_json(value):
            raise IllTyped("JSON in bin, or values that JSON has too")
        return json_of(value)

    def size(self, raw: Raw) -> int:
        """See Codec."""
        return len(bytes(raw))


def _unpacked(raw: Raw) -> Any:
    try:
        return msgspec.msgpack.decode(bytes(raw))
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise IllTyped("a string is not UTF-8") from None


def _distinct(value: msgspec.Struct, body: bytes) -> int:
    """How many names of a map are different; none of them is unknown."""
    if isinstance(value, ItemFrame):  # the quick way: here what is unset was not there
        return sum(field is not UNSET for field in msgspec.structs.astuple(value))
    return len(msgspec.msgpack.decode(body, type=dict[str, Raw]))


def _names(body: bytes) -> int:
    """How many names a map says it has."""
    head = body[0]
    if head < 0x90:  # fixmap
        return head & 15
    return int.from_bytes(body[1:3] if head == 0xDE else body[1:5])


def _is_json(value: Any) -> bool:
    """Whether JSON says the same: no bytes, times, extensions, NaN, infinities; names are text."""
    if value is None or isinstance(value, (str, bool, int)):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_json, value.values()))
    return isinstance(value, list) and all(map(_is_json, value))
