"""Calls whose arguments are bare text between tags: Qwen3-Coder's, Seed-OSS's and GLM's.

    <tool_call><function=f><parameter=k>v</parameter></function></tool_call>
    <seed:tool_call><function=f><parameter=k>v</parameter></function></seed:tool_call>
    <tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>

A value ends at a closing tag that is followed by further markup, so a lone closing tag inside a value is data; in a
value on lines of its own, tags within a line are data too. If that leaves two readings, the attempt failed. `typed`
converts the text to a value.
"""

from __future__ import annotations

import re
from typing import Any

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.typed import typed_value

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_SEED = ("<seed:tool_call>", "</seed:tool_call>")
_FUNCTION = re.compile(r"\s*<function=([^<>\n]*)>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]*)>")
_AFTER_PARAMETER = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function>))")
_GLM_NAME = re.compile(r"\s*([^<\s]+)\s*(?=<arg_key>|</tool_call>)")
_GLM_KEY = re.compile(r"\s*<arg_key>([^<]*)</arg_key>\s*<arg_value>")
_AFTER_VALUE = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>))")


def qwen3_xml(reading: Reading) -> None:
    """Read every `<tool_call>` block; a function outside a block is a failed attempt."""
    _functions(reading, _OPEN, _CLOSE)


def seed_oss(reading: Reading) -> None:
    """Read every `<seed:tool_call>` block; a function outside a block is a failed attempt."""
    _functions(reading, *_SEED)


def _functions(reading: Reading, open_: str, close: str) -> None:
    while True:
        block, bare = (reading.text.find(mark, reading.at) for mark in (open_, "<function="))
        if block < 0 and bare < 0:
            return
        reading.at = min(at for at in (block, bare) if at >= 0)
        reading.attempt(lambda: _function(reading, open_, close), resume=close, again=open_)


def _function(reading: Reading, open_: str, close: str) -> Attempt:
    start = reading.at
    if not reading.take(open_) and not reading.options.lenient:
        raise Fault("markup")
    head = reading.match(_FUNCTION)
    if not head:
        raise Fault("markup")
    name = head[1].strip()
    args: dict[str, Any] = {}
    while key := reading.match(_PARAMETER):
        value = value_before(reading, _AFTER_PARAMETER, "<parameter=")
        reading.take("</parameter>")
        _add(args, key[1].strip(), value, name, reading)
    reading.require("</function>")
    if not (reading.options.lenient and not reading.text[reading.at :].strip()):
        reading.require(close)
    return reading.call(name, args, start)


def value_before(reading: Reading, end: re.Pattern[str], ambiguous: str) -> str:
    """Return the text up to `end`; the cursor stops before it. Raises `Fault`."""
    found = end.search(reading.text, reading.at)
    if not found:
        raise Fault("unclosed")
    text, reading.at = reading.text[reading.at : found.start()], found.start()
    framed = text[:1] == "\n" and len(text) > 1 and text[-1] == "\n"
    marks = [mark if not framed else "\n" + mark for mark in (found[0], ambiguous)]
    if any(mark in text for mark in marks) if framed else all(mark in text for mark in marks):
        raise Fault("markup")
    return text


def _add(args: dict[str, Any], key: str, text: str, name: str, reading: Reading) -> None:
    if not key or key in args:
        raise Fault("duplicate_key" if key else "markup")
    args[key] = typed_value(text, name, key, reading.options)


def glm(reading: Reading) -> None:
    """Read every `<tool_call>` block of GLM-4.5 and 4.7, which differ only in their newlines."""
    while reading.find(_OPEN):
        reading.attempt(lambda: _glm(reading), resume=_CLOSE, again=_OPEN)


def _glm(reading: Reading) -> Attempt:
    start = reading.at
    reading.take(_OPEN)
    head = reading.match(_GLM_NAME)
    if not head:
        raise Fault("markup")
    args: dict[str, Any] = {}
    while key := reading.match(_GLM_KEY):
        value = value_before(reading, _AFTER_VALUE, "<arg_key>")
        reading.take("</arg_value>")
        _add(args, key[1].strip(), value, head[1], reading)
    reading.require(_CLOSE)
    return reading.call(head[1], args, start)
