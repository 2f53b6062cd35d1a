"""Answer tags: the content of `<answer>...</answer>`.

A tag's content starts at the last `<answer>` before its `</answer>`. An `<answer>` that is opened
after the last closed one and never closes is an unterminated answer. Names are lower case, as every
template writes them; attributes are not covered.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.verifiers.extract.found import Found

_OPEN, _CLOSE = "<answer>", "</answer>"


class Tags(NamedTuple):
    """The contents of all closed tags, in order, and where an unclosed one starts (or -1)."""

    closed: list[Found]
    unclosed: int


def answer_tags(text: str) -> Tags:
    """All answer tags of `text`."""
    closed: list[Found] = []
    position = 0
    while (close := text.find(_CLOSE, position)) >= 0:
        opened = text.rfind(_OPEN, position, close)
        if opened >= 0:
            start = opened + len(_OPEN)
            closed.append(Found(text[start:close].strip(), start, close))
        position = close + len(_CLOSE)
    return Tags(closed, text.find(_OPEN, position))


def last_answer_tag(text: str) -> Found | None:
    """The content of the last answer tag; None if there is none or a later one never closes."""
    tags = answer_tags(text)
    return tags.closed[-1] if tags.closed and tags.unclosed < 0 else None
