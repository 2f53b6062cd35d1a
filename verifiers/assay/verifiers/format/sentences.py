"""Sentence splitting, with abbreviations.

A sentence ends at `.!?` before white space or the end, including closing quotes and emphasis, and at full-width stops.
A full stop after a title (`Dr.`), after `e.g.`, after an abbreviation before a number (`No. 5`) or after the number of
a list item does not end a sentence. One after initials (`U.S.`, `J. Smith`) does only if a capitalised common word
follows, one after `etc.` only if a capital follows. Linear: each stop looks at a few characters on both sides, and only
the first `LOOKS` stops of a text do so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.verifiers.format.stop_words import STOP_WORDS

_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]*_»]*+(?=\s|\Z)|[。！？]++[”’」』]*+")
_GOES_ON_WORDS = """
mr mrs ms mx dr prof st gen col lt capt cmdr sgt rev fr hon gov sen rep pres mt ft vs e.g i.e cf viz al approx dept
messrs mme mlle bzw z.b d.h
"""
_NUMBERED_WORDS = """
no nos nr fig figs vol p pp ch art eq sec par jan feb mar apr jun jul aug sep sept oct nov dec
"""
_GOES_ON = frozenset(_GOES_ON_WORDS.split())
_BEFORE_NUMBER = frozenset(_NUMBERED_WORDS.split())
_BEFORE_LOWER = frozenset(["etc", "inc", "ltd", "co", "corp", "jr", "sr", "bros", "a.m", "p.m", "ph.d", "usw"])
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_NEXT = re.compile(r"\s*+[\"'“‘(\[*_«]*+(\w*+)")
_HOLDS_WORD = re.compile(r"[^\W_]")
_REACH = 24
LOOKS = 10_000
"""Number of stops that are checked for abbreviations; every later stop ends a sentence."""


def split_sentences(text: str) -> Iterator[str]:
    """Yield the text cut at the sentence ends, with the ends; joined, the parts are the text."""
    at, looks = 0, LOOKS
    for found in _END.finditer(text):
        stop, end = found.span()
        if looks and text[stop] == "." and end < len(text):
            looks -= 1
            if _abbreviated(text, stop, end, at):
                continue
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences that hold a letter or digit, trimmed."""
    holds_word = _HOLDS_WORD.search
    return (part.strip() for part in split_sentences(text) if holds_word(part))


def _abbreviated(text: str, stop: int, end: int, start: int) -> bool:
    """Return whether the full stop at `stop` does not end the sentence that begins at `start`."""
    before = text[max(start, stop - _REACH) : stop]
    last = before.split()[-1].lstrip("\"'“‘([*_«") if before and not before[-1].isspace() else ""
    if not last or text.startswith("..", stop):
        return False
    if last.isdigit():
        return len(last) < 4 and _begins_a_line(text, stop - len(last), start)
    following = _NEXT.match(text, end, end + _REACH)
    word, key = following[1] if following else "", last.lower()
    if key in _GOES_ON:
        return True
    if key in _BEFORE_NUMBER and word[:1].isdigit():
        return True
    if key in _BEFORE_LOWER:
        return not word[:1].isupper()
    return _initials(last, before, word)


def _begins_a_line(text: str, at: int, start: int) -> bool:
    before = text[max(start, at - _REACH) : at]
    return not before.rpartition("\n")[2].strip(" \t#>*-") and (at - start < _REACH or "\n" in before)


def _initials(last: str, before: str, word: str) -> bool:
    """Return whether the stop follows initials: `U.S.` unless a common word follows, or the `J.` of a name."""
    name = len(word) > 1 and word[0].isupper() and word.lower() not in STOP_WORDS
    if _INITIALS.fullmatch(last):
        return name or (word != "" and not word[0].isupper())
    if len(last) > 1 or not last.isupper() or last == "I" or not name:
        return False
    earlier = before.split()[-2:-1]
    return not earlier or earlier[0][0].isupper()
