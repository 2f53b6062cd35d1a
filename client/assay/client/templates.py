"""Templates that fill values from a row's columns, as data: `{"answer": "{answer}", "unit": "{meta.unit}"}`.

A string that is exactly one placeholder becomes the column's value with its type; placeholders inside a longer string
become text. `{a.b.0}` looks into mappings and sequences (never attributes); `{a!json}` parses a column that holds JSON
text. Literal braces are doubled, as in `str.format`. Everything else of a template is copied. Used by trainer adapters
and compat protocols.

JSON text is parsed strictly (no NaN, no duplicate keys); a number that a float cannot hold keeps its text (`Lexeme`).

Not covered: conditions, defaults, arithmetic. Use a function for that where one is accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.client.errors import ConfigurationError
from assay.contract import numbers
from assay.contract.rawjson import distinct, no_constant

Row = Mapping[str, Any]
Fill = Callable[[Row], Any]

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_NAME = re.compile(r"([^.!{}\s][^.!{}]*(?:\.[^.!{}]+)*)(!json)?")


class MissingColumn(ConfigurationError):
    """The row lacks a column that the template names. The template is at fault, not the row."""

    def __init__(self, name: str, row: Row) -> None:
        known = ", ".join(sorted(map(str, row))) or "none"
        super().__init__(f"the template names the column {name!r}; the columns are: {known}")


class RowFault(ValueError):
    """The row cannot be filled in or has no JSON form. Names the column, never its content."""


def read_json(text: str | bytes) -> Any:
    """Parse a JSON text without changing any number. Raises `ValueError`, `RecursionError`."""
    return json.loads(text, parse_float=numbers.written, parse_constant=no_constant, object_pairs_hook=distinct)


def template(value: Any) -> Fill:
    """Compile a template. Raises `ConfigurationError` for an unclosed brace or an invalid placeholder."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        members = {str(key): template(member) for key, member in value.items()}
        return lambda row: {key: fill(row) for key, fill in members.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        elements = [template(element) for element in value]
        return lambda row: [fill(row) for fill in elements]
    return lambda row: value


def columns(value: Any) -> set[str]:
    """Return the columns that a template names, without the steps inside them. Raises as `template` does."""
    if isinstance(value, str):
        names = (match[1] for match in _PIECE.finditer(value) if match[1] is not None)
        return {_parsed(name, value)[1].partition(".")[0] for name in names}
    if isinstance(value, Mapping):
        return set().union(*(columns(member) for member in value.values()))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return set().union(*(columns(element) for element in value))
    return set()


def _text(text: str) -> Fill:
    pieces = [_piece(match, text) for match in _PIECE.finditer(text)]
    if len(pieces) == 1 and not isinstance(pieces[0], str):
        return pieces[0]
    if all(isinstance(piece, str) for piece in pieces):
        constant = "".join(piece for piece in pieces if isinstance(piece, str))
        return lambda row: constant
    return lambda row: "".join(piece if isinstance(piece, str) else _written(piece(row)) for piece in pieces)


def _piece(match: re.Match[str], text: str) -> str | Fill:
    whole = match[0]
    if whole in ("{{", "}}"):
        return whole[0]
    if whole in ("{", "}"):
        raise ConfigurationError(f"unmatched brace in the template {text!r}; write {whole * 2} for a literal one")
    return whole if match[1] is None else _placeholder(match[1], text)


def _parsed(name: str, text: str) -> re.Match[str]:
    parsed = _NAME.fullmatch(name)
    if parsed is None:
        raise ConfigurationError(
            f"{{{name}}} in the template {text!r} names no column; {{{{ and }}}} are literal braces"
        )
    return parsed


def _placeholder(name: str, text: str) -> Fill:
    parsed = _parsed(name, text)
    path, as_json = parsed[1], parsed[2] is not None
    column, *steps = path.split(".")

    def fill(row: Row) -> Any:
        if path in row:  # a column name may contain a dot
            value = row[path]
        elif column in row:
            value = _inside(row[column], steps, path)
        else:
            raise MissingColumn(column, row)
        return _from_json(value, path) if as_json else value

    return fill


def _inside(value: Any, steps: Sequence[str], path: str) -> Any:
    for step in steps:
        try:
            value = value[step] if isinstance(value, Mapping) else value[int(step)]
        except (LookupError, TypeError, ValueError):
            raise RowFault(f"the row has no value {path}") from None
    return value


def _from_json(value: Any, path: str) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError):
        raise RowFault(f"{path} is not JSON") from None


def _written(value: Any) -> str:
    """Return a value for use inside a longer text: text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Lexeme):
        return value.text
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise RowFault("a value inside a text has no JSON form") from None
