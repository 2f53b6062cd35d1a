"""Nesting depth of brackets and quotes, counted in matched pairs.

Unmatched marks do not matter: the bracket of `1)` or `:)`, the apostrophe of `dogs'`. Linear in the text.
"""

from __future__ import annotations

import re
import sys
from collections import Counter

_BRACKET = re.compile(r"[()\[\]{}]")
_QUOTE = re.compile("[\"'“”‘’]")
_CLOSES = {")": "(", "]": "[", "}": "{"}
_OPENS = frozenset(_CLOSES.values())
_QUOTES = {'"': '"', "'": "'", "“": '"', "”": '"', "‘": "'", "’": "'"}


class _Pairs:
    """Open marks, each with the depth of the pairs closed inside it.

    `alternate`: a pair directly inside one of its own kind adds no depth.
    """

    def __init__(self, *, alternate: bool = False) -> None:
        self._alternate = alternate
        self._open: list[list[str | int]] = []
        self._kinds: Counter[str] = Counter()
        self.deepest = 0

    def top(self) -> str | None:
        """The mark that was opened last."""
        return str(self._open[-1][0]) if self._open else None

    def holds(self, kind: str) -> bool:
        """Return whether a mark of this kind is open."""
        return self._kinds[kind] > 0

    def open(self, kind: str) -> None:
        """Record an opening mark."""
        self._open.append([kind, 0])
        self._kinds[kind] += 1

    def close(self, kind: str) -> None:
        """Close the last mark of this kind; marks opened since then were unmatched."""
        depth = 0
        while True:
            opened, inside = self._open.pop()
            self._kinds[str(opened)] -= 1
            depth = max(depth, int(inside))
            if opened == kind:
                break
        self.deepest = max(self.deepest, depth + 1)
        if self._open:
            outer = self._open[-1]
            adds = not (self._alternate and outer[0] == kind)
            outer[1] = max(int(outer[1]), depth + adds)


def bracket_depth(text: str, *, enough: int = sys.maxsize) -> int:
    """Return the depth of the deepest nest of brackets, each closed by its own kind. Stops at `enough`."""
    pairs = _Pairs()
    for found in _BRACKET.finditer(text):
        char = found[0]
        if char in _OPENS:
            pairs.open(char)
        elif pairs.top() == _CLOSES[char]:
            pairs.close(_CLOSES[char])
            if pairs.deepest >= enough:
                break
    return pairs.deepest


def quote_depth(text: str, *, enough: int = sys.maxsize) -> int:
    """Return the depth of the deepest nest of alternating double and single quotes, straight or curly. Stops at
    `enough`.
    """
    pairs = _Pairs(alternate=True)
    for found in _QUOTE.finditer(text):
        char, at = found[0], found.start()
        before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
        if char in "'’" and before.isalnum() and after.isalnum():
            continue
        _quote(pairs, char, before, after)
        if pairs.deepest >= enough:
            break
    return pairs.deepest


def _quote(pairs: _Pairs, char: str, before: str, after: str) -> None:
    """Handle a quote: it closes its own kind if it can, else opens if it can, else is ignored."""
    kind, opening, closing = _QUOTES[char], char in "“‘", char in "”’"
    opens = opening or (not closing and not after.isspace() and not before.isalnum())
    closes = closing or (not opening and not before.isspace() and not after.isalnum())
    if not opening and (pairs.top() == kind or (closes and pairs.holds(kind))):
        pairs.close(kind)
    elif opens:
        pairs.open(kind)
