"""Where a sentence ends (contract, appendix, "Answer marker").

At `.`, `!` or `?` before white space and a capital letter, or before the end of the text that is
looked at; and at the wide stops. A script without cases counts as capitals. Not covered:
abbreviations ("approx. Five" is cut) and stops inside mathematics.
"""

from __future__ import annotations

import re

STOPS = ".!?。！？"
_CLOSERS = "*_`\"')]”’"
_STOP = re.compile(r"[.!?。！？]")
_BREAK = re.compile(r"[.!?。！？]|\n[ \t\r]*\n")
_WINDOWS = (1_000, 100_000)
"""How far back (code points) the start of a last sentence is looked for: then it is cut there."""


def ends_sentence(text: str, index: int, stop: int) -> bool:
    """Whether the stop at `index` ends a sentence of `text[:stop]`."""
    if text[index] in "。！？":
        return True
    position = index + 1
    while position < stop and text[position] in _CLOSERS:
        position += 1
    if position >= stop:
        return True
    if not text[position].isspace():
        return False
    while position < stop and (text[position].isspace() or text[position] in "*_`\"'“‘"):
        position += 1
    return position >= stop or (text[position].isalpha() and not text[position].islower())


def sentence_end(text: str, start: int, stop: int) -> int:
    """Index of the stop that ends the sentence at `start`, or `stop` if none does before `stop`."""
    for match in _STOP.finditer(text, start, stop):
        if ends_sentence(text, match.start(), stop):
            return match.start()
    return stop


def last_sentence(text: str) -> tuple[int, int]:
    """The span of the last sentence that is not blank, final stops included; a blank line ends one too."""
    start = window = 0
    end = len(text.rstrip())
    body = len(text[:end].rstrip(STOPS + _CLOSERS + " \t\r\n"))
    for size in _WINDOWS:
        window = max(0, body - size)
        start = _last_break(text, window, body)
        if start >= 0 or not window:
            break
    return max(start, window), end


def _last_break(text: str, start: int, stop: int) -> int:
    found = -1
    for match in _BREAK.finditer(text, start, stop):
        if text[match.start()] == "\n" or ends_sentence(text, match.start(), stop):
            found = match.end()
    return found
