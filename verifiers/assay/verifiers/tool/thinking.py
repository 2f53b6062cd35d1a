"""Find the end of a message's thinking when reading calls: think tags inside a call's strings are data.

The contract's rule (everything before the last `</think>`; opened and never closed: no text) applies to tags outside
calls that can be read. Calls drafted in the thinking belong to it: a call counts only if it starts after the thinking
that precedes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.verifiers.candidate import thinking_end
from assay.verifiers.tool.attempts import Attempt

_OPEN, _CLOSE = "<think>", "</think>"
Read = Callable[[int], Sequence[Attempt]]


def read_after_thinking(text: str, prefill: str, read: Read) -> tuple[list[Attempt], int | None]:
    """Return the attempts after the thinking, and where the text after it starts: None if it never ended."""
    if _OPEN not in text and _CLOSE not in text:
        start = thinking_end(text, prefill=prefill)
        return ([], None) if start is None else (list(read(start)), start)
    open_before = prefill.rfind(_OPEN) > prefill.rfind(_CLOSE)
    first = text.find(_CLOSE)
    if first < 0:
        return _unclosed(text, open_before, read)
    thinks = open_before or text.lstrip().startswith(_OPEN)
    start = first + len(_CLOSE) if thinks else 0
    attempts = list(read(start))
    last = _last_outside(text, attempts, start)
    if last < start:
        return attempts, start
    return list(read(last + len(_CLOSE))), last + len(_CLOSE)


def _last_outside(text: str, attempts: Sequence[Attempt], start: int) -> int:
    """Return the position of the last closing tag outside all calls, or -1."""
    spans = [attempt.span for attempt in attempts if attempt.ok and attempt.span is not None]
    last = text.rfind(_CLOSE, start)
    while last >= 0 and (around := next((span for span in spans if span[0] < last < span[1]), None)):
        last = text.rfind(_CLOSE, start, around[0])
    return last


def _unclosed(text: str, open_before: bool, read: Read) -> tuple[list[Attempt], int | None]:
    """Read a text whose only closing tags are inside calls: the part before the first opening tag outside calls."""
    if open_before:
        return [], None
    attempts = list(read(0))
    at = 0
    for start, end in (attempt.span for attempt in attempts if attempt.ok and attempt.span is not None):
        if _OPEN in text[at:start]:
            return [], None
        at = end
    return ([], None) if _OPEN in text[at:] else (attempts, 0)
