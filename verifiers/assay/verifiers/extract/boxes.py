r"""Boxed answers: `\boxed{...}`, `\fbox{...}`, and `\boxed 5`.

Braces are matched as in TeX: `\{` and `\}` are characters, not groups. Only outermost boxes count (a box in a box is
one answer). Not covered: `\boxed` redefined by macros, and comments (`%`).

Scanning is linear on any text: each closed box is scanned once, and from the first unclosed box on, one pass with a
stack reads the rest of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEAD = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])[ \t]*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE = re.compile(r"[^\s${},;。，；\\]+|\\[A-Za-z]+")
_TOKEN = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])[ \t]*\{|\\.|[{}]", re.DOTALL)
_STOPS = ".!?:"


class Box(NamedTuple):
    """One box, spanning `start:end`, with its content at `inner_start:inner_end`."""

    start: int
    end: int
    inner_start: int
    inner_end: int

    def content(self, text: str) -> str:
        """Return the content of the box."""
        return text[self.inner_start : self.inner_end]


class Boxes(NamedTuple):
    """All outermost complete boxes in order, and the start of the last box that never closes (or -1)."""

    complete: list[Box]
    unclosed: int


def closing_brace(text: str, opening: int) -> int:
    """Return the index of the `}` that closes the `{` at `opening`, or -1."""
    close = text.find("}", opening, opening + 200)
    content = text[opening + 1 : close] if close >= 0 else "{"
    if "{" not in content and "\\" not in content:
        return close
    depth = 0
    for match in _BRACE.finditer(text, opening):
        token = match.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if not depth:
                return match.start()
    return -1


def find_boxes(text: str) -> Boxes:
    """Return all boxes of `text`."""
    complete: list[Box] = []
    if "\\boxed" not in text and "\\fbox" not in text:
        return Boxes(complete, -1)
    position, size = 0, len(text)
    for head in _heads(text):
        if head.start() < position:
            continue
        inner = head.end()
        if inner == size:
            return Boxes(complete, head.start())
        if text[inner] == "{":
            close = closing_brace(text, inner)
            if close < 0:
                return _with_stack(text, head.start(), complete)
            complete.append(Box(head.start(), close + 1, inner + 1, close))
            position = close + 1
        else:
            position = _bare(text, head, complete)
    return Boxes(complete, -1)


def _heads(text: str) -> Iterator[re.Match[str]]:
    """Yield all `\\boxed` and `\\fbox` commands in order."""
    if "\\fbox" in text:
        yield from _HEAD.finditer(text)
        return
    at = text.find("\\boxed")
    while at >= 0:
        head = _HEAD.match(text, at)
        if head is not None:
            yield head
        at = text.find("\\boxed", at + 1)


def _bare(text: str, head: re.Match[str], complete: list[Box]) -> int:
    r"""Read `\boxed 5` and return the offset where scanning continues."""
    content = _BARE.match(text, head.end())
    if content is None:
        return head.end()
    end = content.end()
    while end > content.start() + 1 and text[end - 1] in _STOPS:
        end -= 1
    complete.append(Box(head.start(), end, content.start(), end))
    return content.end()


def _with_stack(text: str, start: int, complete: list[Box]) -> Boxes:
    """Read the rest of a text in which some box never closes, in one pass. Bare boxes are not read there."""
    stack: list[re.Match[str] | None] = []
    found: list[Box] = []
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        if token == "{":
            stack.append(None)
        elif token == "}":
            opened = stack.pop() if stack else None
            if opened is not None:
                found.append(Box(opened.start(), match.end(), opened.end(), match.start()))
        elif token[-1] == "{" and len(token) > 2:
            stack.append(match)
    unclosed = max((m.start() for m in stack if m is not None), default=-1)
    reach = -1
    for box in sorted(found):
        if box.end > reach:
            complete.append(box)
            reach = box.end
    return Boxes(complete, unclosed)


def last_box(text: str) -> Box | None:
    """Return the last complete box that is not blank, or None; also None if a later box never closes."""
    boxes = find_boxes(text)
    for box in reversed(boxes.complete):
        if text[box.inner_start : box.inner_end].strip():
            return None if boxes.unclosed > box.start else box
    return None
