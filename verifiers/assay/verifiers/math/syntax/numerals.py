"""Exact values of numbers in every notation: decimals, `1.2e-5`, `9 3/7`, repeating decimals."""

from __future__ import annotations

import re
from fractions import Fraction

from assay.verifiers.math.syntax.nodes import Unparsed

MAX_DIGITS = 4_000
"""A number with more digits is compared as text only (and Python would not convert many more)."""
_MAX_FORM = 1_000
"""Longest number in another notation than digits: its value has a few times as many digits."""
_DIGIT_RUNS = re.compile(r"\d+")


def decimal(digits: str) -> Fraction:
    """The exact value of a plain decimal."""
    whole, _, part = digits.partition(".")
    if len(digits) > MAX_DIGITS:
        raise Unparsed("number too long")
    if not part:
        return Fraction(int(whole or "0"))
    return Fraction(int((whole or "0") + part), 10 ** len(part))


def scientific(text: str) -> Fraction:
    """The exact value of `1.2e-5`."""
    mantissa, _, exponent = text.lower().partition("e")
    power = int(exponent)
    if abs(power) > _MAX_FORM or len(text) > _MAX_FORM:
        raise Unparsed("number too long")
    return decimal(mantissa) * Fraction(10) ** power


def mixed(text: str) -> Fraction:
    """The exact value of `9 3/7`."""
    if len(text) > _MAX_FORM:
        raise Unparsed("number too long")
    whole, top, bottom = _DIGIT_RUNS.findall(text)
    if not int(bottom) or int(top) >= int(bottom):
        raise Unparsed("not a mixed number")
    return decimal(whole) + Fraction(int(top), int(bottom))


def repeating(text: str) -> Fraction:
    """The exact value of `0.1\\overline{6}` and `0.\\dot{1}4\\dot{2}`."""
    whole, _, rest = text.partition(".")
    if r"\dot" in rest:
        fixed, *dotted = rest.split(r"\dot")
        period = "".join(re.sub(r"\D", "", piece) for piece in dotted)
    else:
        fixed, _, period = rest.partition("\\")
        period = re.sub(r"\D", "", period)
    if len(text) > _MAX_FORM:
        raise Unparsed("number too long")
    head = Fraction(int((whole or "0") + fixed), 10 ** len(fixed))
    return head + Fraction(int(period), 10 ** len(fixed) * (10 ** len(period) - 1))
