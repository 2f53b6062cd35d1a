"""Relations and sets as sets of real numbers.

`3 < x`, `x in (3, oo)`, `{x | x > 3}`, `(3, oo)` are one set. A relation in one variable is solved if it
is linear, quadratic, or an absolute value of something linear against a number; any other inequality
stays a `Relation` and equals its own rearrangements.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from assay.verifiers.math.equality.exact import NoValue, rational
from assay.verifiers.math.equality.scalar import Scalar, equal
from assay.verifiers.math.syntax.nodes import (
    MINUS_ONE,
    ONE,
    Chain,
    Const,
    Node,
    Num,
    Op,
    Quantity,
    Sym,
    Unparsed,
    add,
    div,
    mul,
)
from assay.verifiers.math.values import reals
from assay.verifiers.math.values.kinds import (
    Members,
    One,
    Ordered,
    Ranges,
    Reals,
    Relation,
    Value,
)
from assay.verifiers.math.values.signs import signed

_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


def relation(node: Chain) -> Value:
    """A chain of order signs: a set of reals where it has one variable, else a `Relation`."""
    sides = tuple(side.value if isinstance(side, Quantity) else side for side in node.sides)
    excluded_set = _not_in(node.signs, sides)
    if excluded_set is not None:
        return excluded_set
    if any(side.has_shape for side in sides):
        raise Unparsed("relation between things that are no scalars")
    free = frozenset().union(*(side.free for side in sides))
    if len(free) == 1:
        solved = _solved(node.signs, sides, next(iter(free)))
        if solved is not None:
            return solved
    ranged = _ranged(node.signs, sides)
    if ranged is not None:
        return ranged
    pairs = [_difference(sign, *pair) for sign, pair in zip(node.signs, itertools.pairwise(sides), strict=True)]
    return pairs[0] if len(pairs) == 1 else Members(tuple(pairs))


def _not_in(signs: tuple[str, ...], sides: tuple[Node, ...]) -> Value | None:
    """`x != {1, 2}` is not read; `x != 3` is everything but 3."""
    if signs == ("!=",) and isinstance(sides[0], Sym) and not sides[1].has_shape and not sides[1].free:
        return Reals(reals.complement(reals.point(reals.End(Scalar(sides[1])))), sides[0].name)
    return None


def without_values(node: Chain) -> Value:
    """`x != \\pm 5`."""
    if node.signs != ("!=",) or not isinstance(node.sides[0], Sym):
        raise Unparsed("sign out of place")
    points = [reals.point(reals.End(Scalar(each))) for each in signed(node.sides[1])]
    return Reals(reals.complement(reals.union(points)), node.sides[0].name)


def excluded(items: tuple[Node, ...]) -> Value | None:
    """`x != -1, 4` and `x != 1, x != 2`: everything but these."""
    first = items[0]
    if not isinstance(first, Chain) or first.signs != ("!=",) or not isinstance(first.sides[0], Sym):
        return None
    name, nodes = first.sides[0], [first.sides[1]]
    for item in items[1:]:
        if isinstance(item, Chain):
            if item.signs != ("!=",) or item.sides[0] != name:
                return None
            nodes.append(item.sides[1])
        else:
            nodes.append(item)
    if any(node.has_shape or node.free for node in nodes):
        return None
    points = reals.union(reals.point(reals.End(Scalar(node))) for node in nodes)
    return Reals(reals.complement(points), name.name if isinstance(name, Sym) else "")


def _difference(sign: str, left: Node, right: Node) -> Value:
    if sign in (">", ">="):
        left, right, sign = right, left, _FLIP[sign]
    return Relation(sign, left, right)


# --- one variable ---------------------------------------------------------------------------------------
def _solved(signs: tuple[str, ...], sides: tuple[Node, ...], variable: str) -> Value | None:
    lines = []
    for sign, left, right in zip(signs, sides, sides[1:], strict=False):
        line = _solve(sign, left, right, variable)
        if line is None:
            return None
        lines.append(line)
    return Reals(reals.intersection(lines), variable)


def _solve(sign: str, left: Node, right: Node, variable: str) -> reals.Line | None:
    if left == Sym(variable) and not right.free:
        return _half(sign, right)
    if right == Sym(variable) and not left.free:
        return _half(_FLIP[sign], left)
    if not left.free and not right.free:
        return None
    absolute = _absolute(sign, left, right, variable)
    if absolute is not None:
        return absolute
    return _polynomial(sign, add(left, mul(MINUS_ONE, right)), variable)


def _half(sign: str, node: Node) -> reals.Line:
    """`x sign node`."""
    infinite = Scalar(node).infinite
    if infinite:
        holds = sign in (("<", "<=", "!=") if infinite > 0 else (">", ">=", "!="))
        return reals.EVERYTHING if holds else reals.NOTHING
    end = reals.End(Scalar(node))
    if sign == "=":
        return reals.point(end)
    if sign == "!=":
        return reals.complement(reals.point(end))
    closed = sign.endswith("=")
    return reals.interval(None, False, end, closed) if sign[0] == "<" else reals.interval(end, closed, None, False)


def _absolute(sign: str, left: Node, right: Node, variable: str) -> reals.Line | None:
    """`|x - 2| < 3`."""
    if isinstance(right, Op) and right.head == "abs" and not left.free:
        left, right, sign = right, left, _FLIP[sign]
    if not (isinstance(left, Op) and left.head == "abs") or right.free or sign not in ("<", "<=", ">", ">="):
        return None
    inner, opposite = left.args[0], mul(MINUS_ONE, right)
    above = _polynomial(sign, add(inner, opposite), variable)
    below = _polynomial(_FLIP[sign], add(inner, right), variable)
    if above is None or below is None:
        return None
    return reals.intersection((above, below)) if sign[0] == "<" else reals.union((above, below))


def _polynomial(sign: str, node: Node, variable: str) -> reals.Line | None:
    """`a x^2 + b x + c sign 0` with exact coefficients."""
    coefficients = quadratic(node, variable)
    if coefficients is None:
        return None
    a, b, c = coefficients
    if not a:
        if not b:
            return None
        return _half(sign if b > 0 else _FLIP[sign], Num(-c / b))
    return _between(sign if a > 0 else _FLIP[sign], a, b, c)


def _between(sign: str, a: Fraction, b: Fraction, c: Fraction) -> reals.Line | None:
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        if sign == "=":
            return reals.NOTHING
        return reals.EVERYTHING if sign in (">", ">=", "!=") else reals.NOTHING
    root = Op("sqrt", (Num(discriminant),))
    middle, half = Num(-b / (2 * a)), div(root, Num(abs(2 * a)))
    low, high = (reals.End(Scalar(add(middle, mul(s, half)))) for s in (MINUS_ONE, ONE))
    if sign in ("=", "!="):
        points = reals.union((reals.point(low), reals.point(high)))
        return points if sign == "=" else reals.complement(points)
    if sign in ("<", "<="):
        return reals.interval(low, sign == "<=", high, sign == "<=")
    return reals.complement(reals.interval(low, sign == ">", high, sign == ">"))


def quadratic(node: Node, variable: str) -> tuple[Fraction, Fraction, Fraction] | None:
    """Coefficients of a polynomial of degree at most 2, found from three values and checked."""
    if not node.heads <= {"add", "mul", "div", "pow", "sqrt"} or node.size > 200:
        return None
    try:
        values = [rational(node, {variable: Fraction(x)}) for x in (0, 1, 2)]
    except NoValue:
        return None
    if any(value is None for value in values):
        return None
    zero, one, two = (value for value in values if value is not None)
    a = (two - 2 * one + zero) / 2
    b, c = one - zero - a, zero
    x = Sym(variable)
    form = add(mul(Num(a), x, x), mul(Num(b), x), Num(c))
    return (a, b, c) if equal(Scalar(form), Scalar(node)) else None


# --- ends with symbols -----------------------------------------------------------------------------------
def _ranged(signs: tuple[str, ...], sides: tuple[Node, ...]) -> Value | None:
    """`a < x < a + 1`: an interval whose ends hold symbols."""
    if len(sides) == 3 and isinstance(sides[1], Sym) and sides[1].name not in sides[0].free | sides[2].free:
        if signs[0] in ("<", "<=") and signs[1] in ("<", "<="):
            low, high = (One(Scalar(sides[0])), signs[0]), (One(Scalar(sides[2])), signs[1])
        elif signs[0] in (">", ">=") and signs[1] in (">", ">="):
            low, high = (One(Scalar(sides[2])), signs[1]), (One(Scalar(sides[0])), signs[0])
        else:
            return None
        form = ("[" if low[1] == "<=" else "(") + ("]" if high[1] == "<=" else ")")
        return Ranges(((form, low[0], high[0]),), sides[1].name)
    return None


def as_reals(value: Value) -> reals.Line | None:
    """A value as a set of reals with constant ends, where it can be one."""
    if isinstance(value, Reals):
        return value.line
    if isinstance(value, Members):
        return _points(value)
    if isinstance(value, Ordered) and len(value.items) == 2 and value.form in ("()", "[]", "[)", "(]"):
        low, high = value.items
        if isinstance(low, One) and isinstance(high, One):
            return _interval(value.form, low.scalar, high.scalar)
    return None


def _interval(form: str, low: Scalar, high: Scalar) -> reals.Line | None:
    if low.node.free or high.node.free or low.infinite > 0 or high.infinite < 0:
        return None
    try:
        bottom = None if low.infinite else reals.End(low)
        top = None if high.infinite else reals.End(high)
    except Unparsed:
        return None
    if bottom is not None and top is not None and not bottom.below(top):
        return reals.point(bottom) if form == "[]" and bottom.same(top) else None
    return reals.interval(bottom, form[0] == "[", top, form[1] == "]")


def _points(value: Members) -> reals.Line | None:
    points = []
    for item in value.items:
        if not isinstance(item, One) or item.scalar.node.free or item.scalar.infinite:
            return None
        try:
            points.append(reals.point(reals.End(item.scalar)))
        except Unparsed:
            return None
    return reals.union(points) if value.braced else None


def ranges_of(relation: Relation) -> list[Ranges]:
    """`x >= a` as an interval of x (and, where both sides are names, of the other one)."""
    found = []
    for name, end, below in ((relation.left, relation.right, True), (relation.right, relation.left, False)):
        if isinstance(name, Sym) and name.name not in end.free and relation.sign in ("<", "<="):
            closed, infinity = relation.sign == "<=", One(Scalar(Const("oo")))
            if below:
                piece: tuple[str, Value, Value] = ("(" + ("]" if closed else ")"), _minus(infinity), One(Scalar(end)))
            else:
                piece = (("[" if closed else "(") + ")", One(Scalar(end)), infinity)
            found.append(Ranges((piece,), name.name))
    return found


def _minus(infinity: One) -> One:
    return One(Scalar(mul(MINUS_ONE, infinity.scalar.node)))


def as_ranges(value: Value) -> Ranges | None:
    """A value as intervals with symbols in their ends, where it can be one."""
    if isinstance(value, Ranges):
        return value
    if isinstance(value, Ordered) and len(value.items) == 2 and value.form in ("()", "[]", "[)", "(]"):
        return Ranges(((value.form, value.items[0], value.items[1]),))
    return None
