"""Patterns of a row, matched in linear time by RE2: no look-around, no back-references.

A pattern that RE2 does not support, or that compiles to too large a program, refuses the row. `\\d`, `\\w` and `\\b`
are ASCII; `.` and classes match code points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import re2

from assay.verifiers.errors import InvalidReference

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 8 << 20
MAX_PATTERN = 10_000


def whole_match(pattern: str, field: str) -> Callable[[str], bool]:
    """Return a predicate that matches whole strings. Raises `InvalidReference`."""
    compiled = _compiled(pattern, field)
    return lambda text: compiled.fullmatch(_encoded(text)) is not None


def group_matches(pattern: str, field: str) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Return a function that yields where the one group of a pattern matches, as code points, in order.

    Raises `InvalidReference`, also if the pattern has no group, or several.
    """
    compiled = _compiled(pattern, field)
    if compiled.groups != 1:
        raise InvalidReference("the pattern must have exactly one group", field=field)

    def matches(text: str) -> Iterator[tuple[int, int]]:
        data = _encoded(text)
        at, points = 0, 0
        for found in compiled.finditer(data):
            start, end = found.span(1)
            if start < 0:
                continue
            points += _points(data[at:start])
            length = _points(data[start:end])
            yield points, points + length
            at, points = end, points + length

    return matches


def _compiled(pattern: str, field: str) -> Any:
    if len(pattern) > MAX_PATTERN:
        raise InvalidReference(f"the pattern has more than {MAX_PATTERN} characters", field=field)
    try:
        return re2.compile(_encoded(pattern), _OPTIONS)
    except re2.error as error:
        raise InvalidReference("not a pattern that RE2 can match in linear time", field=field) from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _points(data: bytes) -> int:
    return len(data.decode("utf-8", "replace"))
