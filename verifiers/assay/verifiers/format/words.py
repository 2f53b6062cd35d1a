"""Words: a text's own, and how often a given one stands in it and not inside a longer word.

Words are split at white space; without punctuation at their ends, those that hold no letter or digit are none.
A given word ends where another script begins, and anywhere in scripts that put no spaces between words; underscores
around it are emphasis, between two words they join. Its own spaces stand for any white space.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache

from assay.verifiers.format.plain import visible
from assay.verifiers.format.scripts import script_of

EDGES = string.punctuation + "“”‘’…—–«»„‚。，！？、；：「」『』（）"
_UNSPACED = frozenset(["han", "kana", "bopomofo", "thai", "lao", "khmer", "myanmar"])
_HOLDS_WORD = re.compile(r"[^\W_]")


def bare_words(text: str) -> list[str]:
    """Words as they are written, without punctuation at their ends; those of punctuation alone are left out."""
    bare = (word.strip(EDGES) for word in visible(text).split())
    return [word for word in bare if _HOLDS_WORD.search(word)]


def bare_word(word: str) -> str:
    """A word case-folded, without punctuation at its ends."""
    return word.strip(EDGES).casefold()


def is_word_char(char: str) -> bool:
    """Whether a character continues a word: letters, digits, marks and the underscore."""
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def count_words(text: str, word: str) -> int:
    """How often `word` stands in `text` and not inside a longer word. Both are folded alike by the caller."""
    pattern, count, at = _pattern(word), 0, 0
    while found := pattern.search(text, at):
        alone = not _joined(text, found.start(), -1) and not _joined(text, found.end() - 1, 1)
        count += alone
        at = found.end() if alone else found.start() + 1
    return count


@lru_cache(256)
def _pattern(word: str) -> re.Pattern[str]:
    """The word, any white space for its own. Raises ValueError for a blank one."""
    parts = word.split()
    if not parts:
        raise ValueError("a blank word")
    return re.compile(r"\s++".join(map(re.escape, parts)))


def _joined(text: str, edge: int, step: int) -> bool:
    """Whether the word whose last character, going by `step`, is at `edge` goes on there."""
    if not _in_word(text[edge]):
        return False
    beside = edge + step
    while 0 <= beside < len(text) and text[beside] == "_":
        beside += step
    if not 0 <= beside < len(text) or not _in_word(text[beside]):
        return False
    scripts = {script_of(text[edge]), script_of(text[beside])}
    return not scripts & _UNSPACED


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")
