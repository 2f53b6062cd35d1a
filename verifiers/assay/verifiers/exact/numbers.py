"""Decimal numbers read from text and compared exactly, without being expanded.

A number is stored as sign, significant digits and a power of ten, so the cost of `1e999999999` is that of its text, and
a million digits compare in linear time. A span is one number if, after NFKC and without Markdown, enclosing brackets,
one currency sign and final punctuation, nothing but a number is left; `nan`, `<57`, `3/4`, `5 cm`, `50%` are not.
"""

from __future__ import annotations

import decimal
import re
import unicodedata
from collections.abc import Set
from functools import cmp_to_key
from typing import NamedTuple

from assay.verifiers.exact.unicode import nfkc
from assay.verifiers.extract import strip_markdown

EXPONENT_DIGITS = 18
"""An exponent with more digits than this is not a number."""
TOLERANCE_DIGITS = 10_000
"""Maximum number of decimal places that a gold and its tolerance may span together."""
_LAYERS = 8
"""Maximum number of brackets and marks around one number."""
_PAIRS = {"(": ")", "[": "]", "{": "}", "$": "$"}
_TEX_PAIRS = {r"\(": r"\)", r"\[": r"\]"}
_END = ".,;:!"
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d+|[1-9]\d{0,2}(?:,\d{3})+)?(?:\.(?P<part>\d*))?(?:[eE](?P<exp>[+-]?\d+))?",
    re.ASCII,
)
_SPACED_SIGN = re.compile(r"\s*[+-]\s")


class Number(NamedTuple):
    """(-1)^negative * 0.DIGITS * 10^exponent. Digits neither start nor end with 0; zero has no digits."""

    negative: bool
    digits: str
    exponent: int


class Interval(NamedTuple):
    """All numbers from `low` to `high`, both included."""

    low: Number
    high: Number


ZERO = Number(False, "", 0)


def parse_number(text: str) -> Number | None:
    """Return the number that the whole of `text` is, or None."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        match = _NUMBER.fullmatch(_bare(text))
    return None if match is None else _number(match)


def _number(match: re.Match[str]) -> Number | None:
    whole, part, power = match["whole"] or "", match["part"] or "", match["exp"] or "0"
    if not whole and not part:
        return None
    whole = whole.replace(",", "").lstrip("0")
    digits = whole + part
    lead = digits.lstrip("0")
    if not lead:
        return ZERO
    unsigned = power.lstrip("+-").lstrip("0")
    if len(unsigned) > EXPONENT_DIGITS:
        return None
    exponent = -int(unsigned or "0") if power[0] == "-" else int(unsigned or "0")
    exponent += len(whole) - (len(digits) - len(lead))
    return Number(match["sign"] == "-", lead.rstrip("0"), exponent)


def ascii_digits(text: str) -> str:
    """Return `text` in NFKC, with U+2212 as `-` and decimal digits of every script as ASCII."""
    if text.isascii():
        return text
    text = nfkc(text).replace("\u2212", "-")
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c > "\x7f" and c.isdecimal() else c for c in text)


def _bare(text: str) -> str:
    """Return `text` without the marks that may surround a number."""
    text = ascii_digits(text)
    if _SPACED_SIGN.match(text):
        return text
    for _ in range(_LAYERS):
        before = text
        text = _unwrap(strip_markdown(text).rstrip(_END + " \t\r\n"))
        if text == before:
            break
    return _without_currency(text)


def _unwrap(text: str) -> str:
    if len(text) > 2 and _PAIRS.get(text[0]) == text[-1]:
        return text[1:-1].strip()
    if len(text) > 4 and _TEX_PAIRS.get(text[:2]) == text[-2:]:
        return text[2:-2].strip()
    return text


def _without_currency(text: str) -> str:
    """Return `text` without one currency sign before the number, between sign and number, or after it."""
    sign, rest = (text[0], text[1:]) if text.startswith(("+", "-")) else ("", text)
    rest = rest.removeprefix("\\") if rest[:2] == "\\$" else rest
    if rest and unicodedata.category(rest[0]) == "Sc":
        rest = rest[1:].lstrip()
    elif rest and unicodedata.category(rest[-1]) == "Sc":
        rest = rest[:-1].removesuffix("\\").rstrip()
    return sign + rest if not (sign and rest[:1] in ("+", "-")) else text


def compare(left: Number, right: Number) -> int:
    """Return -1, 0 or 1, in time linear in the digits."""
    if left == right:
        return 0
    ranks = [_sign(number) for number in (left, right)]
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    larger = 1 if (left.exponent, left.digits) > (right.exponent, right.digits) else -1
    return -larger if left.negative else larger


def _sign(number: Number) -> int:
    return 0 if not number.digits else -1 if number.negative else 1


def contains(interval: Interval, number: Number) -> bool:
    """Return whether `number` lies in `interval`."""
    return compare(interval.low, number) <= 0 <= compare(interval.high, number)


def one_to_one(intervals: Set[Interval], numbers: Set[Number]) -> bool:
    """Return whether each interval can be assigned a different number with no number left over.

    Greedy: each number, in ascending order, goes to the interval containing it that ends first, which is optimal on a
    line.
    """
    if len(intervals) != len(numbers):
        return False
    by_value = cmp_to_key(compare)
    waiting = sorted(intervals, key=lambda interval: by_value(interval.high))
    for number in sorted(numbers, key=by_value):
        home = next((interval for interval in waiting if contains(interval, number)), None)
        if home is None:
            return False
        waiting.remove(home)
    return True


def around(gold: Number, *, absolute: float, relative: float) -> Interval:
    """Return the interval of x with |x - gold| <= max(absolute, relative * |gold|). Raises `ValueError` for too many
    places.

    Tolerances are read as the decimals they are written as, so 0.1 is exactly a tenth.
    """
    context = decimal.Context(
        prec=TOLERANCE_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact]
    )
    try:
        centre = context.create_decimal(to_text(gold))
        share = context.multiply(context.create_decimal(repr(relative)), context.abs(centre))
        room = context.max(context.create_decimal(repr(absolute)), share)
        low, high = context.subtract(centre, room), context.add(centre, room)
    except decimal.DecimalException:
        raise ValueError("gold and tolerance span too many decimal places") from None
    return Interval(_from_decimal(low), _from_decimal(high))


def _from_decimal(value: decimal.Decimal) -> Number:
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not text or not isinstance(exponent, int):
        return ZERO
    return Number(sign == 1, text.rstrip("0"), exponent + len(text))


def to_text(number: Number) -> str:
    """Return the number in plain notation, or in scientific notation if plain notation needs many zeros."""
    digits, point = number.digits or "0", number.exponent
    sign = "-" if number.negative else ""
    if not -6 < point <= len(digits) + 15:
        return f"{sign}0.{digits}e{point}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}" if number.digits else "0"
    whole, part = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"


def literal(value: int | float) -> str:
    """Return a JSON number as text. Integers may have any size."""
    if isinstance(value, float):
        return repr(value)
    return str(value) if value.bit_length() < 10_000 else format(decimal.Decimal(value), "f")
