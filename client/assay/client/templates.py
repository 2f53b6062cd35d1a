"""Values filled from a row's columns, as data: `{"answer": "{answer}", "unit": "{meta.unit}"}`.

A string that is one placeholder becomes the column's value with its type; placeholders inside a longer
string become text. `{a.b.0}` goes into mappings and sequences (and never into attributes); `{a!json}`
reads a column that holds JSON text. Literal braces are doubled, as in `str.format`. Everything else of a
template stays what it is. Trainer adapters and compat protocols share this.

JSON text is read strictly (no NaN, no name twice); a number that a float cannot hold keeps its text (`Lexeme`).

Not covered: conditions, defaults, arithmetic. A function does that, where a face takes one.
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
    """No row has such a column: the template, not the row, is at fault."""

    def __init__(self, name: str, row: Row) -> None:
        known = ", ".join(sorted(map(str, row))) or "none"
        super().__init__(f"the template names the column {name!r}; columns here: {known}")


class RowFault(ValueError):
    """This row cannot be filled in or has no JSON form. Names the column, never what it holds."""


def read_json(text: str | bytes) -> Any:
    """The value that a JSON text is, no number of it changed. Raises ValueError, RecursionError."""
    return json.loads(text, parse_float=numbers.written, parse_constant=no_constant, object_pairs_hook=distinct)


def template(value: Any) -> Fill:
    """Compile a template. Raises `ConfigurationError` for a brace that is not closed or not a placeholder."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        members = {str(key): template(member) for key, member in value.items()}
        return lambda row: {key: fill(row) for key, fill in members.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        elements = [template(element) for element in value]
        return lambda row: [fill(row) for fill in elements]
    return lambda row: value


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
        raise ConfigurationError(f"a brace without its partner in the template {text!r}; write {whole * 2} for itself")
    return whole if match[1] is None else _placeholder(match[1], text)


def _placeholder(name: str, text: str) -> Fill:
    parsed = _NAME.fullmatch(name)
    if parsed is None:
        raise ConfigurationError(f"{{{name}}} in the template {text!r} names no column; write {{{{ and }}}} for braces")
    path, as_json = parsed[1], parsed[2] is not None
    column, *steps = path.split(".")

    def fill(row: Row) -> Any:
        if path in row:  # a column may have a dot in its name
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
            raise RowFault(f"the row has no {path}") from None
    return value


def _from_json(value: Any, path: str) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError):
        raise RowFault(f"{path} is not JSON") from None


def _written(value: Any) -> str:
    """A value inside a longer text: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Lexeme):
        return value.text
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise RowFault("a value inside a text has no JSON form") from None
