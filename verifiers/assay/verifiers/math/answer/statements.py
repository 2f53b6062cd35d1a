"""The last statement of a text: where it starts, and its text without what is no prose.

A sentence ends at `.!?` before white space and a capital, or before the end, also where a math delimiter stands
between; not behind an abbreviation (`Dr.`, `approx.`) or an initial. A line without a value is no statement of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.verifiers.extract import strip_markdown
from assay.verifiers.extract.found import words

LONGEST = 2_000
"""Code points of a statement that are looked at, from its end."""
_STOP = re.compile(r"[.!?。！？]|\n[ \t\r]*\n")
_CLOSERS = "*_`\"')]”’$\\"
_OPENERS = "*_`\"'“‘([$\\"
_ABBREVIATIONS = words(
    """
    dr mr mrs ms prof st jr sr vs etc approx no nos fig eq dept gen col rev vol pp ch sec ex inc ltd co mt ave blvd rd
    e.g i.e cf al est min max avg hr hrs lb lbs oz ft in yd mi sq cu jan feb mar apr jun jul aug sep sept oct nov dec
    mon tue
    wed thu fri sat sun a.m p.m u.s
    """
)
_LAST_WORD = re.compile(r"([A-Za-z](?:[A-Za-z.]{0,8}[A-Za-z])?)\Z")
# GSM8K's calculator notes (`9*2 = <<9*2=18>>18`), and tokens that end a text.
_NO_TEXT = re.compile(
    r"<<[^<>\n]{0,80}>>|<\|[^<>|\n]{1,40}\|>|</?s>|<eos>|<end_of_turn>|<pad>|\[/?INST\]|<｜[^<>｜\n]{1,40}｜>"
)
_TOKEN_AT_END = re.compile(
    r"(?:\s*(?:<\|[^<>|\n]{1,40}\|>|</s>|<eos>|<end_of_turn>|<pad>|<｜[^<>｜\n]{1,40}｜>))+\s*\Z"
)


class Statement(NamedTuple):
    """A statement: its clean text, and where it stands in the whole text."""

    text: str
    start: int
    end: int


def without_end_tokens(text: str) -> str:
    """`text` without the tokens that end a completion: `<|endoftext|>`, `</s>`."""
    if text.rstrip()[-1:] != ">":
        return text
    tail = text[-400:]
    return text[: len(text) - len(tail)] + _TOKEN_AT_END.sub("", tail)


def last_statement(text: str) -> Statement:
    """The last statement of `text`."""
    text = without_end_tokens(text)
    end = len(text.rstrip())
    low = max(0, end - LONGEST)
    body = len(text[:end].rstrip(".!?。！？" + _CLOSERS + " \t\r\n∎"))
    start = low
    for match in _STOP.finditer(text, low, body):
        if text[match.start()] == "\n" or _ends(text, match.start(), end):
            start = match.end()
    if low and start == low:
        start = next((i for i in range(low, min(low + 200, end)) if text[i].isspace()), low)
    return Statement(text[start:end], start, end)


def _ends(text: str, index: int, stop: int) -> bool:
    """Whether the stop at `index` ends a sentence."""
    if text[index] in "。！？":
        return True
    position = index + 1
    while position < stop and text[position] in _CLOSERS:
        position += 1
    if position >= stop:
        return True
    if not text[position].isspace():
        return False
    if text[index] == "." and position == index + 1 and _is_abbreviation(text, index):
        return False
    while position < stop and (text[position].isspace() or text[position] in _OPENERS):
        position += 1
    return position >= stop or text[position].isdigit() or (text[position].isalpha() and not text[position].islower())


def _is_abbreviation(text: str, index: int) -> bool:
    match = _LAST_WORD.search(text[max(0, index - 12) : index])
    if match is None:
        return False
    word = match.group(1)
    if len(word) == 1:
        return word.isupper() and text[index - 2 : index - 1] == " " and text[index - 3 : index - 2].isalpha()
    return word.lower() in _ABBREVIATIONS


def cleaned(text: str) -> str:
    """`text` without Markdown, calculator notes and special tokens."""
    return _NO_TEXT.sub("", strip_markdown(text))
