"""The last run of mathematics in a plain sentence (contract, appendix "math", step 3).

A run is numbers, LaTeX, operators, brackets and single letters; `,` `and` `or` join values into a list,
and words after a number are its unit or number word. Words before it end it. Nothing is judged here.
"""

from __future__ import annotations

import re

from assay.verifiers.extract.boxes import closing_brace
from assay.verifiers.extract.found import Found, words
from assay.verifiers.math.syntax import tables

_WINDOWS = (80, 400, 20_000)
"""How many of the last characters are looked at; a longer sentence is cut."""
_PIECE = re.compile(
    r"""
    (?P<cmd>\\[A-Za-z]+|\\.)
  | (?P<num>\d[\d.,]*\d(?:[eE][+-]?\d+)?(?![A-Za-z]{2})|\d(?:[eE][+-]?\d+)?|\.\d+)
  | (?P<ord>(?<=\d)(?:st|nd|rd|th)\b)
  | (?P<word>[A-Za-z]+(?:['’-][A-Za-z]+)*|[^\W\d_A-Za-z]+)
  | (?P<ws>\s+)
  | (?P<sign>.)
    """,
    re.X | re.DOTALL,
)
_SIGNS = frozenset("+-*/^_=<>≤≥≠±∓×·÷√∞π()[]{}|!%°$€£¥₩₹¢'′&∪∩∈∅∖−–½⅓⅔¼¾⅛²³⁴⁵⁶⁷⁸⁹⁰¹θαβγλμφω~…∛")
_MATH_WORDS = frozenset(tables.FUNCTIONS) | frozenset(tables.ASCII_CONSTANTS) | tables.ASCII_GREEK
_GREEK_LETTERS = frozenset(sign for sign in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ")
_SINGLE_WORDS = frozenset(("a", "I"))
# `a = 5`: there the article is a variable.
_AFTER_VARIABLE = re.compile(r"\s*[=+*/^<>≤≥≠∈-]")
# Words that tie two numbers into one statement: `5 to 7` has no last number.
_NUMBER_NEXT = re.compile(r"\s*[$\d\\-]")
_TIES = words("to through of by plus minus times over versus vs than more less mod modulo out")
# Words that end a number's unit: `5 ways to do it`.
_ENDS = words("every each for to on at with left remaining altogether overall among using because since when if so")
_MAX_UNIT_WORDS = 4


def last_run(sentence: str) -> Found | None:
    """The last run in `sentence`, or None. The end is tried first: it mostly holds the whole run."""
    for size in _WINDOWS:
        shift = _window(sentence, size)
        found = _last_in(sentence[shift:], whole=not shift)
        if found is not None or not shift:
            break
    else:
        found = _last_in(sentence[shift:], whole=True)
    return None if found is None else Found(found.text, found.start + shift, found.end + shift)


def _window(sentence: str, size: int) -> int:
    """Where the last `size` characters start, moved to white space."""
    start = len(sentence) - size
    if start <= 0:
        return 0
    return next((i for i in range(start, max(start - 60, 0), -1) if sentence[i].isspace()), start)


def _last_in(text: str, *, whole: bool) -> Found | None:
    """The last run that surely starts in `text`: unless it is `whole`, one before which a run has ended."""
    state = _runs(text)
    last: tuple[int, int] | None = None
    for start, end in state.runs:
        if any(character.isalnum() or character in "∞π∅" for character in text[start:end]):
            last = (start, end)
    if last is None or (not whole and not 0 <= state.first_end <= last[0]):
        return None
    start, end = last
    while end > start and text[end - 1] in ".,;:!? \t\n" and not (text[end - 1] == "!" and end < len(text)):
        end -= 1
    return Found(text[start:end], start, end)


def _runs(text: str) -> _State:
    state = _State([])
    position, size, piece = 0, len(text), _PIECE.match
    while position < size:
        match = piece(text, position)
        assert match is not None
        position = state.feed(text, match)
    state.close(size)
    return state


class _State:
    """The run that is being collected."""

    def __init__(self, runs: list[tuple[int, int]]) -> None:
        self.runs = runs
        self.start = -1
        self.end = -1
        self.number = False
        self.units = 0
        self.joined = False
        self.depth = 0
        self.tied = False
        self.first_end = -1

    def close(self, at: int) -> None:
        """End the run. `first_end` is where for the first time nothing before matters any more."""
        if self.first_end < 0 and not self.depth:
            self.first_end = at
        if self.start >= 0 and self.end > self.start:
            self.runs.append((self.start, self.end))
        self.start = self.end = -1
        self.number = self.joined = self.tied = False
        self.units = self.depth = 0

    def take(self, match: re.Match[str], end: int) -> int:
        if self.units and not self.joined and not self.tied:
            self.close(match.start())
        self.units = 0
        if self.start < 0:
            self.start = match.start()
        self.end = end
        self.joined = self.tied = False
        return end

    def feed(self, text: str, match: re.Match[str]) -> int:
        kind, piece = match.lastgroup, match.group()
        if kind == "ws":
            if "\n" in piece and not self.depth:
                self.close(match.end())
            return match.end()
        if kind == "word":
            return self.word(text, match, piece)
        if kind == "cmd":
            self.number = True
            end = match.end()
            if piece in tables.TEXTUAL or piece in (r"\begin", r"\end"):
                end = _group_end(text, end)
            return self.take(match, end)
        if kind in ("num", "ord"):
            end = self.take(match, match.end())
            self.number = True
            return end
        return self.sign(text, match, piece)

    def sign(self, text: str, match: re.Match[str], piece: str) -> int:
        if piece in _SIGNS:
            self.depth += (piece in "([{") - (piece in ")]}")
            if self.start < 0 and piece in ")]}!%'=|_^*/&~":
                return match.end()
            return self.take(match, match.end())
        if piece in ",;" and self.start >= 0:
            self.joined = True
            return match.end()
        tight = text[match.start() - 1 : match.start()].strip() and text[match.end() : match.end() + 1].strip()
        if piece in ":." and tight and self.start >= 0:
            return self.take(match, match.end())
        if piece == "." and self.start >= 0 and text[match.end() : match.end() + 1] == ".":
            return self.take(match, match.end())
        self.close(match.end())
        return match.end()

    def word(self, text: str, match: re.Match[str], piece: str) -> int:
        lower = piece.lower()
        if piece in _MATH_WORDS or piece in _GREEK_LETTERS:
            self.number = self.number or piece in tables.ASCII_CONSTANTS or piece == "π"
            return self.take(match, match.end())
        if lower in ("and", "or") or piece in tables.JOINTS:
            if self.start >= 0:
                self.joined = True
            return match.end()
        if len(piece) == 1 and piece.isascii():
            if self.start < 0 and piece in _SINGLE_WORDS and not _AFTER_VARIABLE.match(text, match.end()):
                return match.end()
            return self.take(match, match.end())
        return self.unit(text, match, lower)

    def unit(self, text: str, match: re.Match[str], lower: str) -> int:
        """A word that is no mathematics: a number's unit, or the end of the run."""
        if self.start < 0 or not self.number or self.joined or self.units >= _MAX_UNIT_WORDS:
            self.close(match.end())
            return match.end()
        self.tied = lower in _TIES
        if lower in _ENDS and not (self.tied and _NUMBER_NEXT.match(text, match.end())):
            self.close(match.end())
            return match.end()
        self.units += 1
        self.end = match.end()
        return match.end()


def _group_end(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    if text[position : position + 1] != "{":
        return position
    close = closing_brace(text, position)
    return close + 1 if close >= 0 else position
