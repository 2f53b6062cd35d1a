"""Numerical confirmation of what sympy says: its answer counts only if direct evaluation agrees.

Sums and products by their partial sums (symbolic bounds: at small ones), limits at points near the place, integrals
by quadrature, derivatives by differences. The points are secret.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.verifiers.math.equality.equations import substituted
from assay.verifiers.math.equality.exact import NoValue, TooLarge, rational
from assay.verifiers.math.equality.functions import CONTEXT, Number
from assay.verifiers.math.equality.numeric import Evaluator, NotNumeric
from assay.verifiers.math.equality.places import Place
from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op, mul

PRECISION = 300
_PLACES = tuple(Place(number, Fraction(1, 5), Fraction(3, 5)) for number in (900, 902, 904))
"""Where free symbols are evaluated: inside the unit circle, so that power series converge."""
_SMALL = (1, 2, 3, 6)


def agrees(op: Op, result: Node) -> bool:
    """Whether direct evaluation of the operation agrees with the result."""
    check = _CHECKS.get(op.head)
    if check is None:
        return False
    try:
        with CONTEXT.workprec(PRECISION):
            return all(check(op, result, place) for place in (_PLACES if op.free else _PLACES[:1]))
    except (NoValue, NotNumeric, ZeroDivisionError, ValueError, OverflowError):
        return False


def _value(node: Node, place: Place, **bound: Number) -> Number:
    evaluator = Evaluator(place.value, log_base=0, real_domain=False)
    evaluator.bound.update(bound)
    return evaluator.value(node)


def _close(one: Number, other: Number, bits: int) -> bool:
    difference = abs(one - other)
    return not difference or CONTEXT.mag(difference) <= CONTEXT.mag(1 + abs(other)) - bits


def _is_infinite(node: Node) -> bool:
    return node == Const("oo") or node == mul(Num(Fraction(-1)), Const("oo"))


def _folded(op: Op, result: Node, place: Place) -> bool:
    low, high = op.args[1:]
    if high == Const("oo"):
        start = rational(low)
        if start is None or _is_infinite(result):
            return False
        fold = CONTEXT.nsum if op.head == "sum" else CONTEXT.nprod
        with CONTEXT.workprec(60):
            total = fold(lambda index: _value(op.args[0], place, **{op.bound: index}), [int(start), CONTEXT.inf])
            return _close(total, _value(result, place), 25)
    return all(_at_bound(op, result, high, place, size) for size in _SMALL)


def _at_bound(op: Op, result: Node, high: Node, place: Place, size: int) -> bool:
    """A sum up to `n` beside its closed form at a small `n`."""
    names = high.free - op.args[0].free
    if len(names) != 1:
        return False
    name, number = next(iter(names)), Num(Fraction(size + 2))
    direct = Op(op.head, tuple(substituted(arg, name, number) for arg in op.args), op.bound)
    return _close(_value(direct, place), _value(substituted(result, name, number), place), 200)


def _limit(op: Op, result: Node, place: Place) -> bool:
    target = op.args[1]
    if _is_infinite(result):
        return False
    expected = _value(result, place)
    sides = {"above": (1,), "below": (-1,)}.get(getattr(target, "head", ""), (1, -1))
    values = []
    if _is_infinite(target):
        sign = 1 if target == Const("oo") else -1
        values = [_near(op, place, [CONTEXT.mpf(sign * 2**bits) for bits in (60, 40, 16, 9)])]
    else:
        centre = _value(target.args[0] if isinstance(target, Op) and len(sides) == 1 else target, place)
        values = [_near(op, place, [centre + side * CONTEXT.mpf(2) ** -bits for bits in (60, 30)]) for side in sides]
    return all(value is not None and _close(value, expected, 6) for value in values)


def _near(op: Op, place: Place, points: list[Number]) -> Number | None:
    """The value at the first point, nearest first, that can be evaluated."""
    for point in points:
        try:
            return _value(op.args[0], place, **{op.bound: point})
        except NoValue:
            continue
    return None


def _integral(op: Op, result: Node, place: Place) -> bool:
    ends = [_end(arg, place) for arg in op.args[1:]]
    if _is_infinite(result):
        return False

    def integrand(point: Number) -> Number:
        try:
            return _value(op.args[0], place, **{op.bound: point})
        except TooLarge:  # quadrature over an infinite range looks at points where the integrand has vanished
            return CONTEXT.mpf(0)

    with CONTEXT.workprec(80):
        total, error = CONTEXT.quad(integrand, ends, error=True, maxdegree=8)
        return bool(error < 1e-6) and _close(total, _value(result, place), 20)


def _end(node: Node, place: Place) -> Number:
    if _is_infinite(node):
        return CONTEXT.inf if node == Const("oo") else -CONTEXT.inf
    return _value(node, place)


def _derivative(op: Op, result: Node, place: Place) -> bool:
    name = op.args[1].name if hasattr(op.args[1], "name") else ""
    at, step = place.value(name), CONTEXT.mpf(2) ** -60
    above, below = (_value(op.args[0], place, **{name: at + side * step}) for side in (1, -1))
    return _close((above - below) / (2 * step), _value(result, place), 50)


_CHECKS: dict[str, Callable[[Op, Node, Place], bool]] = {
    "sum": _folded,
    "prod": _folded,
    "lim": _limit,
    "int": _integral,
    "diff": _derivative,
}
