"""When output or a value counts as right. Bytes stay bytes; only ASCII blanks are white space.

Everything is linear in its input; numbers are read by our own grammar, never by `float()` on whatever
comes; a comparison passes only if a condition is true, so NaN never passes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest.values.codec import Chain, Members, Opaque, Pairs, Tree
from assay.verifiers.code.canonical import Unequal, canonical

OutputRule = Callable[[bytes, bytes], bool]
ValueRule = Callable[[Any, Any], bool]
_BLANKS = b" \t\r\v\f"
_WHITE = re.compile(rb"[ \t\r\n\v\f]+")
_NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_MAX_TOKEN = 400


def output_rule(name: str) -> OutputRule:
    """The rule of that name for standard output: (printed, expected) -> right."""
    if name.startswith("float:"):
        tolerance = float(name[6:])
        return lambda printed, expected: _close_tokens(printed, expected, tolerance)
    return {"lines": _lines, "tokens": _tokens, "exact": bytes.__eq__}[name]


def value_rule(name: str) -> ValueRule:
    """The rule of that name for returned values: (returned, expected) -> right."""
    if name.startswith("float:"):
        tolerance = float(name[6:])
        return lambda returned, expected: _same(returned, expected, lambda a, b: _close(a, b, tolerance))
    return lambda returned, expected: _same(returned, expected, _equal_numbers)


def _lines(printed: bytes, expected: bytes) -> bool:
    return printed == expected or _trimmed(printed) == _trimmed(expected)


def _trimmed(text: bytes) -> list[bytes]:
    lines = [line.rstrip(_BLANKS) for line in text.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _split(text: bytes) -> list[bytes]:
    return [token for token in _WHITE.split(text) if token]


def _tokens(printed: bytes, expected: bytes) -> bool:
    return _split(printed) == _split(expected)


def _close_tokens(printed: bytes, expected: bytes, tolerance: float) -> bool:
    left, right = _split(printed), _split(expected)
    return len(left) == len(right) and all(
        a == b or _close_token(a, b, tolerance) for a, b in zip(left, right, strict=True)
    )


def _close_token(printed: bytes, expected: bytes, tolerance: float) -> bool:
    if max(len(printed), len(expected)) > _MAX_TOKEN:
        return False
    if not (_NUMBER.fullmatch(printed) and _NUMBER.fullmatch(expected)):
        return False
    return _close(float(printed), float(expected), tolerance)


def _close(a: float, b: float, tolerance: float) -> bool:
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return True
    try:
        left, right = float(a), float(b)
    except OverflowError:
        return _close_integers(a, b, tolerance)
    return math.isfinite(left) and math.isfinite(right) and abs(left - right) <= tolerance * max(1.0, abs(right))


def _close_integers(a: float, b: float, tolerance: float) -> bool:
    """The same for numbers beyond floats, exactly and in linear time: at least one is a huge integer."""
    if not (math.isfinite(a) if isinstance(a, float) else True) or (isinstance(b, float) and not math.isfinite(b)):
        return False
    left, right = int(a), int(b)
    above, below = tolerance.as_integer_ratio()
    return abs(left - right) * below <= above * max(1, abs(right))


def _equal_numbers(a: float, b: float) -> bool:
    finite = all(math.isfinite(number) for number in (a, b) if isinstance(number, float))
    return finite and a == b


def _same(returned: Any, expected: Any, numbers: Callable[[float, float], bool]) -> bool:
    """Equality of plain values: bool, None and text exactly, tuple as list, dicts unordered."""
    if isinstance(expected, (Tree, Chain)):
        if returned is None:
            return not expected
        return type(returned) is type(expected) and _all_same(returned, expected, numbers)
    if isinstance(returned, (Tree, Chain, Opaque)):
        return False
    if isinstance(expected, dict):
        return _same_dicts(returned, expected, numbers)
    if isinstance(expected, (set, frozenset)):
        return isinstance(returned, (Members, set, frozenset)) and _same_text(returned, expected)
    if isinstance(returned, (Members, Pairs)):
        return False
    if isinstance(expected, bool) or isinstance(returned, bool):
        return type(expected) is type(returned) and expected == returned
    if isinstance(expected, (int, float)):
        return isinstance(returned, (int, float)) and numbers(returned, expected)
    if isinstance(expected, (list, tuple)):
        return isinstance(returned, (list, tuple)) and _all_same(returned, expected, numbers)
    return type(returned) is type(expected) and bool(returned == expected)


def _all_same(returned: Any, expected: Any, numbers: Callable[[float, float], bool]) -> bool:
    return len(returned) == len(expected) and all(_same(a, b, numbers) for a, b in zip(returned, expected, strict=True))


def _same_text(returned: Any, expected: Any) -> bool:
    try:
        return canonical(returned) == canonical(expected)
    except Unequal:
        return False


def _same_dicts(returned: Any, expected: dict[Any, Any], numbers: Callable[[float, float], bool]) -> bool:
    """Keys by their text: those of an expectation are text, and anything else that came is no key of it."""
    if isinstance(returned, dict):
        returned = Pairs(returned.items())
    if not isinstance(returned, Pairs) or len(returned) != len(expected):
        return False
    if not all(type(key) is str and key in expected for key, _ in returned):
        return False
    items = dict(returned)
    return len(items) == len(expected) and all(_same(items[key], item, numbers) for key, item in expected.items())
