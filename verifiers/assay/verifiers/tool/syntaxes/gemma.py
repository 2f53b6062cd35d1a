"""Calls of Gemma: FunctionGemma's, Gemma 4's, and the `tool_code` fence of Gemma 3.

    <start_function_call>call:f{k:<escape>text<escape>,n:5}<end_function_call>
    <|tool_call>call:f{k:<|"|>text<|"|>,xs:[1,2],o:{a:true}}<tool_call|>
    ```tool_code
    f(k="text", n=5)
    ```

Keys are bare words or quoted as values are; a value is quoted text, JSON's literals, a list or an object. The closing
mark ends generation, so the end of the text, or another special token, may replace it.
"""

from __future__ import annotations

import re
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.literals import read_call
from assay.verifiers.tool.scanner import Reading, decoded

FENCE = "```tool_code"
_OPEN = re.compile(r"<start_function_call>|<\|tool_call>|```tool_code")
_CLOSE = {"<start_function_call>": "<end_function_call>", "<|tool_call>": "<tool_call|>"}
_NAME = re.compile(r"\s*call:\s*([^\s{}<>]+)\s*(?=\{)")
_QUOTES = ("<escape>", '<|"|>')
_KEY = re.compile(r"\s*([^\s:{}\[\],<>\"]+)\s*:")
_BARE = re.compile(r"[^\s,{}\[\]<>\"]+|\"(?:[^\"\\]|\\.)*+\"")
_ENDS = re.compile(r"\s*+(?:\Z|<start_function_response>|<\|tool_response>|<end_of_turn>|<turn\|>|<eos>)")
_FENCE_END = re.compile(r"\s*+(?:```|\Z)")


def gemma(reading: Reading) -> None:
    """Read every call between Gemma's marks, and every line of a `tool_code` fence."""
    while found := _OPEN.search(reading.text, reading.at):
        reading.at = found.start()
        if found[0] == FENCE:
            _fence(reading)
        else:
            reading.attempt(lambda mark=found[0]: _call(reading, mark), resume=_CLOSE[found[0]], again=found[0])  # type: ignore[misc]


def _call(reading: Reading, mark: str) -> Attempt:
    start = reading.at
    reading.take(mark)
    head = reading.match(_NAME)
    if not head:
        raise Fault("unclosed" if reading.at >= len(reading.text.rstrip()) else "missing_name")
    args = _object(reading, 0)
    if not reading.take(_CLOSE[mark]) and not _ENDS.match(reading.text, reading.at):
        raise Fault("markup")
    return reading.call(head[1], args, start)


def _value(reading: Reading, depth: int) -> Any:
    if depth > strict_json.DEPTH_LIMIT // 2:
        raise Fault("invalid_json")
    reading.skip_space()
    for quote in _QUOTES:
        if reading.take(quote):
            return reading.until(quote)
    if reading.text.startswith("{", reading.at):
        return _object(reading, depth + 1)
    if reading.take("["):
        return _list(reading, depth + 1)
    bare = reading.match(_BARE)
    if not bare:
        raise Fault("unclosed" if reading.at >= len(reading.text) else "literal")
    return decoded(bare[0])


def _object(reading: Reading, depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    reading.require("{")
    while not _closed(reading, "}", first=not members):
        key = _key(reading)
        if key in members:
            raise Fault("duplicate_key")
        members[key] = _value(reading, depth)
    return members


def _list(reading: Reading, depth: int) -> list[Any]:
    elements: list[Any] = []
    while not _closed(reading, "]", first=not elements):
        elements.append(_value(reading, depth))
    return elements


def _closed(reading: Reading, close: str, *, first: bool) -> bool:
    """Move past the closing bracket, or past the comma before the next member. Raises `Fault`."""
    reading.skip_space()
    if reading.take(close):
        return True
    if not first:
        reading.require(",")
    return False


def _key(reading: Reading) -> str:
    reading.skip_space()
    for quote in _QUOTES:
        if reading.take(quote):
            key = reading.until(quote)
            reading.require(":")
            return key
    found = reading.match(_KEY)
    if not found:
        raise Fault("unclosed" if reading.at >= len(reading.text) else "markup")
    return found[1]


def _fence(reading: Reading) -> None:
    """Read the calls of a fence, one a line; anything else in it is a failed attempt."""
    start = reading.at
    reading.take(FENCE)
    before = len(reading.attempts)
    while not reading.match(_FENCE_END):
        reading.skip_space()
        if not reading.attempt(lambda: read_call(reading), resume="```"):
            return
    if len(reading.attempts) == before:
        reading.fail("markup", start)
