"""YAML as a JSON value, by YAML 1.2's core schema: `no` and `on` are text, `1.10` is a number.

Values are built from the parser's events: no object is constructed, no alias expanded. Not accepted: anchors and
aliases, tags, several documents, keys that are not scalars, duplicate keys, NaN and infinity, nesting deeper than
JSON's limit.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from assay.verifiers import strict_json

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_WORDS: dict[str, bool | None] = {
    form: value
    for words, value in (("~ null Null NULL", None), ("true True TRUE", True), ("false False FALSE", False))
    for form in words.split()
} | {"": None}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]{1,64}|0x[0-9a-fA-F]{1,64}")
_FLOAT = re.compile(r"([-+]?)(\.[0-9]+|[0-9]+(?:\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def yaml_value(text: str) -> Any:
    """Return the value of a YAML document. Raises `JsonFault`."""
    try:
        return _built(yaml.parse(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise _fault(type(error).__name__) from None
    except (UnicodeError, ValueError) as error:
        if isinstance(error, strict_json.JsonFault):
            raise
        raise _fault("a character that YAML does not allow") from None


def _fault(detail: str) -> strict_json.JsonFault:
    return strict_json.JsonFault("invalid_yaml", f"not valid YAML: {detail}")


class _Builder:
    """The value under construction: the open collections, and for each mapping its pending key."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self._open: list[Any] = []
        self._keys: list[Any] = []

    def start(self, collection: Any) -> None:
        if len(self._open) >= strict_json.DEPTH_LIMIT:
            raise strict_json.JsonFault("too_deep", "nesting too deep", strict_json.DEPTH_LIMIT)
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            raise _fault("a key that is not a scalar")
        self._open.append(collection)
        self._keys.append(None)

    def end(self) -> None:
        collection = self._open.pop()
        self._keys.pop()
        self.add(collection)

    def scalar(self, text: str, *, plain: bool) -> None:
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            if text in self._open[-1]:
                raise strict_json.JsonFault("duplicate_key", "duplicate key")
            self._keys[-1] = text
            return
        self.add(_resolved(text) if plain else text)

    def add(self, value: Any) -> None:
        if not self._open:
            self.documents.append(value)
        elif isinstance(self._open[-1], dict):
            self._open[-1][self._keys[-1]] = value
            self._keys[-1] = None
        else:
            self._open[-1].append(value)


def _built(events: Any) -> Any:
    builder = _Builder()
    for event in events:
        _check(event)
        match event:
            case yaml.MappingStartEvent():
                builder.start({})
            case yaml.SequenceStartEvent():
                builder.start([])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                builder.end()
            case yaml.ScalarEvent():
                builder.scalar(event.value, plain=event.implicit[0] and not event.style)
    if len(builder.documents) != 1:
        raise _fault("no document" if not builder.documents else "several documents")
    return builder.documents[0]


def _check(event: Any) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise _fault("an anchor or alias")
    if getattr(event, "tag", None) is not None:
        raise _fault("a tag")


def _resolved(text: str) -> Any:
    """Return the value of a plain scalar. Raises `JsonFault` for NaN, infinity and too many digits."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        sign = "-" if text[0] == "-" else ""
        return strict_json.value_of(sign + (text.lstrip("+-").lstrip("0") or "0"))
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if number := _FLOAT.fullmatch(text):
        return _float(number)
    if _SPECIAL.fullmatch(text):
        raise _fault("NaN or infinity")
    return text


def _float(number: re.Match[str]) -> Any:
    sign, digits, exponent = number[1], number[2], number[3] or ""
    whole, _, fraction = digits.partition(".")
    return strict_json.value_of(f"{sign.strip('+')}{whole.lstrip('0') or '0'}.{fraction or '0'}{exponent}")
