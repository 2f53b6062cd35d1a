"""A statement of prose as values, words and signs.

A value is a `$…$`, a number, or a whole run of numbers, LaTeX, operators, brackets and single letters; it is
never cut. A bracket that holds words is a remark. Every step is linear in the statement's length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from assay.verifiers.extract.found import words
from assay.verifiers.math.answer.prose_tokens import BRACKETS, FRACTIONS, NONE, Token, bracket_pairs, tokens_of
from assay.verifiers.math.answer.spans import math_spans
from assay.verifiers.math.syntax import tables, units

_OPERATORS = words("+ - − – * ** / ^ _ = == < > <= >= != ≤ ≥ ≠ ± ∓ × · ⋅ ÷ ∪ ∩ ∈ ∖ ≡ |")
_MINUS = frozenset("-−–")
_OPENING_SIGNS = _MINUS | frozenset(("+", "±", "<", ">", "<=", ">=", "≤", "≥", "≠", "!=", "|", "~", "≈"))
"""Signs that may begin a value."""
_FACTORIAL_BEFORE = frozenset(".,;:)]")
"""Signs that do not follow an exclamation."""
_BINDING = frozenset("+*/^_=<>≤≥≠±×·÷∈∪∩|") | {"<=", ">=", "!=", "==", "**"}
"""Beside one of these a letter is a symbol."""
_MATH_WORDS = frozenset(tables.FUNCTIONS) | frozenset(tables.ASCII_CONSTANTS) | tables.ASCII_GREEK
_CONSTANT_NAMES = frozenset(tables.ASCII_CONSTANTS) | tables.ASCII_GREEK
_NOT_MATH_WORDS = words("min max sec re im det sign abs floor ceil tan log exp inf factorial infinity")
"""Names of functions that are words, too: mathematics only where a bracket follows."""
_SHORT_ENGLISH = words(
    """
    a i an as at be by do go he if in is it me my no of on or so to up us we and are but can did for get got had has
    her him his how its let may new nor not now off one our out per put ran run saw say see set she the thu too two
    use was way who why you yes yet all any ago age buy cut day due end few six ten top sum net avg tip ans
    """
)
_UNIT_LETTERS = frozenset(alias for alias in units.CANONICAL if alias.isascii() and alias.isalpha())


class Piece(NamedTuple):
    """A piece of a statement. `kind` is `value`, `word` or `sign`; `depth` counts remarks around it."""

    kind: str
    text: str
    """A value as it is read; a word in lower case; a sign."""
    start: int
    end: int
    depth: int = 0
    spaced: bool = True
    form: str = ""
    """Of a value: `measure` (30-minute), `ordinal`, `clock`, `symbol`, or "". Of a word: as it was written."""


def pieces_of(text: str) -> list[Piece]:
    """The pieces of a statement, in order."""
    return _Reader(text).read()


class _Reader:
    """Collects tokens into pieces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pairs = bracket_pairs(text)
        self.tokens = tokens_of(text, 0, len(text), math_spans(text))
        self.starts = [token.start for token in self.tokens]
        self.worded = [i for i, token in enumerate(self.tokens) if self.is_prose_word(i)]
        self.pieces: list[Piece] = []
        self.closings: list[int] = []
        self.factorial = False

    def read(self) -> list[Piece]:
        """All pieces."""
        index = 0
        while index < len(self.tokens):
            index = self.step(index)
        return self.pieces

    def put(self, kind: str, text: str, first: Token, last: Token, form: str = "") -> None:
        self.pieces.append(Piece(kind, text, first.start, last.end, len(self.closings), first.spaced, form))

    def step(self, index: int) -> int:
        """Read one piece; returns the index of the token after it."""
        token = self.tokens[index]
        while self.closings and token.start > self.closings[-1]:
            self.closings.pop()
        if self.begins_value(index):
            return self.value(index)
        if token.kind == "word":
            self.put("word", token.text.lower().replace("’", "'"), token, token, token.text)
        elif token.kind != "space":
            if token.text in BRACKETS and token.start in self.pairs:
                self.closings.append(self.pairs[token.start])
            self.put("sign", token.text, token, token)
        return index + 1

    # --- which tokens are mathematics ------------------------------------------------------------------
    def at(self, index: int) -> Token:
        return self.tokens[index] if 0 <= index < len(self.tokens) else NONE

    def is_prose_word(self, index: int) -> bool:
        """Whether a token is a word of prose rather than a symbol or a function's name."""
        token = self.tokens[index]
        return token.kind == "word" and not self.is_symbol(index)

    def is_symbol(self, index: int) -> bool:
        """Whether a word is a symbol: one letter or a short product beside mathematics, or a function's name."""
        token, before, after = self.at(index), self.at(index - 1), self.at(index + 1)
        if token.text in _CONSTANT_NAMES and (token.text == "pi" or self.is_bound(token, before, after)):
            return True
        if token.text in _MATH_WORDS and len(token.text) > 1:
            applied = after.text in ("(", "^", "_") and not after.spaced
            return applied or (token.text not in _NOT_MATH_WORDS and after.kind not in ("word", ""))
        if not token.text.isascii():
            return False
        tight_before = before.kind in ("num", "cmd", "atom", "mark") and not token.spaced
        if tight_before and len(token.text) <= 3:
            return token.text not in tables.ORDINALS and (len(token.text) == 1 or token.text not in _UNIT_LETTERS)
        if len(token.text) > 3 or (len(token.text) > 1 and token.text.lower() in _SHORT_ENGLISH | _UNIT_LETTERS):
            return False
        if after.kind == "mark" and not after.spaced:
            return len(token.text) == 1 or token.text not in _UNIT_LETTERS
        if before.kind == "num" and token.spaced and after.text == "^" and token.text in units.SINGLE_LETTERS:
            return False
        if len(token.text) == 1 and after.text in ("(", "^", "_") and not after.spaced:
            return True
        if len(token.text) == 1 and before.text in ("(", "[") and after.text in (")", "]") and not token.spaced:
            return self.at(index - 2).kind == "word" and not before.spaced
        return self.is_bound(token, before, after)

    def is_bound(self, token: Token, before: Token, after: Token) -> bool:
        """Whether an operator beside a letter makes it a symbol."""
        if after.text in _BINDING or before.text in _BINDING:
            unit_below = before.text == "/" and not before.spaced and not token.spaced
            unit_above = before.kind == "num" and token.spaced and after.text == "/" and not after.spaced
            if unit_above and token.text in _UNIT_LETTERS:
                return False
            return not unit_below and not (token.text == "I" and after.text not in _BINDING)
        minus_after = after.text in _MINUS and after.spaced and len(token.text) == 1
        minus_before = before.text in _MINUS and token.spaced == before.spaced and len(token.text) == 1
        return minus_after or minus_before

    def is_times(self, index: int) -> bool:
        """Whether a letter x between numbers is the sign of a product."""
        token, before, after = self.at(index), self.at(index - 1), self.at(index + 1)
        if token.kind != "word" or token.text not in ("x", "X"):
            return False
        left = before.kind in ("num", "span", "atom", "mark") or before.text in (")", "%", "]")
        return left and (after.kind in ("num", "money", "span", "atom") or after.text in ("(", "["))

    def is_math_bracket(self, index: int) -> bool:
        """Whether a bracket closes and holds no word of prose."""
        token = self.at(index)
        if token.text not in BRACKETS or token.start not in self.pairs:
            return False
        close = bisect_left(self.starts, self.pairs[token.start])
        if close == index + 1:
            return False
        where = bisect_left(self.worded, index)
        return where == len(self.worded) or self.worded[where] > close

    def begins_value(self, index: int) -> bool:
        token, after = self.at(index), self.at(index + 1)
        if token.kind in ("num", "cmd", "span", "atom"):
            return True
        if token.kind == "money":
            return after.kind in ("num", "atom")
        if token.kind == "word":
            return self.is_symbol(index)
        if token.text in _OPENING_SIGNS:
            return self.opens(index)
        return self.is_math_bracket(index)

    def opens(self, index: int) -> bool:
        """Whether a sign begins a value: not a dash between words, nor an operator after words with a unit."""
        token, after = self.at(index), self.at(index + 1)
        followed = after.kind in ("num", "cmd", "span", "atom", "money") or self.is_math_bracket(index + 1)
        followed = followed or (after.kind == "word" and self.is_symbol(index + 1))
        if token.text in ("~", "≈"):
            return False
        if token.text in _MINUS or token.text == "+":
            return followed and not after.spaced
        return followed

    # --- one value -----------------------------------------------------------------------------------------
    def value(self, index: int) -> int:
        first, self.factorial = index, False
        index = self.atom(index)
        while index < len(self.tokens):
            following = self.joined(index)
            if following <= index:
                break
            index = following
        return index + self.finish(self.tokens[first:index], self.at(index), self.at(index + 1))

    def atom(self, index: int) -> int:
        """Past one atom, with a sign or currency before it."""
        token = self.at(index)
        if token.kind == "money" or (token.text in _OPENING_SIGNS and token.kind == "sign"):
            if token.text == "|":
                return index + 1
            return self.atom(index + 1) if index + 1 < len(self.tokens) else index + 1
        if self.is_math_bracket(index):
            return bisect_left(self.starts, self.pairs[token.start]) + 1
        return index + 1

    def joined(self, index: int) -> int:
        """Past what continues the value at `index`; `index` itself where nothing does."""
        token, before = self.at(index), self.at(index - 1)
        if token.kind == "space":
            return index + 1
        if token.kind == "mark" and not token.spaced:
            return index + 1
        if token.text in ("%", "°", "℃", "℉"):
            return index + 1
        if token.text == "!" and not token.spaced and self.is_factorial(index):
            self.factorial = True
            return index + 1
        if self.is_times(index) or token.text in _OPERATORS or self.is_ratio(index):
            return self.after_operator(index)
        applied = before.kind == "word" and before.text in _MATH_WORDS
        if not token.spaced or token.kind == "cmd" or before.kind == "cmd" or before.text in _OPERATORS or applied:
            return self.beside(index)
        return self.mixed(index)

    def is_factorial(self, index: int) -> bool:
        """Whether `!` behind a number is a factorial: the sentence goes on, or the value holds one already.

        At the end of a statement it exclaims: `The total is 7!`.
        """
        while self.at(index).text == "!":
            index += 1
        after = self.at(index)
        if after.kind == "word":
            return self.factorial or after.text[0].islower()
        return self.factorial or after.kind == "num" or after.text in _OPERATORS | _FACTORIAL_BEFORE

    def is_ratio(self, index: int) -> bool:
        token, after = self.at(index), self.at(index + 1)
        return token.text == ":" and token.spaced == after.spaced and after.kind in ("num", "span")

    def after_operator(self, index: int) -> int:
        """Past an operator and the atom behind it."""
        token, after = self.at(index), self.at(index + 1)
        if token.text == "|":
            return index + 1
        if token.text in _MINUS and not token.spaced and after.kind == "word" and not self.is_symbol(index + 1):
            return index
        signed = after.text in _MINUS and self.opens(index + 1)
        if self.begins_value(index + 1) or signed:
            return self.atom(index + 1)
        return index

    def beside(self, index: int) -> int:
        """Past an atom that stands directly beside the value: a product, `f(x)`, an index."""
        if self.at(index).kind in ("num", "cmd", "atom", "mark"):
            return index + 1
        if self.is_math_bracket(index):
            return self.atom(index)
        if self.at(index).kind == "word" and self.is_symbol(index):
            return index + 1
        return index

    def mixed(self, index: int) -> int:
        """`9 3/7` and `9 ½`: a fraction after a whole number."""
        token, before = self.at(index), self.at(index - 1)
        if before.kind != "num" or not before.text.isdigit():
            return index
        if token.kind == "atom" and token.text in FRACTIONS:
            return index + 1
        third = self.at(index + 2)
        fraction = token.kind == third.kind == "num" and self.at(index + 1).text == "/"
        return index + 3 if fraction and not self.at(index + 1).spaced and not third.spaced else index

    def finish(self, tokens: list[Token], after: Token, second: Token) -> int:
        """Put the value; returns how many tokens behind it belong to it."""
        first, last = tokens[0], tokens[-1]
        if len(tokens) == 1 and first.kind == "num" and not after.spaced:
            if after.text in tables.ORDINALS:
                self.put("value", first.text + after.text, first, after, "ordinal")
                return 1
            if after.text == "-" and second.kind == "word" and not second.spaced:
                self.put("value", first.text, first, after, "measure")
                return 1
        self.put("value", _text(tokens), first, last, _form(tokens))
        return 0


