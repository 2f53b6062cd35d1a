"""Text as a reader sees it: composed, without invisible characters, and without case where case is ignored.

Invisible characters (soft hyphens, zero-width characters, direction marks, variation selectors: Unicode's default
ignorables) neither separate words nor make a blank text non-blank.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def composed(text: str) -> str:
    """Return the text in normal form C."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def visible(text: str) -> str:
    """Return the text composed and without invisible characters."""
    return text if text.isascii() else composed(_INVISIBLE.sub("", text))


def folded(text: str) -> str:
    """Return `visible(text)` case-folded."""
    return text.casefold() if text.isascii() else composed(visible(text).casefold())


_LOOK_ALIKE = str.maketrans(
    "аеорсхуіјѕԁһӏԛԝвкмнтɑαορνιυκτµ",
    "aeopcxyijsdhlqwbkmhtaaopviukt\u03bc",
)
"""Cyrillic and Greek letters, and others, that are drawn as a Latin letter; not the whole of Unicode TR 39."""


def skeleton(text: str) -> str:
    """Return the text folded in NFKC with look-alike letters as Latin ones: what a reader takes it for."""
    if text.isascii():
        return text.casefold()
    return visible(unicodedata.normalize("NFKC", visible(text))).casefold().translate(_LOOK_ALIKE)


def unaccented(text: str) -> str:
    """Return the text without diacritics."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char)[0] != "M")


def is_blank(text: str) -> bool:
    """Return whether the text has no visible character."""
    return not visible(text).strip()
