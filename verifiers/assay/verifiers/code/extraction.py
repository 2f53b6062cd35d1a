"""Which part of a completion is the program.

`last_fence`: the content of the last code fence after the thinking that can hold a program of the
row's language: its info string is empty, names that language, or names no known language. If that fence
never closes, there is no answer. (`whole` takes the whole scored text, thinking included.)
Fences follow CommonMark: three or more backticks or tildes, indented at most three columns more than what
they stand in, be it the text or an item of a list above; the opening fence's indentation goes from every line.
Linear in the text. Not covered: fences in block quotes; where a list ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKS = r"(`{3,}|~{3,})[ \t]*([^\n\r]*)"
_LINE = re.compile(rf"^([ \t]*)(?:((?:[-*+]|[0-9]{{1,9}}[.)])[ \t]+)(?:{_MARKS})?|{_MARKS})", re.MULTILINE)
"""A line that starts an item of a list, or holds a fence, or both."""
_MAX_COLUMN = 40
_TAGS = {
    "python": {"python", "py", "python3", "py3", "python2", "cpython", "pypy", "pypy3"},
    "c": {"c", "c11", "c17", "c99"},
    "cpp": {"cpp", "c++", "cxx", "cc", "cpp17", "cpp20", "c++17", "c++20"},
    "javascript": {"javascript", "js", "node", "nodejs", "mjs"},
    "bash": {"bash", "sh", "shell", "zsh"},
    "java": {"java"},
    "go": {"go", "golang"},
    "rust": {"rust", "rs"},
    "csharp": {"csharp", "cs", "c#"},
    "typescript": {"typescript", "ts"},
    "ruby": {"ruby", "rb"},
    "php": {"php"},
    "r": {"r", "rscript"},
    "lua": {"lua"},
    "perl": {"perl", "pl"},
    "kotlin": {"kotlin", "kt", "kts"},
    "scala": {"scala"},
}
_OTHER_TAGS = """
text txt plaintext plain output input stdin stdout console json yaml xml html css markdown md diff latex tex
math pseudocode sql csv log mermaid
"""
_NOT_PROGRAMS = frozenset(_OTHER_TAGS.split())


@dataclass(frozen=True)
class Program:
    """Extracted code and where it stands in the text that is scored."""

    code: str
    span: tuple[int, int]


@dataclass(frozen=True)
class _Fence:
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


def last_fence(text: str, language: str) -> Program | None:
    """The last fence that can hold a program of `language`; None if there is none or it never closes."""
    found: _Fence | None = None
    for fence in _fences(text):
        if _may_hold(fence.tag, language):
            found = fence
    if found is None or found.end is None:
        return None
    return Program(_outdented(text[found.start : found.end], found.indent), (found.start, found.end))


def _outdented(code: str, indent: str) -> str:
    """The lines without that indentation, or as much of it as they have."""
    blank = "[ \\t]" if "\t" in indent else " "
    return re.sub(rf"^{blank}{{1,{len(indent)}}}", "", code, flags=re.MULTILINE) if indent else code


def _lines(text: str) -> Iterator[_Line]:
    for match in _LINE.finditer(text):
        indent, item, *fences = (part or "" for part in match.groups())
        marks, info = fences[0] or fences[2], (fences[1] or fences[3]).strip()
        yield _Line(indent, item, marks, info, match.start(), match.end())


def _fences(text: str) -> Iterator[_Fence]:
    opened: _Line | None = None
    base, bases = 0, {0}
    for line in _lines(text):
        if opened is not None:
            if _closes(line, opened) and line.column <= base + 3:
                start = min(_after_line(text, opened.end), line.start)
                yield _Fence(_tag(opened.info), start, line.start, _indent_of(opened))
                opened = None
            continue
        if line.item and line.column < _MAX_COLUMN:
            bases.add(line.column)
        base = max((column for column in bases if column <= line.column), default=0)
        if line.marks and line.column <= base + 3 and (line.marks[0] == "~" or "`" not in line.info):
            opened = line
    if opened is not None:
        yield _Fence(_tag(opened.info), _after_line(text, opened.end), None, "")


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


def _may_hold(tag: str, language: str) -> bool:
    if not tag or tag in _TAGS.get(language, ()):
        return True
    return tag not in _NOT_PROGRAMS and not any(tag in tags for tags in _TAGS.values())
