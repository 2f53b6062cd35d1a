"""Read values that are all text (XML, CSV) as the types that a schema asks for.

A text becomes a number, a boolean or null if the schema allows that type there, not text, and the text is JSON of that
type. A single element where the schema asks for an array is one of one; an empty element is what the schema allows of
text, object, array, null. Anything else stays text, and the schema decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.json_types import is_of, members, types_of

_EMPTY: tuple[tuple[str, Any], ...] = (("string", ""), ("object", {}), ("array", []), ("null", None))


def typed(value: Any, schema: Any) -> Any:
    """Return the value with its texts read. Raises `JsonFault` if it is nested too deeply."""
    root = schema if isinstance(schema, Mapping) else {}
    return _typed(value, root, root, 0)


def has_property(schema: Any, name: str) -> bool:
    """Return whether a schema has a property of that name."""
    root = schema if isinstance(schema, Mapping) else {}
    return _property(root, name, root) is not None


def _typed(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if depth > strict_json.DEPTH_LIMIT:
        raise strict_json.JsonFault("too_deep", "nesting too deep", strict_json.DEPTH_LIMIT)
    types = types_of(schema, root)
    if value is None:
        return next((empty for kind, empty in _EMPTY if kind in types), "")
    if isinstance(value, str):
        return _from_text(value, types, schema, root, depth)
    if isinstance(value, list):
        items = _items(schema, root)
        return [_typed(element, items, root, depth + 1) for element in value]
    if "array" in types and "object" not in types:
        return [_typed(value, _items(schema, root), root, depth + 1)]
    return {name: _typed(member, _property(schema, name, root), root, depth + 1) for name, member in value.items()}


def _from_text(text: str, types: frozenset[str], schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if "array" in types and "string" not in types:
        return [_typed(text, _items(schema, root), root, depth + 1)]
    if not types or "string" in types:
        return text
    try:
        value = strict_json.value_of(text)
    except strict_json.JsonFault:
        return text
    return value if is_of(value, types) else text


def _property(schema: Any, name: str, root: Mapping[str, Any]) -> Any:
    for part in _parts(schema, root):
        properties = part.get("properties")
        if isinstance(properties, Mapping) and name in properties:
            return properties[name]
    return None


def _items(schema: Any, root: Mapping[str, Any]) -> Any:
    return next((part["items"] for part in _parts(schema, root) if "items" in part), None)


def _parts(schema: Any, root: Mapping[str, Any], depth: int = 8) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and those that it is composed of."""
    if not isinstance(schema, Mapping) or depth == 0:
        return
    yield schema
    for member in members(schema, root):
        yield from _parts(member, root, depth - 1)
