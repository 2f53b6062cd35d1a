"""Values of syntaxes that carry bare text: the tool's schema says whether a value is a string.

One newline on each side is removed. Text stays text if the schema allows only strings; otherwise it is decoded if it is
JSON, and else stays text. If a string is one of several allowed types, JSON of another allowed type is decoded. With
lenient parsing, Python's `True`, `False` and `None`, which some templates write, are decoded too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.json_types import is_of, types_of
from assay.verifiers.tool.attempts import Options

_PYTHON = {"True": True, "False": False, "None": None}
_UNKNOWN: frozenset[str] = frozenset()


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
    return text if "string" in types and not is_of(value, types) else value


def _unframed(text: str) -> str:
    if text.startswith("\r\n") and text.endswith("\r\n") and len(text) > 3:
        return text[2:-2]
    return text.removeprefix("\n").removesuffix("\n")


def _types_of(name: str, key: str, options: Options) -> frozenset[str]:
    tool = options.tool(name)
    properties = tool.parameters.get("properties") if tool else None
    if tool is None or not isinstance(properties, Mapping) or key not in properties:
        return _UNKNOWN
    if key not in tool.types:
        tool.types[key] = types_of(properties[key], tool.parameters)
    return tool.types[key]
