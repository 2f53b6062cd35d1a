"""Where two expressions are compared numerically: secret random places of several magnitudes and both signs.

Analytic expressions that agree at four places of one region agree. An expression in pieces (`|x|`, `floor`,
`max`, `arcsin`, the root of a square) may agree on one piece only: it is compared at every place, among them
integers, large values, and values around each constant that stands in it.
A variable is taken positive only where it stands itself under an even root, a logarithm or a power that is
not whole; what stands there in a sum is left to its domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from assay.verifiers.extract.found import words
from assay.verifiers.math.equality.exact import NoValue, cost, rational
from assay.verifiers.math.equality.functions import CONTEXT, Number
from assay.verifiers.math.equality.secrets import drawn
from assay.verifiers.math.syntax.nodes import Node, Num, Op, Sym

_PLACES = 32
_MOST_VISITS = 40_000
"""Node visits that the places of one comparison may cost."""
_FEWEST = 8
_CONSTANTS = 6
_SCALES = (
    (0.3, 2.5),
    (0.3, 2.5),
    (1.0, 6.0),
    (0.05, 0.95),
    (0.3, 2.5),
    (2.0, 40.0),
    (20.0, 400.0),
    (400.0, 9000.0),
)
"""Bounds of the sizes of values at one place and the next, in turn."""
_PIECED = words(
    """
    abs norm floor ceil min max sign asin acos atan acot asec acsc asinh acosh atanh re im
    """
)
_ROOTS = frozenset(("sqrt", "root", "ln", "log", "lg", "lb"))
_COMPLEX_NAMES = frozenset("zw")


class Place(NamedTuple):
    """A place: the size of the values there, whether they are whole, and which names are positive or complex there."""

    number: int
    low: Fraction
    high: Fraction
    whole: bool = False
    positive: frozenset[str] = frozenset()
    complex: bool = False
    around: bool = False
    """Whether it lies beside a constant of the expressions, where a piece may begin."""

    def value(self, name: str) -> Number:
        """The value of a symbol. Two places in a row have opposite signs."""
        share = CONTEXT.mpf(drawn(f"{name}\x00{self.number}", 16)) / (1 << 128)
        low, high = (CONTEXT.mpf(end.numerator) / end.denominator for end in (self.low, self.high))
        size = low + (high - low) * share
        if self.whole:
            size = CONTEXT.ceil(size)
        if self.complex and name in _COMPLEX_NAMES:
            return CONTEXT.mpc(size, size / 3)
        side = drawn(f"{name}\x00{self.number // 2}", 1)
        return size if name in self.positive or (side ^ self.number) & 1 else -size


ANYWHERE = Place(0, Fraction(3, 10), Fraction(5, 2))


@lru_cache(maxsize=512)
def is_pieced(node: Node) -> bool:
    """Whether an expression may follow different formulas in different regions."""
    if not isinstance(node, Op) or not node.free:
        return False
    if node.head in _PIECED or node.head.startswith("app:"):
        return True
    if node.head in _ROOTS and not _is_monomial(node.args[0]):
        return True
    if node.head == "pow" and node.args[0].free and not _is_monomial(node.args[0]) and not _is_whole(node.args[1]):
        return True
    return any(is_pieced(arg) for arg in node.args)


def places_for(left: Node, right: Node) -> tuple[Place, ...]:
    """The places at which two expressions are compared, in order."""
    positive = frozenset(_positive(left)) | frozenset(_positive(right))
    pieced = is_pieced(left) or is_pieced(right)
    spinning = pieced and bool({"abs", "norm"} & (left.heads | right.heads))
    places = []
    for index in range(_PLACES):
        low, high = _SCALES[(index // 2) % len(_SCALES)]
        whole = index >= 16 and high > 2
        places.append(Place(index, Fraction(low), Fraction(high), whole, positive, spinning))
    if pieced:
        most = max(_FEWEST, _MOST_VISITS // max(cost(left) + cost(right), 1))
        around = list(_around(sorted(_constants(left) | _constants(right))))
        extra = [Place(_PLACES + i, *ends, False, positive, spinning, True) for i, ends in enumerate(around)]
        # Places around constants first: where few can be paid for, they tell most.
        return tuple((extra + places)[:most])
    return tuple(places)


def _around(constants: list[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    chosen = constants[-_CONSTANTS:] if len(constants) <= _CONSTANTS else constants[:2] + constants[2 - _CONSTANTS :]
    for size in chosen:
        for low, high in ((Fraction(1, 2), Fraction(19, 20)), (Fraction(21, 20), Fraction(3, 2))):
            yield from ((size * low, size * high),) * 2


def _constants(node: Node) -> set[Fraction]:
    """Sizes, beyond those met anyway, of the constants in an expression."""
    if not node.free:
        try:
            value = rational(node)
        except NoValue:
            return set()
        size = abs(value) if value is not None else Fraction(0)
        return {size} if size > 1 and size.numerator.bit_length() < 1_000 else set()
    return set().union(*(_constants(child) for child in node.children()))


def _positive(node: Node) -> Iterator[str]:
    """Names that stand themselves under an even root, a logarithm, or a power that is not whole."""
    if not isinstance(node, Op):
        return
    inner = node.args[0] if node.args else node
    rooted = node.head in _ROOTS or (node.head == "pow" and not _is_whole(node.args[1]))
    if rooted and _is_monomial(inner):
        yield from inner.free
    for arg in node.args:
        yield from _positive(arg)


def _is_monomial(node: Node) -> bool:
    """A product of symbols, constants and their powers and roots."""
    if not node.free or isinstance(node, Sym):
        return True
    if isinstance(node, Op) and node.head == "pow" and node.args[1].free:
        return False
    return (
        isinstance(node, Op)
        and node.head in ("mul", "div", "pow", "sqrt", "root")
        and all(map(_is_monomial, node.args))
    )


def _is_whole(node: Node) -> bool:
    if isinstance(node, Num):
        return node.value.denominator == 1
    try:
        value = rational(node) if not node.free else None
    except NoValue:
        return False
    return value is not None and value.denominator == 1
