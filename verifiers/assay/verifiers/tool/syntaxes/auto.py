"""`syntax: auto`: the marks in a text say which syntax it is in.

Without a mark, only what names a declared tool at once is taken for a call: JSON (Llama 3) that the text begins
with, and a bracket of Python calls. What comes first decides. A bare JSON array is an answer, never calls.
"""

from __future__ import annotations

import re
from itertools import islice

from assay.verifiers.tool.attempts import Options
from assay.verifiers.tool.literals import NAME

_MARKS: tuple[tuple[str, str], ...] = (
    ("[TOOL_CALLS]", "mistral"),
    ("<|tool_calls_section_begin|>", "kimi_k2"),
    ("<|tool_call_begin|>", "kimi_k2"),
    ("<|channel|>", "harmony"),
    ("<function=", "qwen3_xml"),
    ("<function_calls>", "pythonic"),
    ("<|tool_call_start|>", "pythonic"),
    ("<|python_start|>", "pythonic"),
    ("<|python_tag|>", "llama3_json"),
)
_DEEPSEEK = re.compile(r"<｜tool▁calls?▁begin｜>")
_FENCED = re.compile(r"<｜tool▁call▁begin｜>function<｜tool▁sep｜>[^\n<]*\n```")
_BLOCK = re.compile(r"<tool_call>\s*(\{|<function=|[^\s<{]+\s*(?:<arg_key>|</tool_call>))?")
_NAMED = re.compile(r"\s*\{\s*\"name\"\s*:\s*\"([^\"]*)\"")
_PYTHON = re.compile(r"\[\s*(" + NAME.pattern + r")\s*\(")
_IN_BLOCK = {"{": "hermes", "<function=": "qwen3_xml", None: "hermes"}
MAX_BRACKETS = 1000


def detect(text: str, options: Options, start: int = 0) -> str:
    """The name of the syntax; empty where there is none."""
    marks = [(at, name) for mark, name in _MARKS if (at := text.find(mark, start)) >= 0]
    if block := _BLOCK.search(text, start):
        marks.append((block.start(), _IN_BLOCK.get(block[1], "glm45")))
    if deepseek := _DEEPSEEK.search(text, start):
        marks.append((deepseek.start(), "deepseek_v3" if _FENCED.search(text, start) else "deepseek_v31"))
    return min([*marks, *_unmarked(text, options, start)], default=(0, ""))[1]


def _unmarked(text: str, options: Options, start: int) -> list[tuple[int, str]]:
    """What names a declared tool, and where."""
    named = _NAMED.match(text, start)
    if named and options.declared(named[1]):
        return [(start, "llama3_json")]
    brackets = islice(_PYTHON.finditer(text, start), MAX_BRACKETS)
    first = next((bracket for bracket in brackets if options.declared(bracket[1])), None)
    return [(first.start(), "pythonic")] if first else []
