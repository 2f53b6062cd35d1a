"""Sentence ends (contract, appendix, "Answer marker").

A sentence ends at `.`, `!` or `?` before white space and a capital letter, or before the end of the given text; and at
full-width stops. Letters of scripts without case count as capitals. Not covered: abbreviations ("approx. Five" is cut)
and stops inside mathematics.
"""

from __future__ import annotations

import re

STOPS = ".!?。！？"
_CLOSERS = "*_`\"')]”’"
_STOP = re.compile(r"[.!?。！？]")
_BREAK = re.compile(r"[.!?。！？]|\n[ \t\r]*\n")
_WINDOWS = (1_000, 100_000)
"""Maximum distance (code points) that the start of the last sentence is searched backwards; it is cut there."""


def ends_sentence(text: str, index: int, stop: int) -> bool:
    """Return whether the stop at `index` ends a sentence of `text[:stop]`."""
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
    """Return the index of the stop that ends the sentence at `start`, or `stop` if none does before it."""
    for match in _STOP.finditer(text, start, stop):
        if ends_sentence(text, match.start(), stop):
            return match.start()
    return stop


def last_sentence(text: str) -> tuple[int, int]:
    """Return the span of the last sentence that is not blank, with its final stops. A blank line ends a sentence
    too.
    """
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
