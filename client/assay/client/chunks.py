"""Cut a sequence of items into requests of limited item count and bytes; groups stay whole.

A group is split only if it alone exceeds the limit. In a list, the items of a group are first brought together; in a
file, only adjacent items of a group stay together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Protocol, TypeVar

CHUNK_ITEMS = 256
CHUNK_BYTES = 1 << 20


class Sized(Protocol):
    """An element of a chunk."""

    @property
    def group(self) -> str | None:
        """The prompt's id."""

    @property
    def size(self) -> int:
        """Size in bytes."""


T = TypeVar("T", bound=Sized)


def gathered(items: Iterable[T]) -> list[T]:
    """Return the items with those of each group adjacent, groups in the order of their first item."""
    places: dict[object, list[T]] = {}
    for index, item in enumerate(items):
        places.setdefault(index if item.group is None else item.group, []).append(item)
    return [item for members in places.values() for item in members]


def chunks(items: Iterable[T], *, max_items: int = CHUNK_ITEMS, max_bytes: int = CHUNK_BYTES) -> Iterator[list[T]]:
    """Cut `items` into lists, lazily, in order."""
    chunk: list[T] = []
    size = 0
    for unit in _units(items, max_items=max_items, max_bytes=max_bytes):
        weight = sum(item.size for item in unit)
        if chunk and (len(chunk) + len(unit) > max_items or size + weight > max_bytes):
            yield chunk
            chunk, size = [], 0
        chunk += unit
        size += weight
    if chunk:
        yield chunk


def _units(items: Iterable[T], *, max_items: int, max_bytes: int) -> Iterator[list[T]]:
    """Yield units that are sent together: one item, or one group; a group over the limit in pieces."""
    for group, members in groupby(items, key=lambda item: item.group):
        if group is None:
            yield from ([item] for item in members)
            continue
        unit: list[T] = []
        size = 0
        for item in members:
            if unit and (len(unit) >= max_items or size + item.size > max_bytes):
                yield unit
                unit, size = [], 0
            unit.append(item)
            size += item.size
        yield unit
