"""Which part of a completion is the program.

`last_fence`: the content of the last code fence after the thinking that can hold a program of the
row's language: its info string is empty, names that language, or names none that we know. A last
fence that never closes is no answer. (`whole` is the judged text as it stands, thinking and all.)
Fences follow CommonMark: three or more backticks or tildes, indented at most three spaces.
Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n\r]*)", re.MULTILINE)
_TAGS = {
    "python": {"python", "py", "python3", "py3", "python2", "cpython", "pypy", "pypy3"},
    "c": {"c", "c11", "c17", "c99"},
    "cpp": {"cpp", "c++", "cxx", "cc", "cpp17", "cpp20", "c++17", "c++20"},
    "javascript": {"javascript", "js", "node", "nodejs", "mjs"},
    "bash": {"bash", "sh", "shell", "zsh"},
    "java": {"java"},
    "go": {"go", "golang"},
    "rust": {"rust", "rs"},
}
_OTHER_TAGS = """
text txt plaintext plain output input stdin stdout console json yaml xml html css markdown md diff latex tex
math pseudocode sql csv log mermaid
"""
_NOT_PROGRAMS = frozenset(_OTHER_TAGS.split())


@dataclass(frozen=True)
class Program:
    """Extracted code and where it stands in the judged text."""

    code: str
    span: tuple[int, int]


@dataclass(frozen=True)
class _Fence:
    tag: str
    start: int
    end: int | None


def last_fence(text: str, language: str) -> Program | None:
    """The last fence that can hold a program of `language`; None if there is none or it never closes."""
    found: _Fence | None = None
    for fence in _fences(text):
        if _may_hold(fence.tag, language):
            found = fence
    if found is None or found.end is None:
        return None
    return Program(text[found.start : found.end], (found.start, found.end))


def _fences(text: str) -> Iterator[_Fence]:
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        marks, info = match.group(1), match.group(2).strip()
        if opened is None:
            if marks[0] == "~" or "`" not in info:
                opened = match
        elif marks[0] == opened.group(1)[0] and len(marks) >= len(opened.group(1)) and not info:
            start = min(_after_line(text, opened.end()), match.start())
            yield _Fence(_tag(opened), start, match.start())
            opened = None
    if opened is not None:
        yield _Fence(_tag(opened), _after_line(text, opened.end()), None)


def _after_line(text: str, end: int) -> int:
    newline = text.find("\n", end)
    return len(text) if newline < 0 else newline + 1


def _tag(opening: re.Match[str]) -> str:
    words = opening.group(2).strip().lstrip("{.").split()
    return words[0].rstrip("}").lower() if words else ""


def _may_hold(tag: str, language: str) -> bool:
    if not tag or tag in _TAGS.get(language, ()):
        return True
    return tag not in _NOT_PROGRAMS and not any(tag in tags for tags in _TAGS.values())
