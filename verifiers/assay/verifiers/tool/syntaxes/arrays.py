"""Calls as JSON arrays: `[TOOL_CALLS] [{…}]` and `[TOOL_CALLS]name[ARGS]{…}` (Mistral), and a bare array of
`{"name", "arguments"}` (xLAM, APIGen), which only the row's `syntax` distinguishes from a JSON answer.
"""

from __future__ import annotations

import re
from typing import Any

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes.objects import call_of

_MARK = "[TOOL_CALLS]"
_THINK = ("[THINK]", "[/THINK]")
_NAMED = re.compile(r"\s*+([^\s\[\]{}\"]++)\s*+(?:\[CALL_ID\]([\w-]++)\s*+)?(?:\[ARGS\])?(?=\s*+\{)")
_CALLS = re.compile(r"\[\s*\{")
_QUOTED_NAME = re.compile(r"[\"']name[\"']\s*:")
_CALL_KEYS = ("name", "arguments")


def mistral(reading: Reading) -> None:
    """Read every `[TOOL_CALLS]` outside `[THINK]`; other text is ignored."""
    if reading.text[reading.at :].lstrip().startswith(_THINK[0]) and not reading.find(_THINK[1]):
        return
    while reading.find(_MARK):
        mark = reading.at
        reading.take(_MARK)
        if reading.text[reading.at : reading.at + 40].lstrip().startswith("["):
            array(reading, mark)
            continue
        reading.at = mark
        reading.attempt(lambda: _named(reading), again=_MARK)


def _named(reading: Reading) -> Attempt:
    start = reading.at
    reading.take(_MARK)
    head = reading.match(_NAMED)
    if not head:
        raise Fault("unclosed" if reading.at >= len(reading.text.rstrip()) else "markup")
    return reading.call(head[1], reading.json(), start, id=head[2])


def array(reading: Reading, start: int) -> None:
    """Read the JSON array of calls at the cursor; anything else is one failed attempt."""
    try:
        values = reading.json()
    except Fault as fault:
        reading.at = max(reading.at, start + 1)
        reading.fail(fault.reason, start)
        reading.at = start + 1
        return
    if not values or not isinstance(values, list):
        reading.fail("markup", start)
        return
    for value in values:
        reading.attempt(lambda value=value: call_of(reading, value, start, "arguments"))  # type: ignore[misc]


def xlam(reading: Reading) -> None:
    """Read every array of objects that are calls; `[]` and other arrays are not calls."""
    if _CALLS.search(reading.text, reading.at) is None:
        _lone_object(reading)
        return
    while found := _CALLS.search(reading.text, reading.at):
        reading.at = found.start()
        probe = Reading(reading.text, reading.options, start=reading.at)
        try:
            calls = any(map(_is_call, probe.json()))
        except Fault:
            calls = _QUOTED_NAME.search(reading.text, reading.at, probe.at) is not None
        if calls:
            array(reading, reading.at)
        else:
            reading.at = max(probe.at, found.end())


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and any(key in value for key in _CALL_KEYS)


def _lone_object(reading: Reading) -> None:
    """Record a call outside an array as a failed attempt: it is not an answer."""
    reading.skip_space()
    text = reading.text[reading.at : reading.at + 1000]
    if text.startswith("{") and all(f'"{key}"' in text for key in _CALL_KEYS):
        start, reading.at = reading.at, len(reading.text)
        reading.fail("markup", start)
