"""Tags that hold an answer: the content of `<answer>...</answer>`, or of another tag.

A tag's content starts at the last `<answer>` before its `</answer>`. An `<answer>` that is opened after the last closed
one and never closed is an unterminated answer. Tag names are case-sensitive; attributes are not covered.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.verifiers.extract.found import Found


class Tags(NamedTuple):
    """The contents of all closed tags in order, and the start of an unclosed one (or -1)."""

    closed: list[Found]
    unclosed: int


def answer_tags(text: str, name: str = "answer") -> Tags:
    """Return all tags of that name in `text`."""
    open_, close_ = f"<{name}>", f"</{name}>"
    closed: list[Found] = []
    position = 0
    while (close := text.find(close_, position)) >= 0:
        opened = text.rfind(open_, position, close)
        if opened >= 0:
            start = opened + len(open_)
            closed.append(Found(text[start:close].strip(), start, close))
        position = close + len(close_)
    return Tags(closed, text.find(open_, position))


def last_answer_tag(text: str, name: str = "answer") -> Found | None:
    """Return the content of the last such tag, or None if there is none or a later one never closes."""
    tags = answer_tags(text, name)
    return tags.closed[-1] if tags.closed and tags.unclosed < 0 else None
