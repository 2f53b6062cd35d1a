"""`syntax: auto`: the marks in a text say which syntaxes it is in.

Each syntax whose mark stands in the text is read by its own reader, the one whose mark comes first before the others.
What is inside a call that was read is data to the later readers; everything else is not: a mark that leads to
no call hides none. So a text of several syntaxes has all their calls, in the order of their places.

Without a mark, only what names a declared tool at once is taken for a call: JSON (Llama 3) that the text begins
with, whatever the order of its keys, and a bracket of Python calls. A bare JSON array is an answer, never calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from assay.verifiers.tool.attempts import Attempt, Enough, Fault, Options
from assay.verifiers.tool.literals import NAME
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes.table import READERS

_FENCED = r"<｜tool▁call▁begin｜>function<｜tool▁sep｜>[^\n<]*+\n```"
_GLM = r"\s*+[^\s<{]++\s*+(?:<arg_key>|</tool_call>)"
_MARKS = {
    "mistral": re.compile(r"\[TOOL_CALLS\]"),
    "kimi_k2": re.compile(r"<\|tool_call(?:s_section)?_begin\|>"),
    "harmony": re.compile(r"<\|channel\|>"),
    "qwen3_xml": re.compile(r"<function="),
    "glm45": re.compile(r"<tool_call>" + _GLM),
    "hermes": re.compile(rf"<tool_call>(?!\s*+<function=|{_GLM})"),
    "deepseek_v3": re.compile(_FENCED),
    "deepseek_v31": re.compile(
        rf"(?!{_FENCED})<｜tool▁call▁begin｜>|<｜tool▁calls▁begin｜>(?!\s*+(?:<｜tool▁call▁begin｜>|\0))"
    ),
    "pythonic": re.compile(r"<function_calls>|<\|(?:tool_call|python)_start\|>|<\|python_tag\|>(?=\s*+\[)"),
    "llama3_json": re.compile(r"<\|python_tag\|>(?!\s*+\[)"),
}
_HINTS = {
    "mistral": ("[TOOL_CALLS]",),
    "kimi_k2": ("<|tool_call",),
    "harmony": ("<|channel|>",),
    "qwen3_xml": ("<function=",),
    "glm45": ("<tool_call>",),
    "hermes": ("<tool_call>",),
    "deepseek_v3": ("<｜tool▁call",),
    "deepseek_v31": ("<｜tool▁call",),
    "pythonic": ("[", "<function_calls>", "<|tool_call_start|>", "<|python_"),
    "llama3_json": ("<|python_tag|>",),
}
"""Plain text without which a mark cannot be there: looked for first, since that is quicker."""
_PYTHON = re.compile(r"\[\s*(" + NAME.pattern + r")\s*\(")
_NAME = re.compile(r"[\"']name[\"']\s*+:\s*+[\"']([^\"'\n]*+)[\"']")
_READ = "\0"
"""Stands for each character of a call that was read: no reader knows it."""


def read_auto(text: str, options: Options, start: int = 0) -> list[Attempt]:
    """The calls and failed attempts of every syntax that `text` is in from `start` on, in order."""
    waiting = {syntax for syntax, hints in _HINTS.items() if any(hint in text for hint in hints)}
    if _begins_as_call(text, options, start):
        attempts, rest = _read("llama3_json", text, options, start)
        waiting.discard("llama3_json")
    else:
        attempts, rest = [], text
    while places := [(at, name) for name in waiting if (at := _mark(name, rest, options, start)) >= 0]:
        syntax = min(places)[1]
        waiting.discard(syntax)
        found, rest = _read(syntax, rest, options, start)
        attempts += [attempt for attempt in found if attempt.ok or not _inside_a_failure(attempt, attempts)]
    return sorted(attempts, key=_place)


def _read(syntax: str, text: str, options: Options, start: int) -> tuple[list[Attempt], str]:
    """The attempts in one syntax, and the text without the calls among them."""
    reading = Reading(text, options, start=start)
    with suppress(Enough):
        READERS[syntax](reading)
    spans = sorted({attempt.span for attempt in reading.attempts if attempt.ok and attempt.span})
    return reading.attempts, _without(text, spans)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for first, last in spans:
        parts += [text[at:first], _READ * (last - max(first, at))]
        at = max(at, last)
    return "".join([*parts, text[at:]])


def _place(attempt: Attempt) -> int:
    return attempt.span[0] if attempt.span else 0


def _inside_a_failure(attempt: Attempt, earlier: list[Attempt]) -> bool:
    """Whether a failed attempt begins where another reader's failed: it is one attempt, read twice."""
    failed = (other.span for other in earlier if not other.ok and other.span)
    return any(first <= _place(attempt) < last for first, last in failed)


def _mark(syntax: str, text: str, options: Options, start: int) -> int:
    """Where the first mark of a syntax stands; -1 if there is none."""
    found = _MARKS[syntax].search(text, start)
    at = found.start() if found else -1
    if syntax != "pythonic" or options.tools is None:
        return at
    brackets = _PYTHON.finditer(text, start, at if at >= 0 else len(text))
    return next((bracket.start() for bracket in brackets if options.declared(bracket[1])), at)


def _begins_as_call(text: str, options: Options, start: int) -> bool:
    """Whether the text begins with JSON, whole or broken, that names a declared tool as a call does."""
    probe = Reading(text, options, start=start)
    probe.skip_space()
    if options.tools is None or not text.startswith("{", probe.at):
        return False
    begin = probe.at
    try:
        value = probe.json()
    except Fault:
        return any(options.declared(found[1]) for found in _NAME.finditer(text, begin, max(probe.at, begin)))
    if not isinstance(value, dict) or not value.keys() & {"parameters", "arguments"}:
        return False
    name = value.get("name")
    return isinstance(name, str) and options.declared(name)
