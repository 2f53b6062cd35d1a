"""Equality of JSON values: 1 = 1.0, true is not 1, arrays are ordered, objects are not.

Numbers are worth what their text says (`numbers`): 6.02e23 is 602000000000000000000000.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from assay.contract import numbers


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal."""
    if type(left) is str:
        return bool(left == right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)):
        return isinstance(right, (int, float)) and numbers.equal(left, right)
    if left is None:
        return right is None
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return False


def key_of(value: Any) -> Hashable:
    """A hashable that is equal exactly for equal JSON values."""
    if isinstance(value, bool) or value is None:
        return ("constant", str(value))
    if isinstance(value, (int, float)):
        return ("number", numbers.decimal_of(value))
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ("array", tuple(map(key_of, value)))
    return ("object", frozenset((key, key_of(item)) for key, item in value.items()))
