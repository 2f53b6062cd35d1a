"""Extraction rules by name. Each returns all answers in order, or quickly only the last one.

If an answer is begun after the last complete one and never ends (an open box, an open tag), the last answer is None.
Nothing here compares answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from assay.verifiers.extract import (
    Box,
    Found,
    Marker,
    answer_tags,
    find_boxes,
    iter_markers,
    last_answer_tag,
    last_box,
    last_marker_answer,
    marker_answer,
)

_HASH = re.compile(r"(?<!#)####(?!#)")
_FINDER = re.compile(
    r"(?:(?<![\w)\]}%.+\-−])(?<!\d[$€£¥₹])[-+−][$€£¥₹]?)?"
    r"(?:(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE][-+−]?\d+(?![\w]))?"
)
_TO_LAST_DIGIT = re.compile(r".*\d", re.DOTALL)
_MAY_BE_NUMBER = re.compile(r"[\d.,eE+\-−$€£¥₹]*")
_REACH = 64
_ANNOUNCING = ("", "the", "so the", "the final", "final", "my", "my final")
_EMPHASIS = ("***", "**", "__", "*", "_", "`")


class Extractor(NamedTuple):
    """An extraction rule: functions for all answers in order, for the last one, and whether a later one never ends."""

    all: Callable[[str], list[Found]]
    last: Callable[[str], Found | None]


def _trimmed(text: str, start: int, end: int) -> Found:
    content = text[start:end]
    lead = len(content) - len(content.lstrip())
    content = content.strip()
    return Found(content, start + lead, start + lead + len(content))


def _all_whole(text: str) -> list[Found]:
    found = _last_whole(text)
    return [found] if found else []


def _last_whole(text: str) -> Found | None:
    found = _trimmed(text, 0, len(text))
    return found if found.text else None


def in_tag(name: str) -> Extractor:
    """Return the extractor of the contents of `<name>…</name>`."""

    def last(text: str) -> Found | None:
        tag = last_answer_tag(text, name)
        return None if tag is None else _trimmed(text, tag.start, tag.end)

    return Extractor(lambda text: [_trimmed(text, tag.start, tag.end) for tag in answer_tags(text, name).closed], last)


def by_pattern(matches: Callable[[str], Iterator[tuple[int, int]]]) -> Extractor:
    """Return the extractor of what the group of a row's pattern matches."""

    def every(text: str) -> list[Found]:
        return [_trimmed(text, start, end) for start, end in matches(text)]

    return Extractor(every, lambda text: next(reversed(every(text)), None))


def _rest_of_line(text: str, at: int, stop: int) -> Found:
    """Return the rest of the line after the `####` at `at`. Emphasis opened right before it is closed there too."""
    end = text.find("\n", at, stop)
    found = _trimmed(text, at + 4, stop if end < 0 else end)
    mark = next((mark for mark in _EMPHASIS if text.startswith(mark, max(0, at - len(mark)), at)), "")
    if not mark or not found.text.endswith(mark):
        return found
    return _trimmed(text, found.start, found.end - len(mark))


def _all_hashes(text: str) -> list[Found]:
    """Return the answer of each `####`, up to the next one: contents never overlap, which keeps this linear."""
    starts = [match.start() for match in _HASH.finditer(text)]
    return [_rest_of_line(text, at, stop) for at, stop in pairwise([*starts, len(text)])]


def _last_hash(text: str) -> Found | None:
    at = len(text)
    while (at := text.rfind("####", 0, at)) >= 0:
        if _HASH.match(text, at):
            return _rest_of_line(text, at, len(text))
        at += 3
    return None


_MOST_NESTED, _LONGEST_NESTED = 8, 2000
"""A box inside a box is unwrapped to this depth and length (code points); beyond it the content is taken as it is."""


def _inside(text: str, box: Box) -> Found:
    """Return the content of a box, unwrapped if another box is all of it."""
    found = _trimmed(text, box.inner_start, box.inner_end)
    for _ in range(_MOST_NESTED if len(found.text) <= _LONGEST_NESTED else 0):
        inner = find_boxes(found.text) if found.text.startswith(("\\boxed", "\\fbox")) else None
        if inner is None or len(inner.complete) != 1 or inner.complete[0].end != len(found.text):
            break
        start = found.start
        found = _trimmed(text, start + inner.complete[0].inner_start, start + inner.complete[0].inner_end)
    return found


def _all_boxes(text: str) -> list[Found]:
    boxes = (_inside(text, box) for box in find_boxes(text).complete)
    return [found for found in boxes if found.text]


def _last_box(text: str) -> Found | None:
    box = last_box(text)
    return None if box is None else _inside(text, box)


def _all_lines(text: str) -> list[Found]:
    """Return the answer of each marker, up to the next. A marker that only announces the next one (`Answer: the
    answer is`) has none.
    """
    found: list[Found] = []
    stop = len(text)
    for marker in iter_markers(text):
        piece = text[marker.start : stop]
        answer = marker_answer(piece, Marker(0, marker.end - marker.start))
        stop = marker.start
        if not found or answer.text.casefold() not in _ANNOUNCING:
            found.append(Found(answer.text, answer.start + stop, answer.end + stop))
    return found[::-1]


def _all_numbers(text: str) -> list[Found]:
    return [Found(match.group(), match.start(), match.end()) for match in _FINDER.finditer(text)]


def _last_number(text: str) -> Found | None:
    """Return the last of `_all_numbers`, searching only the run of number characters around the last digit."""
    match = _TO_LAST_DIGIT.match(text)
    if match is None:
        return None
    end, reach = match.end(), _REACH
    while True:
        begin = max(0, end - reach)
        run = _MAY_BE_NUMBER.match(text[begin:end][::-1])
        assert run is not None
        if run.end() < end - begin or begin == 0:
            break
        reach *= 8
    *_, last = _FINDER.finditer(text, end - run.end(), end + 1)
    return Found(last.group(), last.start(), last.end())


def _choice_answer(text: str) -> Found | None:
    """Return the last box, else the last marker's answer, else the whole text."""
    boxes = find_boxes(text)
    if boxes.unclosed >= 0 or any(text[box.inner_start : box.inner_end].strip() for box in boxes.complete):
        return _last_box(text)
    return last_marker_answer(text) or _last_whole(text)


def _all_choices(text: str) -> list[Found]:
    return _all_boxes(text) or _all_lines(text) or _all_whole(text)


MARKS = {"answer_tag": "</answer>", "boxed": "\\boxed", "hash4": "####"}
"""The text that occurs once per answer, for rules where several answers are flagged."""

EXTRACTORS: dict[str, Extractor] = {
    "whole": Extractor(_all_whole, _last_whole),
    "answer_tag": in_tag("answer"),
    "hash4": Extractor(_all_hashes, _last_hash),
    "answer_line": Extractor(_all_lines, last_marker_answer),
    "boxed": Extractor(_all_boxes, _last_box),
    "last_number": Extractor(_all_numbers, _last_number),
    "choice": Extractor(_all_choices, _choice_answer),
}
