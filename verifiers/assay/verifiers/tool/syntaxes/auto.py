"""`syntax: auto`: detect the syntaxes of a text by their marks.

Each syntax whose mark occurs in the text is read by its own reader, in the order of the first marks. The inside of a
call that was read is data to later readers; everything else is read again, so a mark that leads to no call hides none.
A text in several syntaxes therefore gives all their calls, in the order of their positions.

Without a mark, only text that names a declared tool at once is taken as a call: JSON (Llama 3) at the start of the
text, with keys in any order, and a bracket of Python calls. A bare JSON array is an answer, never calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from assay.verifiers.tool.attempts import Attempt, Fault, Options, ReadLimitReached
from assay.verifiers.tool.literals import NAME
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes.table import READERS
from assay.verifiers.tool.syntaxes.tagged import MARKS

_FENCED = r"<｜tool▁call▁begin｜>function<｜tool▁sep｜>[^\n<]*+\n```"
_GLM = r"\s*+[^\s<{]++\s*+(?:<arg_key>|</tool_call>)"
_MARKS = {
    "mistral": re.compile(r"\[TOOL_CALLS\]"),
    "kimi_k2": re.compile(r"<\|tool_call(?:s_section)?_begin\|>"),
    "harmony": re.compile(r"<\|channel\|>"),
    "qwen3_xml": re.compile(r"<tool_call>\s*+<function=|(?<!<seed:tool_call>)<function=(?![^<>\n]*+>\s*+\{)"),
    "glm45": re.compile(r"<tool_call>" + _GLM),
    "hermes": re.compile(rf"<tool_call>(?!\s*+<function=|{_GLM})"),
    "deepseek_v3": re.compile(_FENCED),
    "deepseek_v31": re.compile(
        rf"(?!{_FENCED})<｜tool▁call▁begin｜>|<｜tool▁calls▁begin｜>(?!\s*+(?:<｜tool▁call▁begin｜>|\0))"
    ),
    "pythonic": re.compile(
        r"<function_calls>(?!\s*+(?:\{|\[\s*+\{))|<\|(?:tool_call|python)_start\|>|<\|python_tag\|>(?=\s*+\[)"
    ),
    "llama3_json": re.compile(r"<\|python_tag\|>(?!\s*+\[)"),
    "deepseek_v32": re.compile(r"</?｜DSML｜"),
    "minimax_m2": re.compile(r"<minimax:tool_call>|<invoke name="),
    "gemma": re.compile(r"<start_function_call>|<\|tool_call>|```tool_code"),
    "seed_oss": re.compile(r"<seed:tool_call>"),
    **{name: MARKS[name] for name in ("phi4", "jamba", "internlm2", "tagged_json")},
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
    "deepseek_v32": ("｜DSML｜",),
    "minimax_m2": ("<minimax:tool_call>", "<invoke name="),
    "gemma": ("<start_function_call>", "<|tool_call>", "```tool_code"),
    "seed_oss": ("<seed:tool_call>",),
    "phi4": ("<|tool_call|>", "functools["),
    "jamba": ("<tool_calls>",),
    "internlm2": ("<|action_start|>",),
    "tagged_json": ("<function", "<tool", "<api_call>", "<action>", "<call>", "<|", "```"),
}
"""Plain text that must occur for a mark to match; searched first because it is faster."""
_PYTHON = re.compile(r"\[\s*(" + NAME.pattern + r")\s*\(")
_NAME = re.compile(r"[\"']name[\"']\s*+:\s*+[\"']([^\"'\n]*+)[\"']")
_READ = "\0"
"""Replaces each character of a call that was read; no reader recognises it."""


def read_auto(text: str, options: Options, start: int = 0) -> list[Attempt]:
    """Return the calls and failed attempts of every syntax in `text` from `start` on, in order."""
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
    """Return the attempts in one syntax, and the text without the calls among them."""
    reading = Reading(text, options, start=start)
    with suppress(ReadLimitReached):
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
    """Return whether a failed attempt starts inside another reader's failed attempt: one attempt, read twice."""
    failed = (other.span for other in earlier if not other.ok and other.span)
    return any(first <= _place(attempt) < last for first, last in failed)


def _mark(syntax: str, text: str, options: Options, start: int) -> int:
    """Return the position of the first mark of a syntax, or -1."""
    found = _MARKS[syntax].search(text, start)
    at = found.start() if found else -1
    if syntax != "pythonic" or options.tools is None:
        return at
    brackets = _PYTHON.finditer(text, start, at if at >= 0 else len(text))
    return next((bracket.start() for bracket in brackets if options.declared(bracket[1])), at)


def _begins_as_call(text: str, options: Options, start: int) -> bool:
    """Return whether the text starts with JSON, whole or broken, that names a declared tool as a call would."""
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
