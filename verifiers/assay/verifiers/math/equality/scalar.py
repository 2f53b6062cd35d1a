"""Whether two scalar expressions are equal: exact first, then modulo primes, then numerically.

    same form                      equal
    both exact rationals           compared exactly
    both rational functions        values modulo two secret primes at secret points
    anything else with a value     50 digits and more, relative, at secret points
    too large to evaluate          equal only as text

`Scalar` keeps what was computed of one side: the gold's is shared by a whole group.
`log` without a base is read as one base throughout, 10 or e: either may make the two sides equal.
Not covered: identities that hold for whole numbers only, and branches of many-valued functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from assay.verifiers.math.equality import numeric
from assay.verifiers.math.equality.exact import MAX_COST, NoValue, TooLarge, Undefined, cost, rational
from assay.verifiers.math.equality.functions import CONTEXT, Number
from assay.verifiers.math.equality.modular import PRIMES, residues
from assay.verifiers.math.equality.numeric import MARGIN, NotNumeric
from assay.verifiers.math.equality.places import ANYWHERE, Place, is_pieced, places_for
from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op

MAX_SIZE = 3_000
"""Trees with more nodes are compared as text only."""
_WANTED = 4
_COSTLY = 800
"""Of many places, those where values have more bits than this are left out: the others tell as much."""


class Evaluated(NamedTuple):
    """A value, the largest magnitude (bits) on the way to it, and the bits that may be wrong."""

    value: Number
    magnitude: int
    loss: int


class Scalar:
    """One side of a comparison, with its values as they are asked for."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._values: dict[tuple[Place, int, int, bool], Evaluated | None] = {}

    @cached_property
    def exact(self) -> Fraction | None:
        """The exact value, if it is a rational that `rational` finds. Raises `Undefined`, `TooLarge`."""
        if self.node.size > MAX_SIZE or cost(self.node) > MAX_COST:
            raise TooLarge
        return None if self.node.free else rational(self.node)

    @cached_property
    def residues(self) -> tuple[int, ...] | None:
        """Values modulo the primes, where it is a rational function. Raises `Undefined`, `TooLarge`."""
        return residues(self.node)

    def number(self, place: Place, precision: int, *, log_base: int, real: bool) -> Evaluated | None:
        """The value at one place; None outside the domain."""
        key = (place, precision, log_base, real)
        if key not in self._values:
            self._values[key] = _evaluate(self.node, place.value, precision, log_base=log_base, real=real)
        return self._values[key]

    @cached_property
    def undefined(self) -> bool:
        """Whether it is a constant without a value."""
        if self.node.free:
            return False
        try:
            if self.exact is not None:
                return False
            self.number(ANYWHERE, 200, log_base=10, real=False)
        except Undefined:
            return True
        except NoValue:
            return False
        return False

    @cached_property
    def infinite(self) -> int:
        """1 or -1 for plus or minus infinity, else 0."""
        node = self.node
        if node == Const("oo"):
            return 1
        if isinstance(node, Op) and node.head == "mul" and node.args == (Num(Fraction(-1)), Const("oo")):
            return -1
        return 0


def _evaluate(
    node: Node, points: Callable[[str], Number], precision: int, *, log_base: int, real: bool
) -> Evaluated | None:
    if cost(node) > numeric.MAX_COST:
        raise TooLarge
    with CONTEXT.workprec(precision):
        evaluator = numeric.Evaluator(points, log_base=log_base, real_domain=real)
        try:
            return Evaluated(evaluator.value(node), evaluator.magnitude, evaluator.loss)
        except numeric.OutsideDomain:
            return None


def equal(left: Scalar, right: Scalar) -> bool:
    """Whether two scalars are equal as functions of their variables. Never raises."""
    try:
        return _equal(left, right)
    except NoValue:
        return False


def _equal(left: Scalar, right: Scalar) -> bool:
    if left.infinite or right.infinite:
        return left.infinite == right.infinite
    if left.node == right.node and not left.undefined:
        return True
    first, second = left.exact, right.exact
    if first is not None and second is not None:
        return first == second
    if (first is None and second is None) or left.node.free or right.node.free:
        one = left.residues
        other = right.residues if one is not None else None
        if one is not None and other is not None:
            return one == other
    return _numerically(left, right, _same)


def _same(values: list[tuple[Number, Number]], tolerance: int) -> bool:
    """Whether each pair agrees to `tolerance` bits."""
    for one, other in values:
        difference = one - other
        if not difference:
            continue
        if not one or not other:
            return False
        if CONTEXT.mag(difference) - max(CONTEXT.mag(one), CONTEXT.mag(other)) > -tolerance:
            return False
    return True


Agreement = Callable[[list[tuple[Any, Any]], int], bool]


def _numerically(left: Scalar, right: Scalar, agree: Agreement) -> bool:
    bases = (10, 0) if "log" in left.node.heads | right.node.heads else (10,)
    return any(_with_base(left, right, agree, base) for base in bases)


def _quickly(left: Scalar, right: Scalar, agree: Agreement, log_base: int) -> bool:
    """Whether two sides with an integral agree to 24 bits: most that differ need no more."""
    free = left.node.free | right.node.free
    pairs, _, _ = _pairs(left, right, 60, log_base, real=True, many=bool(free))
    with CONTEXT.workprec(60):
        return not pairs or agree(pairs, 24)


