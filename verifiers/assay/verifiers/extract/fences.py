"""Code fences as in CommonMark: three or more backticks or tildes, closed by at least as many of the same.

A fence is indented at most three columns more than what it stands in, be it the text or an item of a list above; the
opening fence's indentation goes from every line. Linear in the text. Not covered: fences in block quotes; where a list
ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = r"(`{3,}|~{3,})[ \t]*([^\n\r]*)"
_LINE = re.compile(rf"^([ \t]*)(?:((?:[-*+]|[0-9]{{1,9}}[.)])[ \t]+)(?:{_MARKS})?|{_MARKS})", re.MULTILINE)
"""A line that starts an item of a list, or holds a fence, or both."""
_MAX_COLUMN = 40


@dataclass(frozen=True)
class Fence:
    """A fence: the first word of its info string, where its content starts and ends (None: it never closes), and the
    indentation of its opening line.
    """

    tag: str
    start: int
    end: int | None
    indent: str


@dataclass(frozen=True)
class _Line:
    """A line of interest: its indentation as text, the column where it says something, and its fence."""

    indent: str
    item: str
    marks: str
    info: str
    start: int
    end: int

    @property
    def column(self) -> int:
        return len((self.indent + self.item).expandtabs(4))


def _lines(text: str) -> Iterator[_Line]:
    for match in _LINE.finditer(text):
        indent, item, *fences = (part or "" for part in match.groups())
        marks, info = fences[0] or fences[2], (fences[1] or fences[3]).strip()
        yield _Line(indent, item, marks, info, match.start(), match.end())


def iter_fences(text: str) -> Iterator[Fence]:
    """Yield the fences of a text in order; one that never closes is the last."""
    opened: _Line | None = None
    base, bases = 0, {0}
    for line in _lines(text):
        if opened is not None:
            if _closes(line, opened) and line.column <= base + 3:
                start = min(_after_line(text, opened.end), line.start)
                yield Fence(_tag(opened.info), start, line.start, _indent_of(opened))
                opened = None
            continue
        if line.item and line.column < _MAX_COLUMN:
            bases.add(line.column)
        base = max((column for column in bases if column <= line.column), default=0)
        if line.marks and line.column <= base + 3 and (line.marks[0] == "~" or "`" not in line.info):
            opened = line
    if opened is not None:
        yield Fence(_tag(opened.info), _after_line(text, opened.end), None, "")


def _closes(line: _Line, opened: _Line) -> bool:
    same = line.marks[:1] == opened.marks[0] and len(line.marks) >= len(opened.marks)
    return same and not line.info and not line.item


def _indent_of(opened: _Line) -> str:
    return opened.indent + " " * len(opened.item)


def _after_line(text: str, end: int) -> int:
    newline = text.find("\n", end)
    return len(text) if newline < 0 else newline + 1


def _tag(info: str) -> str:
    words = info.lstrip("{.").split()
    return words[0].rstrip("}").lower() if words else ""


def outdented(code: str, indent: str) -> str:
    """Return the lines without that indentation, or without as much of it as they have."""
    blank = "[ \\t]" if "\t" in indent else " "
    return re.sub(rf"^{blank}{{1,{len(indent)}}}", "", code, flags=re.MULTILINE) if indent else code
