"""Calls in Python's syntax, read by a grammar of literals: nothing is compiled, let alone evaluated.

    calls   = "[" call {"," call} "]"
    call    = name {"." name} "(" [name "=" literal {"," …}] ")"
    literal = string+ | number | True | False | None | list | tuple | dict

f-strings, bytes, names, operators (but a sign), sets, positional and starred arguments are no literals.
Strings are read with Python's escapes; adjacent ones are joined.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from assay.contract import numbers
from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading

MAX_DEPTH = 100
MAX_DIGITS = 4300
NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_KEY = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_BLANK = re.compile(r"(?:\s|\\\n|#[^\n]*)*+")
_NUMBER = re.compile(
    r"([+-]?)\s*(?:(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)|"
    r"((?:\d[\d_]*+(?:\.(?:\d[\d_]*+)?)?+|\.\d[\d_]*+)(?:[eE][+-]?\d[\d_]*+)?+))(?![\w.])"
)
_STRING = re.compile(
    r"([rRuU]?)(?:'''((?:[^'\\]|\\.|'(?!''))*+)'''|\"\"\"((?:[^\"\\]|\\.|\"(?!\"\"))*+)\"\"\""
    r"|'((?:[^'\\\n]|\\.)*+)'|\"((?:[^\"\\\n]|\\.)*+)\")",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:(\n)|([\\'\"abfnrtv])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|N\{([^}]{1,80})\})"
)
_SIMPLE = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
_CONSTANTS = {"True": True, "False": False, "None": None}
_WORD = re.compile(r"True\b|False\b|None\b")


def read_call(reading: Reading) -> Attempt:
    """The call that stands here. Raises `Fault`."""
    start = reading.at
    name = reading.match(NAME)
    if not name or not reading.take("("):
        raise Fault("markup")
    args: dict[str, Any] = {}
    _blank(reading)
    while not reading.take(")"):
        key = reading.match(_KEY)
        if not key:
            raise Fault("unclosed" if reading.at >= len(reading.text) else "literal")
        if key[1] in args:
            raise Fault("duplicate_key")
        args[key[1]] = _literal(reading, 0)
        _separator(reading, ")")
    return reading.call(name[0], args, start)


def _blank(reading: Reading) -> None:
    reading.match(_BLANK)


def _separator(reading: Reading, close: str) -> None:
    """Move over a comma, or stand at `close`. Raises `Fault`."""
    _blank(reading)
    comma = reading.take(",")
    _blank(reading)
    if not comma and not reading.text.startswith(close, reading.at):
        raise Fault("unclosed" if reading.at >= len(reading.text) else "literal")


def _literal(reading: Reading, depth: int) -> Any:
    _blank(reading)
    here = reading.text[reading.at : reading.at + 1]
    if depth > MAX_DEPTH or not here:
        raise Fault("literal" if here else "unclosed")
    if here == "[" or here == "(":
        return _sequence(reading, depth)
    if here == "{":
        return _dict(reading, depth)
    if word := reading.match(_WORD):
        return _CONSTANTS[word[0]]
    if here in "+-.0123456789":
        return _number(reading)
    return _strings(reading)


def _sequence(reading: Reading, depth: int) -> Any:
    """A list or a tuple; brackets around one value without a comma are only brackets."""
    tuple_ = not reading.take("[") and reading.take("(")
    close = ")" if tuple_ else "]"
    items: list[Any] = []
    commas = 0
    _blank(reading)
    while not reading.take(close):
        items.append(_literal(reading, depth + 1))
        before = reading.at
        _separator(reading, close)
        commas += "," in reading.text[before : reading.at]
    return items[0] if tuple_ and len(items) == 1 and not commas else items


def _dict(reading: Reading, depth: int) -> dict[str, Any]:
    reading.take("{")
    entries: dict[str, Any] = {}
    _blank(reading)
    while not reading.take("}"):
        key = _literal(reading, depth + 1)
        _blank(reading)
        if not isinstance(key, str) or not reading.take(":"):
            raise Fault("literal")
        if key in entries:
            raise Fault("duplicate_key")
        entries[key] = _literal(reading, depth + 1)
        _separator(reading, "}")
    return entries


def _number(reading: Reading) -> int | float:
    found = reading.match(_NUMBER)
    if not found or "__" in found[0] or found[0].endswith("_"):
        raise Fault("literal")
    sign = -1 if found[1] == "-" else 1
    text = (found[2] or found[3]).replace("_", "")
    if len(text) > MAX_DIGITS:
        raise Fault("literal")
    try:
        whole = found[2] or text.isdigit()
        return sign * int(text, 0) if whole else numbers.exact(numbers.written(found[1].strip("+") + text))
    except ValueError:
        raise Fault("literal") from None


def _strings(reading: Reading) -> str:
    parts = []
    while found := reading.match(_STRING):
        body = next((group for group in found.groups()[1:] if group is not None), "")
        parts.append(body if found[1] in ("r", "R") else _ESCAPE.sub(_unescaped, body))
        _blank(reading)
    if not parts:
        raise Fault("literal")
    return "".join(parts)


def _unescaped(found: re.Match[str]) -> str:
    newline, simple, two, four, eight, octal, name = found.groups()
    if newline:
        return ""
    if simple:
        return _SIMPLE[simple]
    if name:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            raise Fault("literal") from None
    code = int(octal, 8) if octal else int(two or four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Fault("literal")
    return chr(code)