def _with_base(left: Scalar, right: Scalar, agree: Agreement, log_base: int) -> bool:
    if len(left.node.free | right.node.free) > 40:
        return False
    try:
        if "int" in left.node.heads | right.node.heads and not _quickly(left, right, agree, log_base):
            return False
        return _in_a_domain(left, right, agree, log_base)
    except NotNumeric:
        return False


def _in_a_domain(left: Scalar, right: Scalar, agree: Agreement, log_base: int) -> bool:
    """Over the reals; over the complex numbers only where neither side has a real value anywhere."""
    for real in (True, False):
        decided = _at_precision(left, right, agree, log_base, real=real)
        if decided is not None:
            return decided
        constant = not left.node.free | right.node.free
        if constant or (real and (_is_real_somewhere(left, log_base) or _is_real_somewhere(right, log_base))):
            return False
    return False


def _at_precision(left: Scalar, right: Scalar, agree: Agreement, log_base: int, *, real: bool) -> bool | None:
    """Whether the values agree at a precision that their magnitudes need; None where there is no common value."""
    precision, many = MARGIN + 40, bool(left.node.free | right.node.free)
    for _ in range(3):
        pairs, magnitude, loss = _pairs(left, right, precision, log_base, real=real, many=many)
        if not pairs or precision >= 5 * magnitude + MARGIN:
            break
        with CONTEXT.workprec(precision):
            if precision - loss > 80 and not agree(pairs, 40):
                return False
        precision = 5 * magnitude + MARGIN + 40
    if not pairs:
        return None
    # Up to 2 * magnitude bits may be lost to cancellation; what differs by less than the rest is equal.
    if precision < 5 * magnitude + MARGIN:
        return False
    with CONTEXT.workprec(precision):
        return agree(pairs, precision - 2 * magnitude - 50)


def _is_real_somewhere(scalar: Scalar, log_base: int) -> bool:
    """Whether a side has a value at some place without leaving the reals: then it is no complex function."""
    for place in places_for(scalar.node, scalar.node):
        try:
            if scalar.number(place, 200, log_base=log_base, real=True) is not None:
                return True
        except (Undefined, TooLarge):
            continue
    return False


def _pairs(
    left: Scalar, right: Scalar, precision: int, log_base: int, *, real: bool, many: bool
) -> tuple[list[tuple[Any, Any]], int, int]:
    """Values of both sides at points where both are defined; the largest magnitude and loss met."""
    pairs: list[tuple[Any, Any]] = []
    magnitude = loss = 0
    places = places_for(left.node, right.node) if many else (ANYWHERE,)
    wanted = len(places) if is_pieced(left.node) or is_pieced(right.node) else _WANTED
    for one, other in _at_places(left, right, places, precision, log_base, real=real, many=many):
        if wanted > _WANTED and max(one.magnitude, other.magnitude) > _COSTLY:
            continue
        pairs.append((one.value, other.value))
        magnitude = max(magnitude, one.magnitude, other.magnitude)
        loss = max(loss, one.loss, other.loss)
        if len(pairs) >= wanted or not many:
            break
    return (pairs, magnitude, loss) if len(pairs) > 1 or not many else ([], 0, 0)


def _at_places(
    left: Scalar, right: Scalar, places: tuple[Place, ...], precision: int, log_base: int, *, real: bool, many: bool
) -> Iterator[tuple[Evaluated, Evaluated]]:
    for place in places:
        try:
            one = left.number(place, precision, log_base=log_base, real=real)
            if one is None:
                continue
            other = right.number(place, precision, log_base=log_base, real=real)
        except (Undefined, TooLarge) as error:
            # Where a piece may begin and no value can be had, equality is not shown.
            if not many or (place.around and isinstance(error, TooLarge)):
                raise
            continue
        if other is not None:
            yield one, other


def proportional(left: Scalar, right: Scalar) -> bool:
    """Whether one is a constant multiple, not 0, of the other. Never raises."""
    try:
        return _proportional(left, right)
    except NoValue:
        return False


def _proportional(left: Scalar, right: Scalar) -> bool:
    one, other = left.residues, right.residues
    if one is not None and other is not None:
        return _cross(one, other)
    return _numerically(left, right, _same_ratio)


def _cross(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    if not any(one) or not any(other):
        return False
    return all(
        (one[i] * other[i + 1] - one[i + 1] * other[i]) % prime == 0 and bool(one[i]) == bool(other[i])
        for i, prime in zip(range(0, len(one), 2), PRIMES, strict=True)
    )


def _same_ratio(values: list[tuple[Number, Number]], tolerance: int) -> bool:
    if len(values) < 3 or any(not one or not other for one, other in values):
        return False
    first, second = values[0]
    return _same([(one * second, other * first) for one, other in values[1:]], tolerance)


def same_direction(left: Scalar, right: Scalar) -> bool:
    """Whether one is a positive constant multiple of the other. Never raises."""
    try:
        return _numerically(left, right, _same_positive_ratio)
    except NoValue:
        return False


def _same_positive_ratio(values: list[tuple[Number, Number]], tolerance: int) -> bool:
    one, other = values[0]
    real = not isinstance(one, CONTEXT.mpc) and not isinstance(other, CONTEXT.mpc)
    return real and one * other > 0 and _same_ratio(values, tolerance)
