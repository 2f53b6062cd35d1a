"""What an extraction returns: a piece of text, and where it stood; and how word tables are written."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """An answer as read. `text` may lack Markdown, a final stop and a remark that `start:end` spans."""

    text: str
    start: int
    end: int
    stop: str = ""
    """The punctuation that ended it, where it was a sentence: `.`, `!`, `?`, their wide forms, or ""."""


def words(table: str) -> frozenset[str]:
    """A set of words written as text, separated by white space."""
    return frozenset(table.split())
