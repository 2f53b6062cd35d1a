"""Real constants that are near enough: a row's tolerance, and decimals that round to a value (lenient)."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.equality.scalar import Scalar
from assay.verifiers.math.rules import Rules
from assay.verifiers.math.syntax.nodes import Num
from assay.verifiers.math.values import reals


def near(gold: Scalar, answer: Scalar, rules: Rules) -> bool:
    """Whether two real constants are within the row's tolerance of each other."""
    try:
        one, other = (reals.End(scalar).fraction for scalar in (gold, answer))
    except ValueError:
        return False
    distance = abs(one - other)
    if distance <= max(rules.tolerance_abs, rules.tolerance_rel * abs(one)):
        return True
    return rules.gold_digits and _rounds_to(gold, answer, distance)


def _rounds_to(gold: Scalar, answer: Scalar, distance: Fraction) -> bool:
    """Lenient: one side is a decimal with two places and more, and the other rounds to it."""
    for scalar in (gold, answer):
        if isinstance(scalar.node, Num):
            places = _places(scalar.node.value)
            if places and distance <= Fraction(1, 2 * 10**places):
                return True
    return False


def _places(value: Fraction) -> int:
    """Decimals of a terminating decimal with two places and more; 0 for anything else."""
    for places in range(2, 16):
        if (value * 10**places).denominator == 1 and (value * 10 ** (places - 1)).denominator != 1:
            return places
    return 0
