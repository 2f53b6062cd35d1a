"""Whether a message says anything beside its calls.

What stands between calls of one family (section tags, special tokens, brackets, separators) is no prose: markup in
angle brackets is left out, and what remains is prose if it has a letter or digit of any script.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.verifiers.tool.attempts import Attempt

_MARKUP = re.compile(r"<[^<>\n]{1,80}>|\[/?[A-Z_]{3,20}\]|\bfunctools(?=\[)|```\w*")
_SAYS = re.compile(r"[^\W_]")


def has_prose(text: str, start: int, attempts: Sequence[Attempt]) -> bool:
    """Return whether `text` has prose from `start` on outside the calls and failed attempts in it."""
    at = start
    for first, last in sorted(attempt.span for attempt in attempts if attempt.span):
        if _says(text[at : max(at, first)]):
            return True
        at = max(at, last)
    return _says(text[at:])


def _says(text: str) -> bool:
    return _SAYS.search(_MARKUP.sub("", text)) is not None
