"""The syntaxes of tool calls in text: one reader each, and the detection of `auto`.

A reader moves through a `Reading` and records calls and failed attempts in it. It never raises because of a text's
content, and never repairs by guessing.
"""

from __future__ import annotations

from contextlib import suppress

from assay.verifiers.tool.attempts import Attempt, Options, ReadLimitReached
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes.auto import read_auto
from assay.verifiers.tool.syntaxes.table import READERS

__all__ = ["READERS", "read_text"]


def read_text(text: str, syntax: str, options: Options, *, start: int = 0) -> list[Attempt]:
    """Return the calls and failed attempts in `text` from `start` on, in order."""
    if syntax == "auto":
        return read_auto(text, options, start)
    reader = READERS.get(syntax)
    if reader is None:
        return []
    reading = Reading(text, options, start=start)
    with suppress(ReadLimitReached):
        reader(reading)
    return reading.attempts
