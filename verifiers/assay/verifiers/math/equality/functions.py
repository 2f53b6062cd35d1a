"""Functions on numbers of any precision, and the one mpmath context that this package uses.

Results that are rounding noise are 0, poles are `Undefined`, arguments beyond the guards are `TooLarge`.
mpmath runs on Python integers: a GMP call could not be interrupted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

os.environ["MPMATH_NOGMPY"] = "1"
os.environ.setdefault("SYMPY_GROUND_TYPES", "python")

import mpmath

from assay.verifiers.math.equality.exact import TooLarge, Undefined

CONTEXT = mpmath.mp.clone()
SLACK = 40
"""Bits of a result that may be rounding noise."""
Number = Any
"""An `mpf` or `mpc` of `CONTEXT`."""


def _snapped(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """A bounded function, 0 where it is only rounding noise."""

    def apply(value: Number) -> Number:
        result = function(value)
        if result and CONTEXT.mag(result) < max(CONTEXT.mag(value) if value else 0, 0) - CONTEXT.prec + SLACK:
            return CONTEXT.mpf(0)
        return result

    return apply


def _over(top: Callable[[Number], Number], bottom: Callable[[Number], Number]) -> Callable[[Number], Number]:
    return lambda value: _quotient(top(value), bottom(value))


def _quotient(top: Number, bottom: Number) -> Number:
    if not bottom:
        raise Undefined
    return top / bottom


def _inverse(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    return lambda value: function(_quotient(CONTEXT.mpf(1), value))


def _bounded(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """`exp` and kin: the exponent is bounded first."""

    def apply(value: Number) -> Number:
        if value and CONTEXT.mag(value) > 13:
            raise TooLarge
        return function(value)

    return apply


def _factorial(value: Number) -> Number:
    if value and CONTEXT.mag(value) > 10:
        raise TooLarge
    if CONTEXT.isint(value) and value < 0:
        raise Undefined
    return CONTEXT.gamma(value + 1)


def _zeta(value: Number) -> Number:
    if isinstance(value, CONTEXT.mpc) or not 1 < value < 500:
        raise TooLarge
    return CONTEXT.zeta(value)


def _binomial(top: Number, bottom: Number) -> Number:
    return _quotient(_factorial(top), _factorial(bottom) * _factorial(top - bottom))


def _rounded(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """`floor` and `ceil`, of a value that may be whole but for rounding noise."""

    def apply(value: Number) -> Number:
        if isinstance(value, CONTEXT.mpc):
            raise Undefined
        near = CONTEXT.nint(value)
        distance = abs(value - near)
        return near if not distance or CONTEXT.mag(distance) < -CONTEXT.prec // 2 else function(value)

    return apply


def _real(function: Callable[..., Number]) -> Callable[..., Number]:
    def apply(*values: Number) -> Number:
        if any(isinstance(value, CONTEXT.mpc) for value in values):
            raise Undefined
        return function(*values)

    return apply


def _determinant(*entries: Number) -> Number:
    size = math.isqrt(len(entries))
    if size > 12:
        raise TooLarge
    return CONTEXT.det(CONTEXT.matrix([list(entries[i * size : (i + 1) * size]) for i in range(size)]))


_sin, _cos = _snapped(CONTEXT.sin), _snapped(CONTEXT.cos)
_one = lambda value: CONTEXT.mpf(1)  # noqa: E731
_sinh, _cosh = _bounded(CONTEXT.sinh), _bounded(CONTEXT.cosh)
HIDDEN_EXPONENTIALS = frozenset(("tanh", "coth", "sech", "csch", "erf"))
ANGLES = frozenset(("sin", "cos", "tan", "cot", "sec", "csc", "deg"))
RULES: dict[str, Callable[..., Number]] = {
    "div": _quotient,
    "pct": lambda value: value / 100,
    "deg": lambda value: value * CONTEXT.pi / 180,
    "sin": _sin,
    "cos": _cos,
    "tan": _over(_sin, _cos),
    "cot": _over(_cos, _sin),
    "sec": _over(_one, _cos),
    "csc": _over(_one, _sin),
    "asin": CONTEXT.asin,
    "acos": CONTEXT.acos,
    "atan": CONTEXT.atan,
    "acot": lambda value: CONTEXT.pi / 2 - CONTEXT.atan(value),
    "asec": _inverse(CONTEXT.acos),
    "acsc": _inverse(CONTEXT.asin),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _over(_sinh, _cosh),
    "coth": _over(_cosh, _sinh),
    "sech": _over(_one, _cosh),
    "csch": _over(_one, _sinh),
    "asinh": CONTEXT.asinh,
    "acosh": CONTEXT.acosh,
    "atanh": CONTEXT.atanh,
    "exp": _bounded(CONTEXT.exp),
    "erf": CONTEXT.erf,
    "abs": abs,
    "norm": abs,
    "sign": CONTEXT.sign,
    "re": CONTEXT.re,
    "im": CONTEXT.im,
    "floor": _rounded(CONTEXT.floor),
    "ceil": _rounded(CONTEXT.ceil),
    "fact": _factorial,
    "gamma": lambda value: _factorial(value - 1),
    "zeta": _zeta,
    "binom": _binomial,
    "max": _real(lambda *values: max(values)),
    "min": _real(lambda *values: min(values)),
    "det": _determinant,
}
