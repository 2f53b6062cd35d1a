"""Text as a reader sees it: composed, without characters that show nothing, and without case where that is ignored.

What shows nothing (soft hyphens, zero-width characters, direction marks, variation selectors: Unicode's default
ignorables) neither parts a word nor makes a blank text one that says something.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def composed(text: str) -> str:
    """The text in normal form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def visible(text: str) -> str:
    """The text composed, without what shows nothing."""
    return text if text.isascii() else composed(_INVISIBLE.sub("", text))


def folded(text: str) -> str:
    """`visible`, case-folded: what two texts have in common that differ in case only."""
    return text.casefold() if text.isascii() else composed(visible(text).casefold())


def unaccented(text: str) -> str:
    """The text without the marks on its letters."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char)[0] != "M")


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing."""
    return not visible(text).strip()
