"""Patterns of a row, matched in linear time by RE2: no look-around, no back-references.

A pattern that RE2 does not support, or that compiles to too large a program, refuses the row. `\\d`, `\\w` and `\\b`
are ASCII; `.` and classes match code points.
"""

from __future__ import annotations

from collections.abc import Callable

import re2

from assay.verifiers.errors import InvalidReference

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 8 << 20
MAX_PATTERN = 10_000


def whole_match(pattern: str, field: str) -> Callable[[str], bool]:
    """Return a predicate that matches whole strings. Raises `InvalidReference`."""
    if len(pattern) > MAX_PATTERN:
        raise InvalidReference(f"the pattern has more than {MAX_PATTERN} characters", field=field)
    try:
        compiled = re2.compile(pattern.encode("utf-8", "replace"), _OPTIONS)
    except re2.error as error:
        raise InvalidReference("not a pattern that RE2 can match in linear time", field=field) from error
    return lambda text: compiled.fullmatch(text.encode("utf-8", "replace")) is not None
