"""JSON without loss: objects and arrays split into raw slices of their own text.

The standard decoder's C scanner finds where each value ends; the text between is kept as it stands,
so that integers of any size, floats and key order pass byte-exact. NaN, infinities and duplicate keys
are refused, as the contract has it. Linear time; depth is bounded by the interpreter's recursion limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_BLANK = re.compile(r"[ \t\n\r]*").match


class NotJson(ValueError):
    """The text is not JSON as the contract wants it. The message never holds the text."""


def _no_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("duplicate key in an object")
    return members


_decoder: Any = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=_no_constant, object_pairs_hook=_distinct
)
_scan = _decoder.scan_once
"""Values of numbers are their text: what matters is where they end."""
_value_decoder: Any = json.JSONDecoder(parse_constant=_no_constant)
_scan_values = _value_decoder.scan_once


def _skip(text: str, at: int) -> int:
    match = _BLANK(text, at)
    assert match is not None
    return match.end()


def _value(scan: Any, text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = scan(text, at)
    except StopIteration as error:
        raise NotJson(f"a value is missing at character {error.value}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(getattr(error, "msg", "a number is too long")) from None
    return value, int(end)


def split_object(text: str, at: int = 0, *, numbers: bool = False) -> tuple[dict[str, tuple[Any, int, int]], int]:
    """Members of the object at `at`, as `name -> (value, start, end)` of the raw slice; and where it ends.

    With `numbers`, numbers are decoded; else their values are their text. Raises `NotJson`.
    """
    scan = _scan_values if numbers else _scan
    members: dict[str, tuple[Any, int, int]] = {}
    at = _skip(text, at)
    if text[at : at + 1] != "{":
        raise NotJson("not an object")
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        name, at = _value(scan, text, at)
        at = _skip(text, at)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise NotJson("a name and a colon are missing")
        start = _skip(text, at + 1)
        value, end = _value(scan, text, start)
        if name in members:
            raise NotJson("duplicate key in an object")
        members[name] = (value, start, end)
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "}":
            return members, at + 1
        if mark != ",":
            raise NotJson("a comma or a closing brace is missing")
        at = _skip(text, at + 1)


def split_array(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Elements of the array at `at`, as `(value, start, end)` of the raw slice. Raises `NotJson`."""
    at = _skip(text, at)
    if text[at : at + 1] != "[":
        raise NotJson("not an array")
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return
    while True:
        value, end = _value(_scan_values, text, at)
        yield value, at, end
        at = _skip(text, end)
        mark = text[at : at + 1]
        if mark == "]":
            return
        if mark != ",":
            raise NotJson("a comma or a closing bracket is missing")
        at = _skip(text, at + 1)


def whole_object(text: str) -> tuple[dict[str, tuple[Any, int, int]], int]:
    """`split_object` of a text that holds one object and nothing else; and where its closing brace ends."""
    members, end = split_object(text)
    if _skip(text, end) != len(text):
        raise NotJson("text after the object")
    return members, end
