"""One text for every plain value that is equal to another, for members of sets.

Equality as the contract has it for values: int and float by value, bool apart, tuple = list, sets and dicts
unordered. Nothing that came from a jail is hashed but this text, so nobody can make a look-up slow; time is
linear but for sorting. NaN, infinities and foreign objects equal nothing and have no text.
"""

from __future__ import annotations

import math
from typing import Any

from assay.sandbox.guest.values.codec import Chain, Members, Pairs, Tree


class Unequal(ValueError):
    """The value holds something that is equal to nothing."""


def canonical(value: Any) -> str:
    """The text. Raises `Unequal`."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, complex):
        return f"({_number(value.real)},{_number(value.imag)})"
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (Members, set, frozenset)):
        return "{" + ",".join(sorted({canonical(item) for item in value})) + "}"
    if isinstance(value, (Pairs, dict)):
        pairs = value if isinstance(value, Pairs) else value.items()
        return "<" + ",".join(sorted(f"{canonical(key)}={canonical(item)}" for key, item in pairs)) + ">"
    if isinstance(value, (list, tuple)):
        sort = type(value).__name__ if isinstance(value, (Tree, Chain)) else ""
        return sort + "[" + ",".join(canonical(item) for item in value) + "]"
    raise Unequal


def _number(value: float) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unequal
        if not value.is_integer():
            return value.hex()
    return hex(int(value))
