"""Which part of an answer is the document. Each rule is linear in the text.

`whole`: the trimmed text. `fence_ok`: the same, or the inside of the one fence around it. `last_fence`: the last fence
whose tag is empty or names the format; one that never closes is no answer. `last_object`: the last JSON object or
array, in prose or in a fence; one that is cut off is the last, and is not JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from assay.verifiers.extract import Found
from assay.verifiers.extract.fences import iter_fences, outdented

_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*+[\w+.-]*+[ \t]*+\r?\n(.*)\1[`~]*", re.DOTALL)
_TAGS = {
    "json": {"json", "jsonc", "json5"},
    "yaml": {"yaml", "yml"},
    "toml": {"toml"},
    "xml": {"xml", "html", "svg"},
    "csv": {"csv"},
}
_OPENS = re.compile(r"\{(?=\s*+[\"}]|\s*+\Z)|\[(?=\s*+[\[{\"\]\d\-tfn]|\s*+\Z)")
"""A bracket that may open JSON: prose also has `{x}` and `[see above]`."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+("?)|[{}\[\]]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
MOST_RESTARTS = 32
"""Brackets that turn out to open nothing are skipped at most this often; each costs a pass over the rest."""


def whole(text: str, format_: str) -> Found | None:
    """Return the trimmed text."""
    trimmed = text.strip()
    start = text.find(trimmed)
    return Found(trimmed, start, start + len(trimmed)) if trimmed else None


def fence_ok(text: str, format_: str) -> Found | None:
    """Return the inside of the fence around the whole text, or the trimmed text."""
    found = whole(text, format_)
    fence = _FENCE.fullmatch(found.text) if found else None
    if found is None or fence is None:
        return found
    return Found(fence[2], found.start + fence.start(2), found.start + fence.end(2))


def last_fence(text: str, format_: str) -> Found | None:
    """Return the content of the last fence that can hold the format, or None."""
    allowed = _TAGS[format_] | {""}
    fence = next((fence for fence in reversed(list(iter_fences(text))) if fence.tag in allowed), None)
    if fence is None or fence.end is None:
        return None
    return Found(outdented(text[fence.start : fence.end], fence.indent), fence.start, fence.end)


def last_object(text: str, format_: str) -> Found | None:
    """Return the last JSON object or array, or the rest of the text from one that is cut off."""
    at, restarts = 0, 0
    last: Found | None = None
    while opened := _OPENS.search(text, at):
        end = _end(text, opened.start())
        if end is None:
            restarts += 1
            cut = Found(text[opened.start() :], opened.start(), len(text))
            if restarts >= MOST_RESTARTS:
                return cut
            last, at = cut, opened.end()
            continue
        last, at = Found(text[opened.start() : end], opened.start(), end), end
    return last


def _end(text: str, start: int) -> int | None:
    """Return where the value that opens at `start` ends, or None if its brackets do not close."""
    open_: list[str] = []
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark[0] == '"':
            if not token[1]:
                return None
        elif mark in _CLOSERS:
            open_.append(_CLOSERS[mark])
        elif open_.pop() != mark:
            return None
        if not open_:
            return token.end()
    return None


EXTRACTIONS: Mapping[str, Callable[[str, str], Found | None]] = {
    "whole": whole,
    "fence_ok": fence_ok,
    "last_fence": last_fence,
    "last_object": last_object,
}
"""The rules by name. Each takes the answer's text and the format."""
