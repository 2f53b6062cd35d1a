"""Remove Markdown from text: emphasis, code marks, heading and list marks.

Emphasis is removed only in pairs and only at the edge of a word, so `2**10`, `3*5 + 4*8` and `x_1` are unchanged. One
pass. Not covered: links, tables, HTML.
"""

from __future__ import annotations

import re

LONGEST = 200_000
"""Texts longer than this (code points) are left unchanged: no answer is that long."""
_MARK = re.compile(r"\*{1,3}|_{1,3}|`{1,3}|~~")
# Not `>`, `-` and `+`: before an answer they are a bound or a sign, and removing them would change its value.
_LEAD = re.compile(r"\A\s*(?:(?:#{1,6}|[*•])[ \t]+)+")
_MAY_MARK = re.compile(r"[*_`~#•]")


def strip_markdown(text: str) -> str:
    """Return `text` without Markdown and without outer white space."""
    if len(text) > LONGEST or not _MAY_MARK.search(text):
        return text.strip()
    text = _LEAD.sub("", text)
    cuts = _paired(text)
    if not cuts:
        return text.strip()
    pieces, position = [], 0
    for start, end in sorted(cuts):
        pieces.append(text[position:start])
        position = end
    pieces.append(text[position:])
    return "".join(pieces).strip()


def _paired(text: str) -> list[tuple[int, int]]:
    """Return the spans of the marks that open or close emphasis or code."""
    opened: dict[str, list[tuple[int, int]]] = {}
    cuts: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        mark, start, end = match.group(), match.start(), match.end()
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        stack = opened.setdefault(mark, [])
        if stack and not before.isspace() and not _in_word(after):
            cuts += (stack.pop(), (start, end))
            _drop_inside(opened, cuts[-2][0])
        elif not after.isspace() and not _in_word(before):
            stack.append((start, end))
    return cuts


def _drop_inside(opened: dict[str, list[tuple[int, int]]], start: int) -> None:
    """Discard the marks opened inside a pair that has just closed."""
    for stack in opened.values():
        while stack and stack[-1][0] > start:
            stack.pop()


def _in_word(character: str) -> bool:
    return character.isalnum() or character in "\\{}()[]^_"
