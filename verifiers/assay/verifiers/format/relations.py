"""The comparison operators of a constraint's `rel`."""

from __future__ import annotations

import operator
from collections.abc import Callable

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
