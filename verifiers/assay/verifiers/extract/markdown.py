"""Text without its Markdown: emphasis, code marks, heading and list marks.

Emphasis is removed in pairs only, and only where a mark stands at the edge of a word, so that
`2**10`, `3*5 + 4*8` and `x_1` keep theirs. One pass. Not covered: links, tables, HTML.
"""

from __future__ import annotations

import re

LONGEST = 200_000
"""Longer texts (code points) are left as they are: no answer is so long."""
_MARK = re.compile(r"\*{1,3}|_{1,3}|`{1,3}|~~")
# Not `>`, `-` and `+`: before an answer they are a bound and a sign, and dropping them would change it.
_LEAD = re.compile(r"\A\s*(?:(?:#{1,6}|[*•])[ \t]+)+")
_MAY_MARK = re.compile(r"[*_`~#•]")


def strip_markdown(text: str) -> str:
    """`text` without Markdown, and without white space around it."""
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
    """Spans of the marks that open or close something."""
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
    """Forget the marks that were opened inside a pair that has just closed."""
    for stack in opened.values():
        while stack and stack[-1][0] > start:
            stack.pop()


def _in_word(character: str) -> bool:
    return character.isalnum() or character in "\\{}()[]^_"
