"""NFKC in linear time.

Canonical ordering sorts each run of combining marks by insertion, so a text that is one long run takes quadratic time.
A text with a run longer than `LONGEST_RUN` is left unchanged (UAX #15-D4 gives 30 as the limit of meaningful text): no
gold looks like that.
"""

from __future__ import annotations

import unicodedata

LONGEST_RUN = 30
_SHORT = 500
"""Longest run of combining marks (code points) whose sorting cost is negligible."""


def nfkc(text: str) -> str:
    """Return `text` in normalisation form KC."""
    if text.isascii() or (len(text) > _SHORT and _has_long_run(text)):
        return text
    return unicodedata.normalize("NFKC", text)


def _has_long_run(text: str) -> bool:
    run = 0
    combining = unicodedata.combining
    for character in text:
        run = run + 1 if character > "\u02ff" and combining(character) else 0
        if run > LONGEST_RUN:
            return True
    return False
