"""Scripts of letters by code point, and the languages written in each.

The table holds the blocks that living languages use; a letter outside them belongs to no script.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x41, 0x5A, "latin"), (0x61, 0x7A, "latin"), (0xAA, 0xAA, "latin"), (0xBA, 0xBA, "latin"),
    (0xC0, 0x24F, "latin"), (0x250, 0x2AF, "latin"), (0x370, 0x3FF, "greek"), (0x400, 0x52F, "cyrillic"),
    (0x531, 0x58F, "armenian"), (0x590, 0x5FF, "hebrew"), (0x600, 0x6FF, "arabic"), (0x750, 0x77F, "arabic"),
    (0x8A0, 0x8FF, "arabic"), (0x900, 0x97F, "devanagari"), (0x980, 0x9FF, "bengali"), (0xA00, 0xA7F, "gurmukhi"),
    (0xA80, 0xAFF, "gujarati"), (0xB00, 0xB7F, "oriya"), (0xB80, 0xBFF, "tamil"), (0xC00, 0xC7F, "telugu"),
    (0xC80, 0xCFF, "kannada"), (0xD00, 0xD7F, "malayalam"), (0xD80, 0xDFF, "sinhala"), (0xE00, 0xE7F, "thai"),
    (0xE80, 0xEFF, "lao"), (0x1000, 0x109F, "myanmar"), (0x10A0, 0x10FF, "georgian"), (0x1100, 0x11FF, "hangul"),
    (0x1200, 0x139F, "ethiopic"), (0x1780, 0x17FF, "khmer"), (0x1E00, 0x1EFF, "latin"), (0x1F00, 0x1FFF, "greek"),
    (0x3005, 0x3007, "han"), (0x3041, 0x309F, "kana"), (0x30A0, 0x30FF, "kana"), (0x3100, 0x312F, "bopomofo"),
    (0x3130, 0x318F, "hangul"), (0x31F0, 0x31FF, "kana"), (0x3400, 0x4DBF, "han"), (0x4E00, 0x9FFF, "han"),
    (0xAC00, 0xD7AF, "hangul"), (0xF900, 0xFAFF, "han"), (0xFB1D, 0xFB4F, "hebrew"), (0xFB50, 0xFDFF, "arabic"),
    (0xFE70, 0xFEFF, "arabic"), (0xFF21, 0xFF3A, "latin"), (0xFF41, 0xFF5A, "latin"), (0xFF66, 0xFF9D, "kana"),
    (0x20000, 0x323AF, "han"),
)  # fmt: skip
_NO_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha() or code > 127)
_STARTS = [start for start, _, _ in _RANGES]

_LATIN = """
af az bs ca cs cy da de en eo es et eu fi fr ga hr hu id is it la lg lt lv mi ms nb nl nn no pl pt ro sk sl sn so sq st
sv sw tl tn tr ts vi xh yo zu
"""
SCRIPTS: dict[str, frozenset[str]] = {code: frozenset({"latin"}) for code in _LATIN.split()} | {
    "zh": frozenset({"han", "bopomofo"}), "ja": frozenset({"han", "kana"}), "ko": frozenset({"hangul"}),
    **{code: frozenset({"cyrillic"}) for code in ["be", "bg", "kk", "ky", "mk", "mn", "ru", "tg", "uk"]},
    "sr": frozenset({"cyrillic", "latin"}),
    **{code: frozenset({"arabic"}) for code in ["ar", "fa", "ps", "ur"]},
    **{code: frozenset({"devanagari"}) for code in ["hi", "mr", "ne"]},
    "bn": frozenset({"bengali"}), "as": frozenset({"bengali"}), "el": frozenset({"greek"}), "he": frozenset({"hebrew"}),
    "yi": frozenset({"hebrew"}), "hy": frozenset({"armenian"}), "ka": frozenset({"georgian"}),
    "pa": frozenset({"gurmukhi"}), "gu": frozenset({"gujarati"}), "or": frozenset({"oriya"}),
    "ta": frozenset({"tamil"}), "te": frozenset({"telugu"}), "kn": frozenset({"kannada"}),
    "ml": frozenset({"malayalam"}), "si": frozenset({"sinhala"}), "th": frozenset({"thai"}), "lo": frozenset({"lao"}),
    "my": frozenset({"myanmar"}), "am": frozenset({"ethiopic"}), "ti": frozenset({"ethiopic"}),
    "km": frozenset({"khmer"}),
}  # fmt: skip
"""Languages by ISO 639-1 code, and their scripts."""


def script_of(char: str) -> str | None:
    """Return the script of a letter, or None."""
    code = ord(char)
    index = bisect_right(_STARTS, code) - 1
    return _RANGES[index][2] if index >= 0 and code <= _RANGES[index][1] else None


def count_scripts(text: str) -> Counter[str | None]:
    """Return the number of the text's letters per script."""
    if text.isascii():
        return Counter({"latin": len(text.encode().translate(None, _NO_LETTERS))})
    counts: Counter[str | None] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha():
            counts[script_of(char)] += count
    return counts


def base_code(code: str) -> str:
    """Return the language part of a code such as `zh-cn` or `pt_BR`."""
    return code.replace("_", "-").partition("-")[0].lower()
