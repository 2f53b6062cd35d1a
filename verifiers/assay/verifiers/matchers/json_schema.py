"""JSON Schema (2020-12 unless `$schema` names another published draft), compiled once with jsonschema-rs.

Nothing is ever fetched: a `$ref` to another document refuses the row. A value whose pattern needs more
backtracking than the limit is not valid. Numbers are exact: 1.00000000000000000001 is not an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema_rs

from assay.contract.numbers import Lexeme, decimal_of
from assay.verifiers import strict_json
from assay.verifiers.errors import InvalidReference

_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=1_000_000, size_limit=1 << 22, dfa_size_limit=1 << 22)
"""Patterns are ECMA-262: those without look-around and back-references run in linear time, the others backtrack up to
the limit, within the lane's CPU budget."""


def compile_schema(schema: Any, field: str, *, assert_format: bool = False) -> Callable[[Any], bool]:
    """Return a predicate for validity. Raises `InvalidReference` without echoing the schema."""
    if not isinstance(schema, (dict, bool)):
        raise InvalidReference("a schema must be an object or a boolean", field=field)
    try:
        validator = jsonschema_rs.validator_for(
            _decimal(strict_json.exact(schema)),
            retriever=_refuse,
            validate_formats=assert_format,
            pattern_options=_PATTERNS,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, RecursionError) as error:
        raise InvalidReference("not a valid schema, or it refers to another document", field=field) from error

    def valid(value: Any) -> bool:
        return bool(validator.is_valid(_decimal(value) if strict_json.holds_lexemes(value) else value))

    return valid


def _decimal(value: Any) -> Any:
    """Return the value with numbers that no float holds converted for the library, which does not know `Lexeme`."""
    if isinstance(value, dict):
        return {key: _decimal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decimal(item) for item in value]
    return decimal_of(value) if isinstance(value, Lexeme) else value


def _refuse(uri: str) -> Any:
    raise ValueError("documents are never fetched")
