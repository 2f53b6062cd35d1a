"""Containers that a call may change: how the caller's own becomes what the other end made of its copy."""

from __future__ import annotations

import collections
from typing import Any

from assay.sandbox.guest.values import tables

MUTABLE = (
    list, dict, set, bytearray, collections.deque, collections.defaultdict, collections.OrderedDict,
    collections.Counter,
)  # fmt: skip
_MAX_DEPTH = 50


def is_mutable(value: Any) -> bool:
    """Whether a call may change the value, and the change can be told."""
    return type(value) in MUTABLE or tables.is_array(value)


def refill(mine: Any, now: Any, depth: int = 0) -> Any:
    """Give `mine` the content of `now`, and its members likewise, so that other names for them see it too.

    Returns `mine`, or `now` where it is of another sort.
    """
    if depth > _MAX_DEPTH or not (is_mutable(mine) and _same_sort(mine, now)):
        return now
    if isinstance(mine, (list, collections.deque)):
        old = list(mine)
        new = [refill(old[place], item, depth + 1) if place < len(old) else item for place, item in enumerate(now)]
        mine.clear()
        mine.extend(new)
    elif isinstance(mine, dict):
        new_items = {key: refill(mine[key], item, depth + 1) if key in mine else item for key, item in now.items()}
        mine.clear()
        mine.update(new_items)
    elif isinstance(mine, set):
        mine.clear()
        mine.update(now)
    elif isinstance(mine, bytearray):
        mine[:] = now
    elif mine.shape == now.shape:
        mine[...] = now
    return mine


def _same_sort(mine: Any, now: Any) -> bool:
    return type(mine) is type(now) or (isinstance(mine, bytearray) and isinstance(now, bytes))
