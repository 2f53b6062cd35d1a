"""The two forms of a body: JSON, and msgpack in which JSON values are `bin`.

Either way an item is cut apart first (`ItemFrame`, every open value a `Raw`), and a codec says what a
`Raw` holds. JSON stays the bytes that were sent.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.frames import json_of


class IllTyped(ValueError):
    """A value is not of the type that its field asks for."""


class Codec(Protocol):
    """How one form of body is read."""

    def decode(self, body: bytes, kind: Any) -> Any:
        """Bytes as a value of that type. Raises msgspec.MsgspecError."""

    def text_or_json(self, raw: Raw) -> str | bytes:
        """Text as str, messages as the bytes of a JSON array. Raises IllTyped."""

    def json(self, raw: Raw) -> bytes:
        """The value as JSON. Raises IllTyped."""

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
        """See Codec."""
        return msgspec.msgpack.decode(body, type=kind)

    def text_or_json(self, raw: Raw) -> str | bytes:
        """See Codec."""
        value = _unpacked(raw)
        if isinstance(value, (str, bytes)):
            return value
        raise IllTyped("a string, or messages as JSON in bin")

    def json(self, raw: Raw) -> bytes:
        """See Codec."""
        value = _unpacked(raw)
        if isinstance(value, bytes):
            return value
        if not _finite(value):
            raise IllTyped("finite numbers")
        return json_of(value)

    def size(self, raw: Raw) -> int:
        """See Codec."""
        return len(bytes(raw))


def _unpacked(raw: Raw) -> Any:
    try:
        return msgspec.msgpack.decode(bytes(raw))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise EnvelopeFault("invalid_utf8", "a string of the body is not UTF-8", status=400) from None


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True
