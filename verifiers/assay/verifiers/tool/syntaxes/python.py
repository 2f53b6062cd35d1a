"""Calls in Python syntax: `[f(a=1), g(b=[2])]` (Llama 4), also inside LFM2's marks, and one call per line between
`<function_calls>` tags (Olmo 3).

A bracket starts calls if it starts a line or names a declared tool; elsewhere it is prose. A mark without calls is a
failed attempt.
"""

from __future__ import annotations

import re

from assay.verifiers.tool.literals import NAME, read_call
from assay.verifiers.tool.scanner import Reading

_MARKS = ("<|tool_call_start|>", "<|python_start|>", "<|python_tag|>")
_TAG, _END = "<function_calls>", "</function_calls>"
_BRACKET = re.compile(r"\[\s*(" + NAME.pattern + r")\s*\(")
_START = re.compile("|".join([_BRACKET.pattern, *map(re.escape, (_TAG, *_MARKS))]))
_BETWEEN = re.compile(r"[\s,]*+")


def pythonic(reading: Reading) -> None:
    """Read every bracket, or pair of tags, that holds calls."""
    while found := _START.search(reading.text, reading.at):
        reading.at = found.start()
        if found[0] == _TAG:
            reading.take(_TAG)
            _calls(reading, _END, found.start())
        elif found[1] is None:
            _marked(reading, found[0])
        elif _begins(reading, found):
            reading.take("[")
            _calls(reading, "]", found.start())
        else:
            reading.at = found.end()


def _marked(reading: Reading, mark: str) -> None:
    """Move past a mark and white space to the bracket that must follow."""
    start = reading.at
    reading.take(mark)
    reading.skip_space()
    if not _BRACKET.match(reading.text, reading.at):
        reading.fail("markup", start)


def _begins(reading: Reading, found: re.Match[str]) -> bool:
    if reading.options.declared(found[1]):
        return True
    line = reading.text.rfind("\n", 0, found.start()) + 1
    before = reading.text[max(line, found.start() - 80) : found.start()].strip()
    return not before or before.endswith(_MARKS)


def _calls(reading: Reading, close: str, start: int) -> None:
    """Read calls up to `close`, or up to the first that fails; the text after that one is scanned again."""
    commas, before = close == "]", len(reading.attempts)
    while True:
        reading.match(_BETWEEN)
        if reading.take(close):
            if len(reading.attempts) == before:
                reading.fail("markup", start)
            return
        begun = reading.at
        if not reading.attempt(lambda: read_call(reading)):
            reading.at = begun
            return
        reading.match(_BETWEEN) if not commas else reading.skip_space()
        if commas and not reading.take(",") and not reading.text.startswith("]", reading.at):
            reading.fail("unclosed" if reading.at >= len(reading.text) else "markup", start)
            return
        if reading.at >= len(reading.text):
            reading.fail("unclosed", start)
            return
