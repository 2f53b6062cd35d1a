"""String normalisers by name. Each is linear; they run in the order that the row gives.

Punctuation is Unicode's category P: `+ $ < > ~ ^` are symbols and carry meaning (C++ is not C). Outer white space is
always removed, last.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from assay.verifiers.exact.unicode import nfkc

LAST = 0x1FFFF
"""No punctuation lies beyond this code point (plane 1)."""
_STOPS = ".。．｡"
_ARTICLE = re.compile(r"(?<!\S)(?:a|an|the)(?:\s+|\Z)", re.IGNORECASE)
_LEADING = re.compile(r"\s*(?:a|an|the)\s+", re.IGNORECASE)


@cache
def _punctuation() -> dict[int, None]:
    """Return a `str.translate` table that deletes every code point of category P."""
    return {code: None for code in range(LAST + 1) if unicodedata.category(chr(code)).startswith("P")}


@cache
def _marks() -> str:
    return "".join(map(chr, _punctuation()))


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _delete_punctuation(text: str) -> str:
    return text.translate(_punctuation())


def _trim_punctuation(text: str) -> str:
    return text.strip().strip(_marks())


def _trim_stops(text: str) -> str:
    return text.rstrip().rstrip(_STOPS)


def _drop_articles(text: str) -> str:
    return _ARTICLE.sub("", text)


def _drop_leading_article(text: str) -> str:
    return _LEADING.sub("", text, count=1) if _LEADING.match(text) else text


NORMALISERS: dict[str, Callable[[str], str]] = {
    "casefold": str.casefold,
    "ws": _squeeze,
    "nfkc": nfkc,
    "strip_punct": _delete_punctuation,
    "edge_punct": _trim_punctuation,
    "edge_stop": _trim_stops,
    "articles": _drop_articles,
    "articles_leading": _drop_leading_article,
}


def normalise(text: str, names: Sequence[str]) -> str:
    """Return `text` after the named normalisers, without outer white space."""
    for name in names:
        text = NORMALISERS[name](text.strip())
    return text.strip()
