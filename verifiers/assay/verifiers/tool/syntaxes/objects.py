"""Calls as JSON objects: `<tool_call>{"name", "arguments"}</tool_call>` (Hermes, Qwen2.5, Qwen3) and
`{"name", "parameters"}` joined by `;` or white space (Llama 3).
"""

from __future__ import annotations

import re
from typing import Any

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_QUOTED_NAME = re.compile(r"[\"']name[\"']\s*:")
_PYTHON_TAG = "<|python_tag|>"


def hermes(reading: Reading) -> None:
    """Read every `<tool_call>` block; text outside blocks is ignored."""
    while reading.find(_OPEN):
        reading.attempt(lambda: _block(reading), resume=_CLOSE, again=_OPEN)


def _block(reading: Reading) -> Attempt:
    start = reading.at
    reading.take(_OPEN)
    value = reading.json(until=_CLOSE)
    reading.skip_space()
    if not (reading.options.lenient and reading.at >= len(reading.text)):
        reading.require(_CLOSE)
    return call_of(reading, value, start, "arguments")


def call_of(reading: Reading, value: Any, start: int, key: str) -> Attempt:
    """Return the call in a JSON object with `name` and `key`. Raises `Fault`."""
    if not isinstance(value, dict):
        raise Fault("markup")
    if len(value.keys() & {"arguments", "parameters"}) > 1:
        raise Fault("markup")
    given = value.get("id")
    return reading.call(value.get("name"), value.get(key), start, id=given if isinstance(given, str) else None)


def llama3_json(reading: Reading) -> None:
    """Read objects at the start and after each `<|python_tag|>`; other text is ignored.

    Without the tag, an object without `name` and `parameters` is text, not a failed attempt.
    """
    reading.skip_space()
    if reading.text.startswith("{", reading.at) and _looks_like_call(reading):
        _objects(reading)
    while reading.find(_PYTHON_TAG):
        start = reading.at
        reading.take(_PYTHON_TAG)
        reading.skip_space()
        if reading.text.startswith("{", reading.at):
            _objects(reading)
        else:
            reading.fail("markup", start)


def _objects(reading: Reading) -> None:
    """Read the object at the cursor, and those joined to it by `;` or white space."""
    while reading.attempt(lambda: _object(reading)):
        reading.skip_space()
        reading.take(";")
        reading.skip_space()
        if not reading.text.startswith("{", reading.at):
            return


def _object(reading: Reading) -> Attempt:
    start = reading.at
    value = reading.json()
    lenient = reading.options.lenient and isinstance(value, dict) and "parameters" not in value
    return call_of(reading, value, start, "arguments" if lenient else "parameters")


def _looks_like_call(reading: Reading) -> bool:
    """Return whether the object at the cursor is a call or a broken one; move past it if it is neither.

    A call is JSON with both keys; a broken one is not JSON but has a name.
    """
    probe = Reading(reading.text, reading.options, start=reading.at)
    try:
        value = probe.json()
    except Fault:
        return _QUOTED_NAME.search(reading.text, reading.at) is not None
    if isinstance(value, dict) and "name" in value and value.keys() & {"parameters", "arguments"}:
        return True
    reading.at = probe.at
    return False
