"""Rational functions by evaluation modulo two secret primes: exact "unequal", near-certain "equal".

Primes of 127 bits and points are drawn per process and leave it nowhere, so nobody can aim a forgery at them.
Two functions that differ have a difference whose numerator is a polynomial with integer coefficients, of degree
at most `MAX_DEGREE` = 2^20 and with at most `MAX_HEIGHT` = 2^24 bits (trees beyond that are `TooLarge`). It vanishes at
a random point modulo a random prime with a chance below

    2^20 / 2^126  (Schwartz-Zippel)  +  (2^24 / 126) / 2^119  (primes that divide all coefficients)  <  2^-100

and two such pairs are drawn independently. Known residues would only refute: `x + P x` equals `x` modulo every
divisor of P. Verdicts of different processes therefore agree but with that chance. Exponents are bounded, or
Fermat's little theorem would make x^(p-1) equal 1. Anything that is no rational function gives None.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from assay.verifiers.math.equality import secrets
from assay.verifiers.math.equality.exact import TooLarge, Undefined, rational
from assay.verifiers.math.syntax.nodes import Node, Num, Op, Sym

PRIMES = (secrets.drawn_prime(), secrets.drawn_prime())
MAX_EXPONENT = 1_000_000
MAX_DEGREE = 1 << 20
MAX_HEIGHT = 1 << 24
_HEADS = frozenset(("add", "mul", "div", "pow", "det", "pct"))

Residue = int


class NotRational(ValueError):
    """Not a rational function of its symbols."""


def residues(node: Node) -> tuple[Residue, ...] | None:
    """Values at two points for each prime in turn; None if `node` is no rational function.

    Raises `Undefined` if it is defined nowhere, `TooLarge` for exponents beyond the guard.
    """
    if not node.heads <= _HEADS:
        constant = {head for head in node.heads if head not in _HEADS}
        if constant and not _only_constant(node):
            return None
    _check_size(node)
    try:
        return tuple(_at(node, str(point), prime) for prime in PRIMES for point in (1, 2))
    except NotRational:
        return None


def _check_size(node: Node) -> None:
    """Raise `TooLarge` where the bound of the error would not hold."""
    degree, height = _size(node)
    if degree > MAX_DEGREE or height > MAX_HEIGHT:
        raise TooLarge


def _size(node: Node) -> tuple[int, int]:
    """Bounds of the degree, and of the coefficients' bits, of a quotient of polynomials that the tree is worth."""
    if isinstance(node, Num):
        return 0, max(node.value.numerator.bit_length(), node.value.denominator.bit_length())
    if not isinstance(node, Op):
        return 1, 1
    parts = [_size(arg) for arg in node.args]
    if node.head == "pow":
        times = _exponent_size(node.args[1])
        return parts[0][0] * times, (parts[0][1] + 8 + parts[0][0].bit_length()) * times
    degree = sum(part[0] for part in parts)
    # A product of polynomials of degree d has at most d + 1 equal powers to add up: log2 of it is counted each time.
    height = sum(part[1] for part in parts) + len(parts) * (2 + degree.bit_length())
    return (degree, height) if node.head != "det" else (degree, height + math.isqrt(len(parts)) * 8)


def _exponent_size(node: Node) -> int:
    try:
        value = rational(node) if not node.free else None
    except Undefined:
        return 1
    if value is None or value.denominator != 1:
        return 1
    if abs(value) > MAX_EXPONENT:
        raise TooLarge
    return max(1, abs(value.numerator))


def _only_constant(node: Node) -> bool:
    """Whether other functions stand only on constants: `5! x` is a polynomial."""
    if not isinstance(node, Op):
        return True
    if node.head not in _HEADS:
        return not node.free
    return all(_only_constant(arg) for arg in node.args)


def _at(node: Node, seed: str, prime: int) -> int:
    for attempt in range(3):
        cache: dict[str, int] = {}
        try:
            return _value(node, cache, f"{seed}\x00{attempt}", prime)
        except ZeroDivisionError:
            continue
    raise Undefined


def _point(name: str, seed: str, prime: int) -> int:
    return secrets.drawn(f"{name}\x00{seed}\x00{prime}", 32) % prime


def _value(node: Node, cache: dict[str, int], seed: str, prime: int) -> int:
    if isinstance(node, Sym):
        if node.name not in cache:
            cache[node.name] = _point(node.name, seed, prime)
        return cache[node.name]
    if isinstance(node, Num):
        return _residue(node.value.numerator, node.value.denominator, prime)
    if isinstance(node, Op) and node.head in _RULES and not node.bound:
        if node.head == "pow":
            return _power(node, cache, seed, prime)
        return _RULES[node.head]([_value(arg, cache, seed, prime) for arg in node.args], prime)
    if not node.free and isinstance(node, Op):
        value = rational(node)
        if value is not None:
            return _residue(value.numerator, value.denominator, prime)
    raise NotRational


def _residue(top: int, bottom: int, prime: int) -> int:
    return top % prime * pow(bottom, -1, prime) % prime if bottom != 1 else top % prime


def _inverse(value: int, prime: int) -> int:
    if not value % prime:
        raise ZeroDivisionError
    return pow(value, -1, prime)


def _power(node: Op, cache: dict[str, int], seed: str, prime: int) -> int:
    exponent = rational(node.args[1]) if not node.args[1].free else None
    if exponent is None or exponent.denominator != 1:
        raise NotRational
    if abs(exponent) > MAX_EXPONENT:
        raise TooLarge
    base = _value(node.args[0], cache, seed, prime)
    if exponent < 0:
        return pow(_inverse(base, prime), -exponent.numerator, prime)
    if not exponent and not base:
        raise ZeroDivisionError
    return pow(base, exponent.numerator, prime)


def _determinant(entries: list[int], prime: int) -> int:
    size = math.isqrt(len(entries))
    rows = [entries[i * size : (i + 1) * size] for i in range(size)]
    result = 1
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column]), None)
        if pivot is None:
            return 0
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            result = -result
        result = result * rows[column][column] % prime
        inverse = pow(rows[column][column], -1, prime)
        for i in range(column + 1, size):
            factor = rows[i][column] * inverse % prime
            if factor:
                rows[i] = [(a - factor * b) % prime for a, b in zip(rows[i], rows[column], strict=True)]
    return result % prime


_RULES: dict[str, Callable[[list[int], int], int]] = {
    "add": lambda values, prime: sum(values) % prime,
    "mul": lambda values, prime: _product(values, prime),
    "div": lambda values, prime: values[0] * _inverse(values[1], prime) % prime,
    "pct": lambda values, prime: values[0] * pow(100, -1, prime) % prime,
    "det": _determinant,
    "pow": lambda values, prime: 0,
}


def _product(values: list[int], prime: int) -> int:
    result = 1
    for value in values:
        result = result * value % prime
    return result
