"""Berkeley Function Calling Leaderboard: questions with tools, and the accepted arguments.

The types of its schemas (`dict`, `float`, `tuple`, `any`) become JSON Schema types. Accepted values become matchers; an
empty string among them means that the argument may be omitted, as in BFCL's own checker. A null is a key that Parquet
adds where other records have one, and is left out. Categories without answers (irrelevance) expect no call. Not
covered: multi-turn categories, and languages other than Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.datasets.converters.base import Converter, Fields, Options, name_of
from assay.datasets.records import RecordFault

_TYPES = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "list": "array",
    "bool": "boolean",
    "str": "string",
    "int": "integer",
}


def _bfcl(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    name = str(fields.get("id", ""))
    functions, question = fields["function"], fields["question"]
    if not (isinstance(functions, list) and all(isinstance(f, dict) and "name" in f for f in functions)):
        raise RecordFault("column function is not a list of tools")
    if not (isinstance(question, list) and len(question) == 1 and isinstance(question[0], list)):
        raise RecordFault("column question is not one turn of messages")
    accepted = fields.get("ground_truth", options.answer(name))
    if accepted is None and "irrelevance" not in name:
        raise RecordFault(f"no accepted answer for {name or 'this id'} (--answers FILE)")
    calls = [_call(call) for call in accepted or []]
    yield {
        **name_of(name),
        "prompt": question[0],
        "verifier": "tool",
        "reference": {
            "tools": [_tool(function) for function in functions],
            "syntax": options.syntax,
            "expect": {"calls": calls} if calls else {"no_call": True},
        },
        **({"gold_completion": [_gold(accepted)]} if calls else {}),
    }


def _tool(function: Fields) -> dict[str, Any]:
    kept = dict(_present(dict(function)))
    return {**kept, "parameters": _schema(kept.get("parameters", {}))}


def _schema(schema: Any) -> Any:
    """Return BFCL's schema as JSON Schema."""
    if isinstance(schema, list):
        return [_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: _schema(value) for key, value in schema.items() if value is not None}
    kind = schema.get("type")
    if kind == "any":
        del out["type"]
    elif isinstance(kind, str):
        out["type"] = _TYPES.get(kind, kind)
    return out


def _call(call: Any) -> dict[str, Any]:
    if not isinstance(call, dict) or len(_present(call)) != 1:
        raise RecordFault("an accepted answer is not one call")
    ((name, args),) = _present(call)
    return {"name": name, "args": {key: _accepted(values) for key, values in _present(args)}}


def _present(members: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(key, value) for key, value in members.items() if value is not None]


def _accepted(values: Any) -> Any:
    """Return a list of accepted values as a matcher."""
    if not isinstance(values, list):
        raise RecordFault("accepted values are not a list")
    golds = [_nested(value) for value in values if value != ""]
    matcher: dict[str, Any] = {"$any": golds} if golds else {"$absent": True}
    return {"$optional": matcher} if "" in values and golds else matcher


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _accepted(item) if isinstance(item, list) else item for key, item in _present(value)}
    return [_nested(item) for item in value] if isinstance(value, list) else value


def _gold(accepted: Any) -> dict[str, Any]:
    """Return a message that makes the first accepted calls."""
    calls = []
    for call in accepted:
        ((name, args),) = _present(call)
        chosen = {key: value for key, values in _present(args) if (value := _first(values)) is not None}
        calls.append({"type": "function", "function": {"name": name, "arguments": json.dumps(chosen)}})
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _first(values: list[Any]) -> Any:
    golds = [value for value in values if value != ""]
    return _plain(golds[0]) if golds else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        chosen = {key: _first(item) if isinstance(item, list) else item for key, item in value.items()}
        return {key: item for key, item in chosen.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


BFCL = Converter(
    name="bfcl",
    summary="question, function; accepted answers in --answers FILE (BFCL, single turn)",
    columns=("question", "function"),
    convert=_bfcl,
)
