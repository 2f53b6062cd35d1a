"""The result of an extraction (text and span), and a helper for word tables."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """An extracted answer. `text` may lack Markdown, a final full stop and a remark that `start:end` includes."""

    text: str
    start: int
    end: int
    stop: str = ""
    """The punctuation that ended it, if it was a sentence: `.`, `!`, `?`, their full-width forms, or ""."""


def words(table: str) -> frozenset[str]:
    """Return the set of words in a white-space-separated text."""
    return frozenset(table.split())
