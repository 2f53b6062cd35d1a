"""Calls in Python's syntax: `[f(a=1), g(b=[2])]` (Llama 4), with the marks that LFM2 puts around them, and one call a
line between `<function_calls>` tags (Olmo 3).

A bracket begins calls where it begins a line or names a declared tool; elsewhere it is prose.
"""

from __future__ import annotations

import re

from assay.verifiers.tool.literals import NAME, read_call
from assay.verifiers.tool.scanner import Reading

_START = re.compile(r"\[\s*(" + NAME.pattern + r")\s*\(|<function_calls>")
_MARKS = ("<|tool_call_start|>", "<|python_start|>", "<|python_tag|>")
_BETWEEN = re.compile(r"[\s,]*+")


def pythonic(reading: Reading) -> None:
    """Every bracket, or pair of tags, that holds calls."""
    while found := _START.search(reading.text, reading.at):
        reading.at = found.start()
        if found[1] is None:
            reading.take("<function_calls>")
            _calls(reading, "</function_calls>", found.start())
        elif _begins(reading, found):
            reading.take("[")
            _calls(reading, "]", found.start())
        else:
            reading.at = found.end()


def _begins(reading: Reading, found: re.Match[str]) -> bool:
    if reading.options.declared(found[1]):
        return True
    line = reading.text.rfind("\n", 0, found.start()) + 1
    before = reading.text[max(line, found.start() - 80) : found.start()].strip()
    return not before or before.endswith(_MARKS)


def _calls(reading: Reading, close: str, start: int) -> None:
    """Calls up to `close`. What follows a failed one, up to the end of its line, belongs to it."""
    commas = close == "]"
    while True:
        reading.match(_BETWEEN)
        if reading.take(close):
            return
        if not reading.attempt(lambda: read_call(reading), resume="\n"):
            return
        reading.match(_BETWEEN) if not commas else reading.skip_space()
        if commas and not reading.take(",") and not reading.text.startswith("]", reading.at):
            reading.fail("unclosed" if reading.at >= len(reading.text) else "markup", start)
            return
        if reading.at >= len(reading.text):
            reading.fail("unclosed", start)
            return
