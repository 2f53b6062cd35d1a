"""Values of syntaxes that carry bare text: the tool's schema says whether a value is a string.

One newline on each side is removed. Text stays text if the schema allows only strings; otherwise it is decoded if it is
JSON, and else stays text. If a string is one of several allowed types, JSON of another allowed type is decoded. With
lenient parsing, Python's `True`, `False` and `None`, which some templates write, are decoded too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.tool.attempts import Options
from assay.verifiers.tool.paths import pointer_steps, values_at

_ALIASES = {"str": "string", "text": "string", "varchar": "string", "char": "string", "enum": "string"}
_TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_PYTHON = {"True": True, "False": False, "None": None}
_UNKNOWN: frozenset[str] = frozenset()
_DEPTH = 8


def typed_value(text: str, name: str, key: str, options: Options) -> Any:
    """Return the value of argument `key` of tool `name` written as `text`."""
    text = _unframed(text)
    types = _types_of(name, key, options)
    if types == {"string"}:
        return text
    try:
        value = strict_json.value_of(text)
    except strict_json.JsonFault:
        return _PYTHON.get(text, text) if options.lenient and "string" not in types else text
    return text if "string" in types and not _is_of(value, types) else value


def _unframed(text: str) -> str:
    if text.startswith("\r\n") and text.endswith("\r\n") and len(text) > 3:
        return text[2:-2]
    return text.removeprefix("\n").removesuffix("\n")


def _is_of(value: Any, types: frozenset[str]) -> bool:
    if value is None:
        return "null" in types
    kind = _TYPE_OF.get(type(value), "number")
    return kind != "string" and (kind in types or (kind == "integer" and "number" in types))


def _types_of(name: str, key: str, options: Options) -> frozenset[str]:
    tool = options.tool(name)
    properties = tool.parameters.get("properties") if tool else None
    if tool is None or not isinstance(properties, Mapping) or key not in properties:
        return _UNKNOWN
    if key not in tool.types:
        tool.types[key] = frozenset(_types(properties[key], tool.parameters, _DEPTH))
    return tool.types[key]


def _types(schema: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the types that a schema allows, by its own keywords and its references into `root`."""
    if not isinstance(schema, Mapping) or depth == 0:
        return
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str):
            yield _ALIASES.get(kind.lower(), kind.lower())
    if kinds is None:
        for member in _members(schema, root):
            yield from _types(member, root, depth - 1)
        values = schema["enum"] if isinstance(schema.get("enum"), list) else []
        for value in [*values, *([schema["const"]] if "const" in schema else [])]:
            yield "null" if value is None else _TYPE_OF.get(type(value), "object")


def _members(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the subschemas that a schema is composed of."""
    for word in ("anyOf", "oneOf", "allOf"):
        members = schema.get(word)
        yield from members if isinstance(members, list) else ()
    target = schema.get("$ref")
    if isinstance(target, str) and target.startswith("#"):
        yield from values_at(root, pointer_steps(target[1:]))
