r"""Texts that went through JSON twice: `\\frac{1}{2}` with two backslashes, and `\n` in place of a line break.

A text is taken for escaped only if no backslash stands in it as LaTeX would write it: every run of backslashes has an
even length, but for JSON's own `\n`, `\t`, `\r` and `\"`. Linear in the text's length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_DOUBLED = re.compile(r"(?<!\\)\\\\(?=[A-Za-z]{2}|[()\[\]])")
_COMMAND = re.compile(r"(?<!\\)\\\\(?=[A-Za-z]{2}|[()\[\]{}%$])")
_RUN = re.compile(r"\\+")
# `\nu`, `\text` and `\nRightarrow` are commands.
_NO_COMMAND = "(?![a-z]|Right|Left|VD|Vd)"
_BREAK = re.compile(rf"(?<!\\)\\n{_NO_COMMAND}")
_ESCAPE = re.compile(rf'(?P<pairs>(?:\\\\)+)|\\(?P<json>[nrt"]){_NO_COMMAND}|\\')
_JSON = {"n": "\n", "r": "\n", "t": " ", '"': '"'}


class Unescaped(NamedTuple):
    """A text with single escapes, and the offsets in it behind which the original holds one more character."""

    text: str
    removed: tuple[int, ...] = ()

    def original(self, position: int) -> int:
        """Return the position in the original text."""
        return position + bisect_right(self.removed, position) if self.removed else position


def unescaped(text: str) -> Unescaped:
    """Return `text` with single escapes if it is escaped twice, else unchanged."""
    doubled = "\\\\" in text and _DOUBLED.search(text) is not None
    if not doubled and ("\\n" not in text or "\n" in text.strip() or not _BREAK.search(text)):
        return Unescaped(text)
    pieces: list[str] = []
    removed: list[int] = []
    position = size = 0
    for match in _ESCAPE.finditer(text):
        escape = _single(match, doubled=doubled)
        if not escape:
            return Unescaped(text)
        pieces += (text[position : match.start()], escape)
        size += match.start() - position + len(escape)
        removed += [size] * (match.end() - match.start() - len(escape))
        position = match.end()
    return Unescaped("".join((*pieces, text[position:])), tuple(removed))


def _single(match: re.Match[str], *, doubled: bool) -> str:
    """The text that an escape stands for; "" where the whole text is not escaped."""
    if match["pairs"]:
        return match.group()[: len(match.group()) // 2] if doubled else match.group()
    if match["json"]:
        return _JSON[match["json"]]
    return "" if doubled else match.group()


def single_escapes(answer: str) -> str:
    r"""Return an answer in which every backslash is doubled, and not only for row breaks, with single ones; else ""."""
    if "\\\\" not in answer or not _COMMAND.search(answer) or any(len(run) % 2 for run in _RUN.findall(answer)):
        return ""
    return answer.replace("\\\\", "\\")
