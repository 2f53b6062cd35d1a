"""Sets of real numbers: unions of intervals with constant ends, in canonical form.

An end is an exact rational or an irrational constant (`Scalar`); None is infinity. A union is sorted,
its pieces do not touch. Ends that are symbols are not handled here: `values.py` keeps such sets as
they were written.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from assay.verifiers.math.equality.exact import NoValue
from assay.verifiers.math.equality.functions import CONTEXT
from assay.verifiers.math.equality.places import ANYWHERE
from assay.verifiers.math.equality.scalar import Scalar, equal
from assay.verifiers.math.syntax.nodes import Num, Unparsed


class End:
    """A constant on the real line: its expression, and 400 bits of its value (all of it where it is rational)."""

    __slots__ = ("fraction", "scalar")

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar
        self.fraction = _approximate(scalar)

    def same(self, other: End) -> bool:
        """Whether they are the same number."""
        return equal(self.scalar, other.scalar)

    def below(self, other: End) -> bool:
        """Whether it is smaller."""
        return not self.same(other) and self.fraction < other.fraction


def _approximate(scalar: Scalar) -> Fraction:
    """The value of a real constant; raises `Unparsed` where it is none."""
    try:
        exact = scalar.exact
        if exact is not None:
            return exact
        if scalar.node.free:
            raise Unparsed("no end of an interval")
        return _irrational(scalar)
    except NoValue as error:
        raise Unparsed("no end of an interval") from error


def _irrational(scalar: Scalar) -> Fraction:
    found = scalar.number(ANYWHERE, 400, log_base=10, real=False)
    if found is None or isinstance(found.value, CONTEXT.mpc):
        raise Unparsed("no end of an interval")
    sign, mantissa, exponent, _ = found.value._mpf_
    size = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -size if sign else size


class Piece(NamedTuple):
    """An interval, or a point where both ends are one closed end."""

    low: End | None
    low_closed: bool
    high: End | None
    high_closed: bool


Line = tuple[Piece, ...]
EVERYTHING: Line = (Piece(None, False, None, False),)
NOTHING: Line = ()


def interval(low: End | None, low_closed: bool, high: End | None, high_closed: bool) -> Line:
    """One interval; nothing if its ends are in the wrong order."""
    if low is not None and high is not None:
        if low.same(high):
            return (Piece(low, True, high, True),) if low_closed and high_closed else NOTHING
        if not low.below(high):
            return NOTHING
    return (Piece(low, low_closed and low is not None, high, high_closed and high is not None),)


def point(end: End) -> Line:
    """One number."""
    return (Piece(end, True, end, True),)


def union(lines: Iterable[Line]) -> Line:
    """Everything that is in one of them."""
    pieces = [piece for line in lines for piece in line]
    merged: list[Piece] = []
    for piece in _sorted(pieces):
        if merged and _touches(merged[-1], piece):
            merged[-1] = _joined(merged[-1], piece)
        else:
            merged.append(piece)
    return tuple(merged)


def _sorted(pieces: list[Piece]) -> list[Piece]:
    """By lower end: insertion sort by exact comparison (the lists are short)."""
    ordered: list[Piece] = []
    for piece in pieces[:200]:
        index = len(ordered)
        while index and _starts_before(piece, ordered[index - 1]):
            index -= 1
        ordered.insert(index, piece)
    if len(pieces) > 200:
        raise Unparsed("too many intervals")
    return ordered


def _starts_before(one: Piece, other: Piece) -> bool:
    if other.low is None:
        return False
    if one.low is None:
        return True
    if one.low.same(other.low):
        return one.low_closed and not other.low_closed
    return one.low.below(other.low)


def _touches(before: Piece, after: Piece) -> bool:
    if before.high is None or after.low is None:
        return True
    if before.high.same(after.low):
        return before.high_closed or after.low_closed
    return after.low.below(before.high)


def _joined(before: Piece, after: Piece) -> Piece:
    if before.high is None or after.high is None:
        return Piece(before.low, before.low_closed, None, False)
    if before.high.same(after.high):
        return before._replace(high_closed=before.high_closed or after.high_closed)
    return before if after.high.below(before.high) else before._replace(high=after.high, high_closed=after.high_closed)


def complement(line: Line) -> Line:
    """Everything that is not in it. `line` is canonical."""
    result: list[Piece] = []
    low: End | None = None
    low_closed = False
    for piece in line:
        if piece.low is not None:
            result.append(Piece(low, low_closed, piece.low, not piece.low_closed))
        if piece.high is None:
            return tuple(result)
        low, low_closed = piece.high, not piece.high_closed
    result.append(Piece(low, low_closed, None, False))
    return tuple(result)


def intersection(lines: Iterable[Line]) -> Line:
    """What is in all of them."""
    return complement(union(complement(line) for line in lines))


def same(one: Line, other: Line) -> bool:
    """Whether two canonical unions are the same set."""
    return len(one) == len(other) and all(_same_piece(a, b) for a, b in zip(one, other, strict=True))


def _same_piece(one: Piece, other: Piece) -> bool:
    if one.low_closed != other.low_closed or one.high_closed != other.high_closed:
        return False
    return _same_end(one.low, other.low) and _same_end(one.high, other.high)


def _same_end(one: End | None, other: End | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.same(other)


def number(value: Fraction) -> End:
    """An exact end."""
    return End(Scalar(Num(value)))
