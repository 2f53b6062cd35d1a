"""Numbers of JSON: one value for one text, wherever the text stands (reference, message, state, completion).

A number is what its decimal text says, never the double nearest to it: 6.02e23 is the whole number 602 * 10^21, and
0.1 is a tenth. Plain Python numbers carry that value as far as they can; where a double cannot (more digits than it
holds), `Lexeme` carries the text. A plain float stands for its shortest text (`repr`), as JSON writers write it.

Bounded: a number whose magnitude a double does not have, or of more than `DIGITS_LIMIT` digits, has no exact form.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

DIGITS_LIMIT = 4300
_SURE_DIGITS = 15
"""So many digits survive the way into a double and back, in its normal range."""
_SURE_FROM = 1e-300


class NumberFault(ValueError):
    """A number has no exact form. `limit`: the bound on digits that it passed, or None: out of a double's range."""

    def __init__(self, detail: str, limit: int | None = None) -> None:
        super().__init__(detail)
        self.limit = limit


class Lexeme(float):
    """A float that keeps the text it was written in, where a float cannot hold its value."""

    text: str

    def __new__(cls, text: str) -> Lexeme:
        """The nearest float, with `text` as its `str`."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def written(text: str) -> float:
    """The float that a number's text stands for: plain if it holds the value, else a `Lexeme`. Never raises."""
    number = float(text)
    if not number:
        return Lexeme(text) if _significant(text) else number
    if math.isinf(number):
        return Lexeme(text)
    if len(text) <= _SURE_DIGITS and abs(number) > _SURE_FROM:
        return number
    return number if Decimal(text) == Decimal(repr(number)) else Lexeme(text)


def _significant(text: str) -> bool:
    return any(digit in "123456789" for digit in text.lower().partition("e")[0])


def exact(number: float) -> int | float:
    """The same number in its one form: int where whole, else as `written`. Raises NumberFault."""
    if isinstance(number, int):
        return number
    lexeme = isinstance(number, Lexeme)
    if not math.isfinite(number) or (lexeme and not number):
        raise NumberFault("a number out of a float's range")
    if not lexeme and not number.is_integer():
        return number
    if lexeme and len(str(number)) > DIGITS_LIMIT:
        raise NumberFault(f"a number longer than {DIGITS_LIMIT} digits", DIGITS_LIMIT)
    value = decimal_of(number)
    return int(value) if value == value.to_integral_value() else number


def decimal_of(number: float) -> Decimal:
    """What an exact number is worth."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def fraction_of(number: float) -> Fraction:
    """What an exact number is worth, to reckon with."""
    return Fraction(number) if isinstance(number, int) else Fraction(decimal_of(number))


def equal(left: float, right: float) -> bool:
    """Whether two numbers are worth the same."""
    if type(left) is type(right) and not isinstance(left, Lexeme):
        return left == right
    return decimal_of(left) == decimal_of(right)