def _form(tokens: list[Token]) -> str:
    first = tokens[0]
    if not any(token.kind in ("num", "span", "atom", "cmd") for token in tokens) and not _holds_digit(tokens):
        return "symbol"
    if len(tokens) == 1 and first.kind == "span" and is_symbol_span(first.text):
        return "symbol"
    if len(tokens) == 3 and tokens[1].text == ":" and not tokens[1].spaced and len(tokens[2].text) == 2:
        return "clock"
    return ""


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SYMBOL = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?[A-Za-z\d]+\}?)?'*(?:\([a-z]\))?\s*")


def is_symbol_span(text: str) -> bool:
    """Whether a `$…$` holds one symbol only."""
    inner = text.strip("$ ").removeprefix(r"\(").removesuffix(r"\)").strip()
    return _SYMBOL.fullmatch(inner) is not None and inner not in (
        r"\pi",
        r"\infty",
        "e",
        "i",
        r"\emptyset",
        r"\varnothing",
    )


def _holds_digit(tokens: list[Token]) -> bool:
    return any(character.isdigit() for token in tokens for character in token.text)


def _text(tokens: list[Token]) -> str:
    """The value as it is read: in a calculation without thousands separators and currency, `x` as a product."""
    calculated = any(token.text in _OPERATORS or token.text in ("x", "X") for token in tokens[1:])
    parts = []
    for index, token in enumerate(tokens):
        text = token.text
        if calculated:
            if token.kind == "money":
                continue
            if index and text in ("x", "X") and token.kind == "word" and tokens[index - 1].kind != "word":
                after = tokens[index + 1] if index + 1 < len(tokens) else NONE
                text = (
                    r"\times " if after.kind in ("num", "money", "span", "atom") or after.text in ("(", "[") else text
                )
            text = _THOUSANDS.sub("", text) if token.kind == "num" or _is_sum(text) else text
        if token.kind == "span":
            text = _inner(text)
        parts.append((" " if token.spaced and index else "") + text)
    return "".join(parts)


def _is_sum(text: str) -> bool:
    return any(sign in text for sign in "+-*/")


def _inner(span: str) -> str:
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")):
        if span.startswith(opening) and span.endswith(closing) and len(span) >= len(opening) + len(closing):
            return span[len(opening) : len(span) - len(closing)].strip().rstrip(".,;").strip()
    return span
