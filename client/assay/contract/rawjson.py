"""Lossless JSON: split objects and arrays into raw slices of their text.

The standard decoder's C scanner finds where each value ends; the text in between is kept, so that integers of any size,
floats and key order stay byte-exact. NaN, infinities and duplicate keys are refused, as the contract requires. Linear
time; depth is bounded by the interpreter's recursion limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_WS = r"[ \t\n\r]*"
_BLANK = re.compile(_WS).match
_PLAIN_NAME = re.compile(rf'{_WS}"([^"\\\x00-\x1f]*)"{_WS}:{_WS}').match
_PLAIN_MEMBER = re.compile(
    rf'{_WS}"([^"\\\x00-\x1f]*)"{_WS}:{_WS}'
    r'("[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*){0,500}"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)"
    rf"{_WS}([,}}])"
).match
"""Matches a member whose value is neither object nor array in one step; other members use the general path."""
_AFTER = re.compile(rf"{_WS}([,}}\]])").match


class NotJson(ValueError):
    """The text is not JSON as the contract requires. The message never contains the text."""


def no_constant(name: str) -> NoReturn:
    """Raise `NotJson` for NaN and the infinities; for `parse_constant`."""
    raise NotJson(f"{name} is not JSON")


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a dict, or raise `NotJson` for a duplicate key; for `object_pairs_hook`."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("duplicate key in an object")
    return members


_decoder: Any = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=no_constant, object_pairs_hook=distinct)
_scan = _decoder.scan_once
"""Number parsers that return the text, for callers that need only the end of each value."""
_value_decoder: Any = json.JSONDecoder(parse_constant=no_constant)
_scan_values = _value_decoder.scan_once


def _skip(text: str, at: int) -> int:
    match = _BLANK(text, at)
    assert match is not None
    return match.end()


def _fault(error: BaseException) -> NotJson:
    if isinstance(error, NotJson):
        return error
    if isinstance(error, StopIteration):
        return NotJson(f"a value is missing at character {error.value}")
    if isinstance(error, RecursionError):
        return NotJson("nested too deeply")
    return NotJson(getattr(error, "msg", "a number is too long"))


def _value(scan: Any, text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = scan(text, at)
    except (StopIteration, ValueError, RecursionError) as error:
        raise _fault(error) from None
    return value, int(end)


def split_object(text: str, at: int = 0, *, numbers: bool = False) -> tuple[dict[str, tuple[Any, int, int]], int]:
    """Return the members of the object at `at`, as `name -> (value, start, end)` of the raw slice, and its end offset.

    With `numbers`, numbers are decoded; otherwise their values are their text. Raises `NotJson`.
    """
    scan = _scan_values if numbers else _scan
    members: dict[str, tuple[Any, int, int]] = {}
    at = _open(text, at, "{", "an object")
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        plain = _PLAIN_NAME(text, at)
        name, start = (plain[1], plain.end()) if plain else _escaped_name(text, at)
        try:
            value, end = scan(text, start)
        except (StopIteration, ValueError, RecursionError) as error:
            raise _fault(error) from None
        if name in members:
            raise NotJson("duplicate key in an object")
        members[name] = (value, start, end)
        mark = _AFTER(text, end)
        if mark is None or mark[1] == "]":
            raise NotJson("a comma or a closing brace is missing")
        at = mark.end()
        if mark[1] == "}":
            return members, at


def _open(text: str, at: int, bracket: str, kind: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != bracket:
        raise NotJson(f"not {kind}")
    return _skip(text, at + 1)


def _escaped_name(text: str, at: int) -> tuple[str, int]:
    """Return a name that contains escapes, and the offset of its value."""
    at = _skip(text, at)
    if text[at : at + 1] != '"':
        raise NotJson("a name is missing")
    name, at = _value(_scan, text, at)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise NotJson("a colon is missing")
    return str(name), _skip(text, at + 1)


def split_array(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Yield the elements of the array at `at`, as `(value, start, end)` of the raw slice. Raises `NotJson`."""
    at = _open(text, at, "[", "an array")
    if text[at : at + 1] == "]":
        return
    while True:
        value, end = _value(_scan_values, text, at)
        yield value, at, end
        mark = _AFTER(text, end)
        if mark is None or mark[1] == "}":
            raise NotJson("a comma or a closing bracket is missing")
        if mark[1] == "]":
            return
        at = _skip(text, mark.end())


def member_spans(text: str) -> dict[str, tuple[int, int]]:
    """Return the spans of the values of a text's single object, as `name -> (start, end)`. Raises `NotJson`.

    Like `whole_object`, but faster: values are not decoded.
    """
    spans: dict[str, tuple[int, int]] = {}
    at = _open(text, 0, "{", "an object")
    if text[at : at + 1] == "}":
        return _nothing_after(text, at + 1, spans)
    count = 0
    while True:
        count += 1
        plain = _PLAIN_MEMBER(text, at)
        if plain is not None:
            spans[plain[1]] = plain.span(2)
            at, mark = plain.end(), plain[3]
        else:
            named = _PLAIN_NAME(text, at)
            name, start = (named[1], named.end()) if named else _escaped_name(text, at)
            _, end = _value(_scan, text, start)
            spans[name] = (start, end)
            after = _AFTER(text, end)
            if after is None or after[1] == "]":
                raise NotJson("a comma or a closing brace is missing")
            at, mark = after.end(), after[1]
        if mark == "}":
            if len(spans) != count:
                raise NotJson("duplicate key in an object")
            return _nothing_after(text, at, spans)


def _nothing_after(text: str, at: int, spans: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    if _skip(text, at) != len(text):
        raise NotJson("text after the object")
    return spans


def whole_object(text: str) -> tuple[dict[str, tuple[Any, int, int]], int]:
    """Return `split_object` of a text that holds exactly one object, and the offset of its closing brace."""
    members, end = split_object(text)
    if _skip(text, end) != len(text):
        raise NotJson("text after the object")
    return members, end
