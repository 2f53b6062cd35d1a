"""Between this package's trees and sympy's. Only trees are translated: sympy never sees text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy

from assay.verifiers.math.equality.exact import NoValue, rational
from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op, Sym, Unparsed, add, div, mul, power

MAX_SIZE = 150
"""Larger trees are not given to sympy."""
MAX_BITS = 1_000


class Undecided(Unparsed):
    """The operation has no closed form here, or the trees are beyond the limits."""


def to_sympy(node: Node, bound: dict[str, Any]) -> Any:
    """The sympy expression of a scalar tree; `bound` maps names to symbols. Raises `Undecided`."""
    if isinstance(node, Num):
        return _rational(node.value)
    if isinstance(node, Sym):
        return bound.setdefault(node.name, sympy.Symbol(node.name, real=True))
    if isinstance(node, Const) and node.name in _CONSTANTS:
        return _CONSTANTS[node.name]
    if not isinstance(node, Op) or node.bound or node.head not in _FUNCTIONS:
        raise Undecided("not translated")
    if not node.free and (value := _exact(node)) is not None:
        return _rational(value)
    return _FUNCTIONS[node.head](*(to_sympy(arg, bound) for arg in node.args))


def _exact(node: Node) -> Fraction | None:
    """A constant's exact value: what is too large to evaluate must not reach sympy, which would try."""
    try:
        return rational(node)
    except NoValue as error:
        raise Undecided("too large, or undefined") from error


def _rational(value: Fraction) -> Any:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Undecided("too large")
    return sympy.Rational(value.numerator, value.denominator)


_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "oo": sympy.oo}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda *args: sympy.Add(*args),
    "mul": lambda *args: sympy.Mul(*args),
    "div": lambda top, bottom: top / bottom,
    "pow": lambda base, exponent: base**exponent,
    "sqrt": sympy.sqrt,
    "root": lambda value, index: value ** (1 / index),
    "cbrt": lambda value: value ** sympy.Rational(1, 3),
    "exp": sympy.exp,
    "ln": sympy.log,
    "abs": sympy.Abs,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "fact": sympy.factorial,
    "gamma": sympy.gamma,
    "zeta": sympy.zeta,
    "binom": sympy.binomial,
    "erf": sympy.erf,
    **{name: getattr(sympy, name) for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")},
    **{name: getattr(sympy, name) for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
}
_HEADS: dict[Any, str] = {
    sympy.exp: "exp",
    sympy.log: "ln",
    sympy.Abs: "abs",
    sympy.factorial: "fact",
    sympy.gamma: "gamma",
    sympy.zeta: "zeta",
    sympy.binomial: "binom",
    sympy.erf: "erf",
    **{getattr(sympy, name): name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh")},
    **{getattr(sympy, name): name for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
}


def from_sympy(expression: Any, names: dict[Any, str]) -> Node:
    """The tree of a sympy expression; `names` maps symbols back. Raises `Undecided` for what has no tree here."""
    if expression.is_Rational:
        return Num(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Symbol:
        if expression not in names:
            raise Undecided("a symbol of sympy's own")
        return Sym(names[expression])
    if expression == -sympy.oo:
        return mul(Num(Fraction(-1)), Const("oo"))
    constant = next((name for name, value in _CONSTANTS.items() if expression == value), "")
    return Const(constant) if constant else _operation(expression, names)


def _operation(expression: Any, names: dict[Any, str]) -> Node:
    args = [from_sympy(arg, names) for arg in expression.args]
    if expression.is_Add:
        return reduce(add, args)
    if expression.is_Mul:
        return reduce(mul, args)
    if expression.is_Pow:
        return div(Num(Fraction(1)), args[0]) if args[1] == Num(Fraction(-1)) else power(args[0], args[1])
    head = _HEADS.get(expression.func)
    if head is None or not args:
        raise Undecided("no closed form")
    return Op(head, tuple(args[:1] if head == "zeta" else args))
