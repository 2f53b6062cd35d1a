"""The JSON types that a JSON Schema allows, as far as its own keywords and its references into itself say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.verifiers.paths import pointer_steps, values_at

_ALIASES = {"str": "string", "text": "string", "varchar": "string", "char": "string", "enum": "string"}
_TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_DEPTH = 8


def types_of(schema: Any, root: Mapping[str, Any]) -> frozenset[str]:
    """Return the types that a schema allows; none if it does not say. `root`: the schema that references point into."""
    return frozenset(_types(schema, root, _DEPTH))


def is_of(value: Any, types: frozenset[str]) -> bool:
    """Return whether a parsed value that is no text is of one of the types."""
    if value is None:
        return "null" in types
    kind = _TYPE_OF.get(type(value), "number")
    return kind != "string" and (kind in types or (kind == "integer" and "number" in types))


def _types(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    if not isinstance(schema, Mapping) or depth == 0:
        return
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str):
            yield _ALIASES.get(kind.lower(), kind.lower())
    if kinds is None:
        for member in members(schema, root):
            yield from _types(member, root, depth - 1)
        values = schema["enum"] if isinstance(schema.get("enum"), list) else []
        for value in [*values, *([schema["const"]] if "const" in schema else [])]:
            yield "null" if value is None else _TYPE_OF.get(type(value), "object")


def members(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the subschemas that a schema is composed of."""
    for word in ("anyOf", "oneOf", "allOf"):
        members = schema.get(word)
        yield from members if isinstance(members, list) else ()
    target = schema.get("$ref")
    if isinstance(target, str) and target.startswith("#"):
        yield from values_at(root, pointer_steps(target[1:]))
