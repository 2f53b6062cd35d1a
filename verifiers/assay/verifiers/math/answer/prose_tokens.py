"""Tokens of prose: words, numbers, signs, LaTeX commands with their groups, and whole `$…$`."""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.verifiers.math.syntax import tables

_MARKS = "".join(tables.SUPERSCRIPTS).replace("n", "") + "".join(tables.SUBSCRIPTS)


FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑"


_CONSTANTS = "π∞√∛∅θαβγδλμφψωτσρΔΣΩ∑∏∫ℝℕℤℚ"


_TOKEN = re.compile(
    rf"""
    (?P<money>US\$|\\?\$|[€£¥₩₹¢])
  | (?P<num>\d{{1,3}}(?:,\d{{3}}){{1,8}}(?![\d,])(?:\.\d+)?
      |\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}}){{1,8}}(?![\d,])(?:\.\d+)?
      |\d+(?:\.\d+)?(?:[eE][+-]?\d{{1,6}}(?![A-Za-z\d]))?|\.\d+)
  | (?P<cmd>\\[A-Za-z]+|\\.)
  | (?P<atom>[{re.escape(FRACTIONS + _CONSTANTS)}])
  | (?P<mark>[{re.escape(_MARKS)}]+|['′″]+(?![A-Za-z]))
  | (?P<word>[A-Za-z]+(?:['’][A-Za-z]+)*|[^\W\d_A-Za-z]+)
  | (?P<ws>\s+)
  | (?P<sign>\.\.\.|<=|>=|!=|==|\*\*|->|=>|.)
    """,
    re.X | re.DOTALL,
)


class Token(NamedTuple):
    """A token: `num`, `money`, `cmd`, `atom`, `mark`, `word`, `sign`, `span` or `space`."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool


def tokens_of(text: str, start: int, stop: int, spans: dict[int, int]) -> list[Token]:
    """Tokens of `text[start:stop]`; a `$…$` is one token, a command takes its groups with it."""
    tokens: list[Token] = []
    groups = bracket_pairs(text)
    position, spaced = start, False
    while position < stop:
        if position in spans:
            tokens.append(Token("span", text[position : spans[position]], position, spans[position], spaced))
            position, spaced = spans[position], False
            continue
        match = _TOKEN.match(text, position, stop)
        assert match is not None
        kind, end = match.lastgroup or "", match.end()
        if kind == "ws":
            position, spaced = end, True
            continue
        if kind == "cmd":
            kind, end = _command(text, match.group(), end, groups)
        tokens.append(Token(kind, text[position:end], position, end, spaced))
        position, spaced = end, False
    return tokens


def _command(text: str, name: str, end: int, groups: dict[int, int]) -> tuple[str, int]:
    """A command with its groups; `\\%` is a sign."""
    if name in (r"\%", r"\$", r"\,", r"\!", r"\;", r"\ "):
        return ("mark" if name == r"\%" else "space"), end
    while text[end : end + 1] in ("{", "[") and end in groups and name[-1:].isalpha():
        end = groups[end] + 1
    return "cmd", end


def bracket_pairs(text: str) -> dict[int, int]:
    """Opening bracket -> closing bracket."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for match in re.finditer(r"\\.|[(){}\[\]]", text, re.DOTALL):
        sign, at = match.group(), match.start()
        if sign in BRACKETS:
            stack.append(at)
        elif sign in (")", "]", "}") and stack:
            opened = stack[-1]
            if BRACKETS[text[opened]] == sign or (sign in ")]" and text[opened] in "(["):
                pairs[stack.pop()] = at
            else:
                stack.clear()
    return pairs


BRACKETS = {"(": ")", "[": "]", "{": "}"}


NONE = Token("", "", -1, -1, True)
