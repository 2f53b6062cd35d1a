"""Strict JSON: one parser decides what counts as JSON, in requests, rows and completions alike.

Refused: NaN and infinity, duplicate keys, invalid UTF-8, text after the value, nesting deeper than
200, an integer of more than 4,300 digits, lone surrogates. Messages name the place, never the input.
What a number is worth: `numbers`.
"""

from __future__ import annotations

import math
import re
from typing import Any

import jiter

from assay.contract import numbers
from assay.contract.numbers import DIGITS_LIMIT

DEPTH_LIMIT = 200


class JsonFault(ValueError):
    """Not strict JSON: `code` says what kind of fault, `limit` which bound was passed, if one was."""

    def __init__(self, code: str, detail: str, limit: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.limit = limit


_KINDS = (
    ("duplicate key", "duplicate_key", "duplicate key", None),
    ("recursion limit", "too_deep", f"nesting deeper than {DEPTH_LIMIT}", DEPTH_LIMIT),
    ("number out of range", "number_too_long", f"a number longer than {DIGITS_LIMIT} digits", DIGITS_LIMIT),
    ("invalid unicode code point", "invalid_utf8", "invalid UTF-8 or a lone surrogate", None),
    ("hex escape", "invalid_unicode", "invalid UTF-8 or a lone surrogate", None),
    ("surrogate", "invalid_unicode", "invalid UTF-8 or a lone surrogate", None),
)
_PLACE = re.compile(r"at line (\d+) column (\d+)$")


def parse(body: bytes) -> Any:
    """The value that `body` is. Floats keep their text (`jiter.LosslessFloat`). Raises JsonFault."""
    try:
        return jiter.from_json(
            body,
            allow_inf_nan=False,
            catch_duplicate_keys=True,
            float_mode="lossless-float",
            cache_mode="keys",
        )
    except ValueError as error:
        raise _fault(str(error)) from None


def _fault(message: str) -> JsonFault:
    place = _PLACE.search(message)
    where = f" at line {place[1]}, column {place[2]}" if place else ""
    for needle, code, detail, limit in _KINDS:
        if needle in message.lower():
            return JsonFault(code, detail + where, limit)
    return JsonFault("invalid_json", "not valid JSON" + where)


def value_of(text: str) -> Any:
    """The JSON value that a text is, trimmed of JSON white space. Raises JsonFault.

    Numbers are exact (`5.0` is 5, 2^53 + 1 and 6.02e23 stay themselves); a number out of a float's range or of more
    than 4,300 digits is a fault, like every other kind of text that is not strict JSON.
    """
    try:
        return exact(parse(text.strip(" \t\r\n").encode()))
    except UnicodeEncodeError:
        raise JsonFault("invalid_unicode", "a lone surrogate") from None


def exact(value: Any) -> Any:
    """A JSON value with every number in its one form (`numbers.exact`). Raises JsonFault where one has none."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict:
        return {key: exact(item) for key, item in value.items()}
    if kind is list:
        return [exact(item) for item in value]
    try:
        return numbers.exact(value if isinstance(value, float) else numbers.written(str(value)))
    except numbers.NumberFault as fault:
        code = "number_out_of_range" if fault.limit is None else "number_too_long"
        raise JsonFault(code, str(fault), fault.limit) from None


def plain(value: Any) -> Any:
    """A parsed value with floats for numbers that are written as floats (5.0 stays one). Never raises."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict:
        return {key: plain(item) for key, item in value.items()}
    if kind is list:
        return [plain(item) for item in value]
    return numbers.written(str(value))


def holds_lexemes(value: Any, *, infinite: bool = False) -> bool:
    """Whether a number in it is more than a float can hold; `infinite`: by its magnitude."""
    if isinstance(value, dict):
        return any(holds_lexemes(item, infinite=infinite) for item in value.values())
    if isinstance(value, list):
        return any(holds_lexemes(item, infinite=infinite) for item in value)
    return isinstance(value, numbers.Lexeme) and (not infinite or math.isinf(value))
