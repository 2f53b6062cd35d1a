"""Exact evaluation: a constant expression as one rational number, or not.

`rational` returns the exact value, or None where the value is not shown rational this way. It raises
`Undefined` for 0/0 and kin, and `TooLarge` before any number with more than `MAX_BITS` bits is made:
every guard looks at sizes first, so no input costs more than a few milliseconds.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction

from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op

MAX_BITS = 1 << 15
"""Largest numerator or denominator, in bits."""
MAX_TERMS = 2_000
"""Longest sum or product that is added up term by term."""
MAX_COST = 200_000
"""Most node visits that the sums and products of one expression may take."""


class NoValue(ArithmeticError):
    """The expression could not be given a value; the subclasses say why."""


class Undefined(NoValue):
    """The expression has no value: 0/0, log 0, tan 90 degrees."""


class TooLarge(NoValue):
    """Evaluating would take numbers beyond the guards: such a value is equal only as text."""


Environment = dict[str, Fraction]


def cost(node: Node) -> int:
    """Node visits that evaluating takes, at most: a sum's body counts once per term."""
    if "sum" not in node.heads and "prod" not in node.heads:
        return node.size
    total = 1 + sum(cost(child) for child in node.children())
    if isinstance(node, Op) and node.head in ("sum", "prod"):
        return total + _terms(node) * cost(node.args[0])
    return total


def _terms(node: Op) -> int:
    bounds = [rational(arg) if not arg.free else None for arg in node.args[1:]]
    if bounds[0] is None or bounds[1] is None:
        return 2 if not node.args[2].free else MAX_TERMS
    return max(0, math.ceil(min(bounds[1] - bounds[0] + 1, Fraction(10 * MAX_TERMS))))


def rational(node: Node, environment: Environment | None = None) -> Fraction | None:
    """The exact value of `node`, or None."""
    if isinstance(node, Num):
        return node.value
    if not isinstance(node, Op):
        name = getattr(node, "name", "")
        return environment.get(name) if environment and not isinstance(node, Const) else None
    if node.bound:
        return _folded(node, environment or {})
    if node.head == "pow" and rational(node.args[0], environment) == 1 and not node.args[1].free:
        return _power_of_one(node.args[1])
    values: list[Fraction] = []
    for arg in node.args:
        value = rational(arg, environment)
        if value is None:
            return _inverse_pair(node, environment)
        values.append(value)
    rule = _RULES.get(node.head)
    return rule(*values) if rule and (node.head in _ANY_NUMBER or _ARITY.get(node.head, 1) == len(values)) else None


def _power_of_one(exponent: Node) -> Fraction:
    """1 to any power is 1, however large; raises `Undefined` where the exponent has no value."""
    with contextlib.suppress(TooLarge):
        rational(exponent)
    return Fraction(1)


def _inverse_pair(node: Op, environment: Environment | None) -> Fraction | None:
    """`e^{ln x}`; other constants are left to the numeric path."""
    if node.head == "pow" and node.args[0] == Const("e"):
        inner = node.args[1]
        if isinstance(inner, Op) and inner.head == "ln" and len(inner.args) == 1:
            value = rational(inner.args[0], environment)
            return value if value is not None and value > 0 else None
    return None


