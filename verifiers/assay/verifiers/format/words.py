"""Words of a text, and the number of whole-word occurrences of a given word.

Words are split at white space and stripped of punctuation at their ends; those without a letter or digit do not count.
An occurrence of a given word ends where another script begins, and anywhere in scripts without spaces between words.
Underscores around it are emphasis; between two words they join. Spaces in the given word match any white space.
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
    """Return the words as written, without punctuation at their ends; tokens of only punctuation are left out."""
    bare = (word.strip(EDGES) for word in visible(text).split())
    return [word for word in bare if _HOLDS_WORD.search(word)]


def bare_word(word: str) -> str:
    """Return a word case-folded, without punctuation at its ends."""
    return word.strip(EDGES).casefold()


def is_word_char(char: str) -> bool:
    """Return whether a character continues a word: letters, digits, marks and the underscore."""
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def count_words(text: str, word: str) -> int:
    """Return how often `word` occurs in `text` as a whole word. The caller folds both in the same way."""
    pattern, count, at = _pattern(word), 0, 0
    while found := pattern.search(text, at):
        alone = not _joined(text, found.start(), -1) and not _joined(text, found.end() - 1, 1)
        count += alone
        at = found.end() if alone else found.start() + 1
    return count


@lru_cache(256)
def _pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for the word in which white space matches any white space. Raises `ValueError` for a blank
    word.
    """
    parts = word.split()
    if not parts:
        raise ValueError("the word is blank")
    return re.compile(r"\s++".join(map(re.escape, parts)))


def _joined(text: str, edge: int, step: int) -> bool:
    """Return whether the word whose last character (in direction `step`) is at `edge` continues beyond it."""
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
