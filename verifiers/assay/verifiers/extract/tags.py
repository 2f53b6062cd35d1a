"""Answer tags: the content of `<answer>...</answer>`.

A tag's content starts at the last `<answer>` before its `</answer>`. An `<answer>` that is opened after the last closed
one and never closed is an unterminated answer. Tag names are lower case, as in every template; attributes are not
covered.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.verifiers.extract.found import Found

_OPEN, _CLOSE = "<answer>", "</answer>"


class Tags(NamedTuple):
    """The contents of all closed tags in order, and the start of an unclosed one (or -1)."""

    closed: list[Found]
    unclosed: int


def answer_tags(text: str) -> Tags:
    """Return all answer tags of `text`."""
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
    """Return the content of the last answer tag, or None if there is none or a later one never closes."""
    tags = answer_tags(text)
    return tags.closed[-1] if tags.closed and tags.unclosed < 0 else None
