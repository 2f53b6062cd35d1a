r"""Mathematics between delimiters in prose: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`.

A single dollar before a number is a currency sign unless a second one closes it as TeX would.
"""

from __future__ import annotations

import re

_DELIMITER = re.compile(r"\\[()\[\]]|(?<!\\)\$\$?")
_CLOSERS = {r"\(": r"\)", r"\[": r"\]", "$": "$", "$$": "$$"}
_WORD = re.compile(r"[A-Za-z']+")
_COMMAND = re.compile(r"\\[A-Za-z]+(?:\s*\{[^{}]*\})?")


def math_spans(text: str) -> dict[int, int]:
    """Start -> end of each piece of mathematics, delimiters included."""
    spans: dict[int, int] = {}
    if "$" not in text and "\\(" not in text and "\\[" not in text:
        return spans
    opened: re.Match[str] | None = None
    for match in _DELIMITER.finditer(text):
        sign = match.group()
        if opened is not None and sign == _CLOSERS[opened.group()] and _closes(text, opened, match):
            if text[opened.end() : match.start()].strip():
                spans[opened.start()] = match.end()
            opened = None
        elif sign in _CLOSERS and (opened is None or opened.group() == "$"):
            opened = match
    return spans


def _closes(text: str, opened: re.Match[str], closing: re.Match[str]) -> bool:
    """Whether single dollars are mathematics, not currency: on one line, spaced alike, no digit behind the second, no
    sign before it, and no prose between them."""
    if opened.group() != "$":
        return True
    if closing.start() == opened.end() or text[closing.end() : closing.end() + 1].isdigit():
        return False
    if text[closing.start() - 1] in "=+-*/":
        return False
    content = text[opened.end() : closing.start()]
    if content[0].isspace() is not content[-1].isspace() or "\n" in content:
        return False
    return not _is_prose(content)


def _is_prose(content: str) -> bool:
    """`$5 and pays $`: text between two currency signs."""
    plain = [word for word in _WORD.findall(_COMMAND.sub(" ", content)) if len(word) > 3]
    return len(plain) > 1 and content[:1].isdigit()
