"""Calls between special tokens: DeepSeek V3 and V3.1, Kimi K2. A section holds calls, each between an opening and a
closing mark.

    <｜tool▁call▁begin｜>function<｜tool▁sep｜>f\\n```json\\n{}\\n```<｜tool▁call▁end｜>     V3, R1
    <｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>                              V3.1
    <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>    Kimi K2

A call outside a section is a failed attempt, and so is a section without a call; a section's own closing mark may be
missing after a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading

Marks = tuple[str, str, str, str]
_DEEPSEEK = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")
_KIMI = ("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>")
_SEPARATOR = "<｜tool▁sep｜>"
_ARGUMENTS = "<|tool_call_argument_begin|>"
_FENCED = re.compile(r"([^\n<]+)\n```json\n")
_FENCE_END = re.compile(r"\s*```\s*(?=<｜tool▁call▁end｜>)")
_KIMI_ID = re.compile(r"\s*+([^\s<]++)\s*+")


def deepseek_v3(reading: Reading) -> None:
    """Read calls of type `function` whose arguments are in a fence."""
    sections(reading, _DEEPSEEK, _fenced)


def deepseek_v31(reading: Reading) -> None:
    """Read calls whose arguments follow the name."""
    sections(reading, _DEEPSEEK, _plain)


def kimi_k2(reading: Reading) -> None:
    """Read calls whose id contains the name."""
    sections(reading, _KIMI, _identified)


def sections(reading: Reading, marks: Marks, body: Callable[[Reading, int], Attempt]) -> None:
    """Read the calls of all sections. `marks`: of the section, of a call, and their closing ones. `body` reads a call
    from behind its opening mark to its closing one, and gets the position of the opening one.
    """
    section, begin, end, section_end = marks
    opened = reading.text.find(section, reading.at)
    while reading.find(begin):
        reading.attempt(lambda: _one(reading, marks, body, opened), resume=end, again=begin)
    if opened >= 0 and not reading.attempts:
        reading.at = len(reading.text)
        reading.fail("markup" if section_end in reading.text[opened:] else "unclosed", opened)


def _one(reading: Reading, marks: Marks, body: Callable[[Reading, int], Attempt], opened: int) -> Attempt:
    start = reading.at
    reading.take(marks[1])
    if not 0 <= opened < start:
        raise Fault("markup")
    call = body(reading, start)
    reading.require(marks[2])
    return call


def _fenced(reading: Reading, start: int) -> Attempt:
    if not reading.take("function" + _SEPARATOR):
        raise Fault("markup")
    head = reading.match(_FENCED)
    if not head:
        raise Fault("markup")
    args = reading.json(until="\n```" + _DEEPSEEK[2])
    if not reading.match(_FENCE_END):
        raise Fault("unclosed" if reading.at >= len(reading.text.rstrip()) else "markup")
    return reading.call(head[1].strip(), args, start)


def _plain(reading: Reading, start: int) -> Attempt:
    name = reading.until(_SEPARATOR)
    if "<" in name or "\n" in name.strip():
        raise Fault("markup")
    return reading.call(name.strip(), reading.json(until=_DEEPSEEK[2]), start)


def _identified(reading: Reading, start: int) -> Attempt:
    """Read a call whose id is `functions.NAME:INDEX`; the name may contain colons."""
    head = reading.match(_KIMI_ID)
    name, _, index = head[1].rpartition(":") if head else ("", "", "")
    if head is None or not name or not (index.isascii() and index.isdigit()):
        raise Fault("missing_name")
    reading.require(_ARGUMENTS)
    return reading.call(name.removeprefix("functions."), reading.json(until=_KIMI[2]), start, id=head[1])
