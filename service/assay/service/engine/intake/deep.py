"""A msgpack body in which values are nested too deeply for the parser: each is replaced by nil, and its field named.

Needed only for bodies that the parser refuses; it reads values one by one, without recursion, linear in the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.service.engine.intake.repair import Repair
from assay.verifiers.strict_json import DEPTH_LIMIT

_NIL = b"\xc0"
_SIZES = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_EXTENSIONS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8} | {
    0xD4 + n: 1 + (1 << n) for n in range(5)
}
_ARRAYS, _MAPS = {0xDC: 2, 0xDD: 4}, {0xDE: 2, 0xDF: 4}


class NotMsgpack(ValueError):
    """The body is cut short, or is no envelope."""


def without_depth(body: bytes) -> tuple[bytes, dict[int, list[tuple[str, Repair]]]]:
    """Return the body with nil for each field of an item that is too deep, and those fields by item.

    Raises `NotMsgpack`.
    """
    pieces: list[bytes] = []
    found: dict[int, list[tuple[str, Repair]]] = {}
    kept = 0
    for index, name, start, end, depth in _fields(body):
        if depth > DEPTH_LIMIT:
            pieces += (body[kept:start], _NIL)
            kept = end
            found.setdefault(index, []).append((name, Repair.TOO_DEEP))
    return b"".join((*pieces, body[kept:])), found


def _fields(body: bytes) -> Iterator[tuple[int, str, int, int, int]]:
    """Yield item, name, start, end and depth of each field of an item."""
    members, at, _ = _head(body, 0, maps=True)
    for _ in range(members):
        start = at
        at, _ = _skip(body, at)
        if body[start:at] != b"\xa5items":
            at, _ = _skip(body, at)
            continue
        items, at, _ = _head(body, at, maps=False)
        for index in range(items):
            names, at, _ = _head(body, at, maps=True)
            for _ in range(names):
                name = at
                at, _ = _skip(body, at)
                value = at
                at, depth = _skip(body, at)
                yield index, body[name + 1 : value].decode("utf-8", "replace")[:80], value, at, depth


def _head(body: bytes, at: int, *, maps: bool) -> tuple[int, int, bool]:
    """Return the count of a map or array, and where its content begins."""
    count, after, is_map = _container(body, at)
    if is_map is not maps:
        raise NotMsgpack
    return count, after, is_map


def _container(body: bytes, at: int) -> tuple[int, int, bool | None]:
    """Return count, begin of the content, and whether it is a map (None: not a container)."""
    if at >= len(body):
        raise NotMsgpack
    first = body[at]
    if 0x80 <= first <= 0x9F:
        return first & 15, at + 1, first < 0x90
    for table, is_map in ((_ARRAYS, False), (_MAPS, True)):
        if (width := table.get(first)) is not None:
            return int.from_bytes(body[at + 1 : at + 1 + width]), at + 1 + width, is_map
    return 0, at, None


def _skip(body: bytes, at: int) -> tuple[int, int]:
    """Return the end of a value and how deep it is. Raises `NotMsgpack`."""
    open_, deepest = [1], 0
    while open_:
        if not open_[-1]:
            open_.pop()
            continue
        open_[-1] -= 1
        count, after, is_map = _container(body, at)
        if is_map is None:
            at = _after_plain(body, at)
        else:
            at = after
            open_.append(2 * count if is_map else count)
            deepest = max(deepest, len(open_) - 1)
    if at > len(body):
        raise NotMsgpack
    return at, deepest


def _after_plain(body: bytes, at: int) -> int:
    first = body[at]
    if 0xA0 <= first <= 0xBF:
        return at + 1 + (first & 31)
    if (width := _SIZES.get(first)) is not None:
        return at + 1 + width + int.from_bytes(body[at + 1 : at + 1 + width])
    if (width := _EXTENSIONS.get(first)) is not None:
        return at + 2 + width + int.from_bytes(body[at + 1 : at + 1 + width])
    return at + 1 + _FIXED.get(first, 0)
