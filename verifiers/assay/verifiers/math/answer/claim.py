"""A claim: a value of a statement with its role there."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Rank(IntEnum):
    """How near to the answer a value stands."""

    MAIN = 0
    ADJUNCT = 1
    DESCRIPTION = 2
    SYMBOL = 3
    CONTEXT = 4


class Claim(NamedTuple):
    """A value with its role. `fault` says why it is no answer: `denied`, `bounded`, `altered`, `joined`, or ""."""

    place: int
    """Index of its piece."""
    end: int
    """Index of the first piece behind the value, its unit and number words."""
    text: str
    rank: Rank
    fault: str = ""
    predicative: bool = False
    """Whether it stands directly behind a copula: `is 5`."""
