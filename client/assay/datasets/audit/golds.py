"""A completion that must be accepted: the row's own `gold_completion`, or one made from its reference."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
_ABSENT = object()

WRAPPERS: dict[str, Callable[[str], str]] = {
    "whole": str,
    "answer_tag": lambda text: f"<answer>{text}</answer>",
    "hash4": lambda text: f"#### {text}",
    "answer_line": lambda text: f"The answer is: {text}",
    "boxed": lambda text: f"\\boxed{{{text}}}",
    "boxed_last": lambda text: f"\\boxed{{{text}}}",
    "last_number": lambda text: f"The answer is: {text}",
    "choice": lambda text: f"The answer is: {text}",
    "final_line": lambda text: f"#### {text}",
    "auto": lambda text: f"\\boxed{{{text}}}",
}
"""How an answer is written so that each extraction finds it."""


def verifier_of(row: Row) -> str:
    """Return the verifier's name, without a pinned version."""
    return str(row.get("verifier", "")).partition("@")[0]


def gold_of(row: Row) -> Any:
    """Return a completion that the row's verifier must accept, or None where none can be made."""
    given = row.get("gold_completion")
    if given is not None:
        return given
    make = _MAKERS.get(verifier_of(row))
    reference = row.get("reference")
    return make(reference) if make and isinstance(reference, Mapping) else None


def wrapped(reference: Row, answer: str, *, default: str = "boxed_last") -> str:
    """Return an answer as the reference's extraction finds it."""
    return WRAPPERS.get(str(reference.get("extract", default)), str)(answer)


def _exact(reference: Row) -> str | None:
    gold = reference.get("gold")
    if reference.get("gold_extract") and isinstance(gold, str):
        return gold
    if isinstance(gold, list):
        gold = (str(reference.get("sep", ",")) + " ").join(map(str, gold))
    return None if gold is None or isinstance(gold, bool | dict) else wrapped(reference, str(gold), default="whole")


def _math(reference: Row) -> str | None:
    answer = reference.get("answer")
    return wrapped(reference, str(answer)) if isinstance(answer, str | int | float) else None


def _tool(reference: Row) -> Any:
    calls = expected_calls(reference)
    if calls is None:
        return "There is nothing to call." if expectation(reference).get("no_call") else None
    made = [(name, arguments(args)) for name, args in calls]
    return None if any(args is None for _, args in made) else [message(made)]


def expectation(reference: Any) -> Row:
    """Return what a tool row expects; empty where a reference is none, or says nothing that can be read."""
    expect = reference.get("expect") if isinstance(reference, Mapping) else None
    return expect if isinstance(expect, Mapping) else {}


def expected_calls(reference: Row) -> list[tuple[str, Any]] | None:
    """Names and arguments (with matchers) that a tool row expects, or None."""
    calls = expectation(reference).get("calls")
    if not isinstance(calls, list) or not all(isinstance(c, Mapping) and "name" in c for c in calls):
        return None
    return [(str(call["name"]), call.get("args", {})) for call in calls]


def message(calls: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an assistant's message with these calls."""
    made = [{"type": "function", "function": {"name": name, "arguments": json.dumps(args)}} for name, args in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


def arguments(pattern: Any) -> Any:
    """Arguments that a pattern with matchers accepts; None where a matcher does not say what it accepts."""
    value = _value(pattern)
    return None if value is _Unknown else value


class _Unknown:
    """A matcher that accepts values which it does not name."""


def _value(pattern: Any) -> Any:
    if isinstance(pattern, list):
        items = [_value(item) for item in pattern]
        return _Unknown if any(item is _Unknown for item in items) else items
    if not isinstance(pattern, Mapping):
        return pattern
    if len(pattern) == 1 or "$num" in pattern:
        for name, read in _MATCHERS.items():
            if name in pattern:
                return read(pattern[name])
    if any(str(key).startswith("$") for key in pattern):
        return _Unknown
    members = {key: _value(item) for key, item in pattern.items()}
    if any(item is _Unknown for item in members.values()):
        return _Unknown
    return {key: item for key, item in members.items() if item is not _ABSENT}


_MATCHERS: dict[str, Callable[[Any], Any]] = {
    "$eq": lambda value: value,
    "$ci": lambda value: value,
    "$num": lambda value: value,
    "$date": lambda value: value,
    "$unordered": _value,
    "$optional": _value,
    "$any": lambda options: next((v for o in options if (v := _value(o)) is not _Unknown), _Unknown),
    "$absent": lambda _: _ABSENT,
}


def _schema(reference: Row) -> str | None:
    gold = reference.get("gold", _ABSENT)
    value = _Unknown if gold is _ABSENT else _value(gold)
    return None if value is _Unknown or reference.get("mode") == "tool_call" else json.dumps(value)


_MAKERS: dict[str, Callable[[Row], Any]] = {"exact": _exact, "math": _math, "tool": _tool, "schema": _schema}
