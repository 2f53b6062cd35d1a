"""What a comparison may overlook: the row's options and its profile, as data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What may be overlooked. The defaults are the strict profile's."""

    units: str = "same_if_both"
    """`same_if_both`: a unit on one side only is ignored; `required`: both or none; `ignored`."""
    percent_free: bool = False
    """45 equals 45 %, too."""
    singletons: bool = False
    """{5} equals 5."""
    brackets_free: bool = False
    """(1,2), <1,2> and a column vector are one thing."""
    names_free: bool = False
    """x = 5 equals y = 5."""
    tolerance_abs: Fraction = Fraction(0)
    tolerance_rel: Fraction = Fraction(0)
    gold_digits: bool = False
    """A decimal equals what rounds to it, at its own number of digits."""


STRICT = Rules()
LENIENT = Rules(percent_free=True, singletons=True, brackets_free=True, names_free=True, gold_digits=True)
