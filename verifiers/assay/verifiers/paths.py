"""JSON Pointers (RFC 6901) in which `*` matches any key or index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.verifiers.errors import InvalidReference

Path = tuple[str, ...]


def parse_path(pointer: str, field: str) -> Path:
    """Return the steps of a pointer. Raises `InvalidReference`."""
    if pointer and not pointer.startswith("/"):
        raise InvalidReference("a JSON Pointer must start with /", field=field)
    return pointer_steps(pointer)


def pointer_steps(pointer: str) -> Path:
    """Return the steps of a valid pointer."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def values_at(value: Any, path: Path) -> Iterator[Any]:
    """Yield the values at a path, in order."""
    if not path:
        yield value
        return
    for child in _children(value, path[0]):
        yield from values_at(child, path[1:])


def _children(value: Any, step: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if step == "*":
            yield from value.values()
        elif step in value:
            yield value[step]
    elif isinstance(value, list):
        if step == "*":
            yield from value
        elif (index := _index(step)) is not None and index < len(value):
            yield value[index]


def _index(step: str) -> int | None:
    return int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None


def without(value: Any, paths: Sequence[Path]) -> Any:
    """Return a value without everything at the paths."""
    here = [path for path in paths if path]
    if not here or not isinstance(value, (dict, list)):
        return value
    members = value.items() if isinstance(value, dict) else enumerate(value)
    kept = []
    for key, member in members:
        below = [path[1:] for path in here if path[0] in ("*", str(key))]
        if () not in below:
            kept.append((key, without(member, below)))
    return dict(kept) if isinstance(value, dict) else [member for _, member in kept]