def _fits(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise TooLarge
    return value


def _add(*values: Fraction) -> Fraction:
    return _fits(sum(values, Fraction(0)))


def _mul(*values: Fraction) -> Fraction:
    product = Fraction(1)
    for value in values:
        product = _fits(product * value)
    return product


def _div(top: Fraction, bottom: Fraction) -> Fraction:
    if not bottom:
        raise Undefined
    return _fits(top / bottom)


def _pow(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator != 1:
        return _rational_power(base, exponent)
    if not base:
        if exponent <= 0:
            raise Undefined
        return Fraction(0)
    if base in (1, -1):
        return base if exponent.numerator % 2 else Fraction(1)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) * max(bits - 1, 1) > MAX_BITS:
        raise TooLarge
    return _fits(base**exponent.numerator)


def _rational_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """`8^{2/3}`: only perfect powers, and odd roots of negatives are real."""
    degree = exponent.denominator
    if degree > 1_000:
        return None
    root = _root_of(base, degree)
    return None if root is None else _pow(root, Fraction(exponent.numerator))


def _root_of(value: Fraction, degree: int) -> Fraction | None:
    if value < 0:
        if degree % 2 == 0:
            return None
        root = _root_of(-value, degree)
        return None if root is None else -root
    top, bottom = _integer_root(value.numerator, degree), _integer_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _integer_root(value: int, degree: int) -> int | None:
    """The exact root of a natural number, or None."""
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    if value < 2:
        return value
    bits = value.bit_length()
    if bits <= degree:
        return None
    guess = 1 << -(-bits // degree)
    while True:
        following = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if following >= guess:
            return guess if guess**degree == value else None
        guess = following


def _root(value: Fraction, index: Fraction) -> Fraction | None:
    if not index:
        raise Undefined
    return _pow(value, 1 / index)


def _sqrt(value: Fraction) -> Fraction | None:
    return _root_of(value, 2)


def _natural(value: Fraction, limit: int) -> int:
    if value.denominator != 1:
        raise _NotWhole
    if value < 0:
        raise Undefined
    if value > limit:
        raise TooLarge
    return value.numerator


class _NotWhole(NoValue):
    pass


def _factorial(value: Fraction) -> Fraction | None:
    try:
        return _fits(Fraction(math.factorial(_natural(value, 6_000))))
    except _NotWhole:
        return None


def _double_factorial(value: Fraction) -> Fraction | None:
    try:
        return _fits(Fraction(math.prod(range(_natural(value, 6_000), 0, -2))))
    except _NotWhole:
        return None


def _binomial(top: Fraction, bottom: Fraction) -> Fraction | None:
    if bottom.denominator != 1 or top.denominator != 1 or top < 0:
        return None
    if bottom < 0 or bottom > top:
        return Fraction(0)
    small = min(bottom.numerator, top.numerator - bottom.numerator)
    if small * max(top.numerator.bit_length(), 1) > MAX_BITS:
        raise TooLarge
    return _fits(Fraction(math.comb(top.numerator, bottom.numerator)))


def _log(value: Fraction, base: Fraction) -> Fraction | None:
    """`log_8 4` is 2/3: both are powers of one number."""
    if value <= 0 or base <= 0 or base == 1:
        if not value or base in (0, 1):
            raise Undefined
        return None
    if value == 1:
        return Fraction(0)
    estimate = (math.log2(value.numerator) - math.log2(value.denominator)) / (
        math.log2(base.numerator) - math.log2(base.denominator)
    )
    guess = Fraction(estimate).limit_denominator(64)
    if abs(guess) > 5_000 or abs(float(guess) - estimate) > 1e-9 * max(1.0, abs(estimate)):
        return None
    return guess if _pow(base, Fraction(guess.numerator)) == _pow(value, Fraction(guess.denominator)) else None


def _ln(value: Fraction) -> Fraction | None:
    if not value:
        raise Undefined
    return Fraction(0) if value == 1 else None


def _mod(value: Fraction, base: Fraction) -> Fraction:
    if not base:
        raise Undefined
    return value % base


def _whole(function: Callable[..., int]) -> Callable[..., Fraction | None]:
    def apply(*values: Fraction) -> Fraction | None:
        if not values or any(value.denominator != 1 for value in values):
            return None
        return Fraction(function(*(value.numerator for value in values)))

    return apply


def _folded(node: Op, environment: Environment) -> Fraction | None:
    """A finite sum or product, term by term."""
    if node.head not in ("sum", "prod"):
        return None
    low, high = (rational(arg, environment) for arg in node.args[1:])
    if low is None or high is None or low.denominator != 1 or high.denominator != 1:
        return None
    if high - low >= MAX_TERMS:
        raise TooLarge
    total = Fraction(0 if node.head == "sum" else 1)
    inner = dict(environment)
    for index in range(low.numerator, high.numerator + 1):
        inner[node.bound] = Fraction(index)
        term = rational(node.args[0], inner)
        if term is None:
            return None
        total = _fits(total + term if node.head == "sum" else total * term)
    return total


def determinant(entries: list[Fraction]) -> Fraction:
    """Of a square matrix given row by row, by elimination."""
    size = math.isqrt(len(entries))
    rows = [entries[i * size : (i + 1) * size] for i in range(size)]
    result = Fraction(1)
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            result = -result
        head = rows[column][column]
        result = _fits(result * head)
        for i in range(column + 1, size):
            if rows[i][column]:
                factor = _fits(rows[i][column] / head)
                rows[i] = [_fits(a - factor * b) for a, b in zip(rows[i], rows[column], strict=True)]
    return result


_RULES: dict[str, Callable[..., Fraction | None]] = {
    "add": _add,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "root": _root,
    "sqrt": _sqrt,
    "cbrt": lambda value: _root_of(value, 3),
    "fact": _factorial,
    "gamma": lambda value: _factorial(value - 1),
    "fact2": _double_factorial,
    "binom": _binomial,
    "abs": abs,
    "norm": abs,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "sign": lambda value: Fraction((value > 0) - (value < 0)),
    "pct": lambda value: value / 100,
    "gcd": _whole(math.gcd),
    "lcm": _whole(math.lcm),
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "mod": _mod,
    "ln": _ln,
    "det": lambda *entries: determinant(list(entries)),
    "exp": lambda value: None if value else Fraction(1),
}
_ANY_NUMBER = frozenset(("add", "mul", "gcd", "lcm", "max", "min", "det"))
_ARITY = {"div": 2, "mod": 2, "pow": 2, "root": 2, "binom": 2, "log": 2}
_RULES |= {
    "log": _log,
    "lg": lambda value: _log(value, Fraction(10)),
    "lb": lambda value: _log(value, Fraction(2)),
}
