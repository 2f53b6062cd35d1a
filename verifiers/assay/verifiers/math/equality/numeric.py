"""Numeric evaluation with as many digits as the numbers in hand need.

Every intermediate value's magnitude is recorded; a result counts only if the working precision was five
times the largest magnitude and `MARGIN` bits more, else it is computed again. So 1 + e^-200 is not 1,
and sqrt(10^100 + 1) is not 10^50. Beyond `MAX_MAGNITUDE` bits: `TooLarge`. Sums that cancel down to
rounding noise are 0 exactly, so that 1/(sin pi) is undefined rather than huge.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.verifiers.math.equality.exact import NoValue, TooLarge, Undefined, rational
from assay.verifiers.math.equality.functions import ANGLES, CONTEXT, HIDDEN_EXPONENTIALS, RULES, SLACK, Number
from assay.verifiers.math.equality.secrets import drawn
from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op, Sym

MARGIN = 160
MAX_COST = 12_000
"""Most node visits for one evaluation."""
MAX_MAGNITUDE = 4_000
_MAX_ANGLE_BITS = 200
MAX_FOLD = 400
"""Most terms of a sum or product that are evaluated one by one."""
_INTEGRAL_BITS = 50
_TERMS = ("1.375", "2.71", "1", "2", "5", "17", "60")
"""Where the terms of a formal sum are compared."""


class OutsideDomain(NoValue):
    """A logarithm or an even root of something that is not positive, at this point."""


class NotNumeric(NoValue):
    """Something in the tree has no numeric value."""


class Evaluator:
    """Evaluates trees at one point. `log_base` is what `log` without a base means."""

    def __init__(self, point: Callable[[str], Number] | None, *, log_base: int, real_domain: bool) -> None:
        self.point = point
        self.log_base = log_base
        self.real_domain = real_domain
        self.magnitude = 0
        self.loss = 0
        self.literal = 0
        """Bits that sums, angles and exponents may have cost the result."""
        self.bound: dict[str, Number] = {}
        self.symbols: dict[tuple[str, int], Number] = {}
        """Values of symbols already asked for, by name and precision: drawing one costs more than a product."""

    def value(self, node: Node) -> Number:
        """The value of `node`."""
        if isinstance(node, Num):
            result = CONTEXT.mpf(node.value.numerator) / node.value.denominator
            self._literal(node.value)
        elif isinstance(node, Sym):
            result = self._symbol(node.name)
        elif isinstance(node, Const):
            result = _constant(node.name)
        elif isinstance(node, Op):
            result = self._operation(node)
        else:
            raise NotNumeric
        return self._noted(result)

    def _literal(self, number: Fraction) -> None:
        """A number's bits count as magnitude: `1.00...01` is told from 1, and a long decimal from pi."""
        bits = max(number.numerator.bit_length(), number.denominator.bit_length())
        if bits > MAX_MAGNITUDE:
            raise TooLarge
        self.literal = max(self.literal, bits)
        self.magnitude = max(self.magnitude, bits)

    def _symbol(self, name: str) -> Number:
        if name in self.bound:
            return self.bound[name]
        if self.point is None:
            raise NotNumeric
        key = name, CONTEXT.prec
        if key not in self.symbols:
            self.symbols[key] = self.point(name)
        return self.symbols[key]

    def _noted(self, value: Number) -> Number:
        """Record the magnitude, drop a negligible part of a complex number, refuse what is not finite."""
        if isinstance(value, CONTEXT.mpc):
            value = _settled(value)
        if not CONTEXT.isfinite(value):
            raise Undefined
        if value:
            magnitude = abs(int(CONTEXT.mag(value)))
            if magnitude > self.magnitude:
                if magnitude > MAX_MAGNITUDE:
                    raise TooLarge
                self.magnitude = magnitude
        return value

    def _operation(self, node: Op) -> Number:
        if node.bound:
            return self._folded(node)
        if node.head.startswith("app:"):
            return self._applied(node)
        method = _METHODS.get(node.head)
        return method(self, node) if method else self._function(node)

    def _added(self, node: Op) -> Number:
        return self._sum([self.value(arg) for arg in node.args])

    def _multiplied(self, node: Op) -> Number:
        return CONTEXT.fprod(self.value(arg) for arg in node.args)

    def _function(self, node: Op) -> Number:
        """A function of the table `RULES`."""
        head, rule = node.head, RULES.get(node.head)
        if rule is None:
            raise NotNumeric
        values = [self.value(arg) for arg in node.args]
        if head in ("re", "im") and node.free:
            raise NotNumeric  # of an unknown that need not be real
        if head in ANGLES:
            self._angle(values)
        if head in HIDDEN_EXPONENTIALS:
            self._hidden(head, values[0])
        try:
            return rule(*values)
        except TypeError as error:
            raise NotNumeric from error

    def _angle(self, values: list[Number]) -> None:
        """The whole turns of an angle cost the result their bits."""
        bits = max((int(CONTEXT.mag(v)) for v in values if v), default=0)
        if bits > _MAX_ANGLE_BITS:
            raise TooLarge
        self.loss += max(0, bits)

    def _hidden(self, head: str, value: Number) -> None:
        """`tanh x` is 1 but for e^(-2x): the exponential counts as a magnitude."""
        if value and CONTEXT.mag(value) > 12:
            raise TooLarge
        size = abs(value)
        bits = int(2 * size * size if head == "erf" else 3 * size) + 1
        if bits > MAX_MAGNITUDE:
            raise TooLarge
        self.magnitude = max(self.magnitude, bits)

    def _restricted(self, node: Op) -> Number:
        """Roots and logarithms: over the reals they want a positive argument where it has symbols."""
        head, value = node.head, self.value(node.args[0])
        symbolic = bool(node.args[0].free) and self.real_domain
        if head in ("sqrt", "root", "cbrt"):
            index = Fraction(2 if head == "sqrt" else 3) if len(node.args) == 1 else rational(node.args[1])
            if index is None:
                return self._raised(value, 1 / self.value(node.args[1]), None, symbolic=symbolic)
            if not index:
                raise Undefined
            return self._raised(value, None, 1 / index, symbolic=symbolic)
        if not value:
            raise OutsideDomain if symbolic else Undefined
        if symbolic and not _positive(value):
            raise OutsideDomain
        if head == "ln":
            return CONTEXT.ln(value)
        if len(node.args) > 1:
            base = self.value(node.args[1])
        else:
            base = (
                CONTEXT.mpf({"lg": 10, "lb": 2}.get(head, self.log_base))
                if head != "log" or self.log_base
                else CONTEXT.e
            )
        divisor = CONTEXT.ln(base) if base else base
        if not divisor:
            raise Undefined
        return CONTEXT.ln(value) / divisor

    def _power(self, node: Op) -> Number:
        base_node, exponent_node = node.args
        exact = rational(exponent_node) if not exponent_node.free else None
        base = self.value(base_node)
        symbolic = bool(base_node.free) and self.real_domain
        if exact is not None and exact.denominator == 1:
            return self._whole_power(base, exact.numerator)
        value = None if exact is not None else self.value(exponent_node)
        return self._raised(base, value, exact, symbolic=symbolic)

    def _whole_power(self, base: Number, exponent: int) -> Number:
        if not base:
            if exponent <= 0:
                raise Undefined
            return base
        if (abs(int(CONTEXT.mag(base))) + 1) * abs(exponent) > 64 * MAX_MAGNITUDE and abs(exponent) > MAX_MAGNITUDE:
            raise TooLarge
        if abs(int(CONTEXT.mag(base)) - 1) * abs(exponent) > 2 * MAX_MAGNITUDE:
            raise TooLarge
        # Each step of a power loses bits: they count as magnitude.
        self.magnitude = max(self.magnitude, exponent.bit_length())
        self.loss += exponent.bit_length()
        return base**exponent

    def _raised(self, base: Number, exponent: Number | None, exact: Fraction | None, *, symbolic: bool) -> Number:
        """A power with an exponent that is not whole; odd roots of negative reals are real."""
        if exponent is None and exact is not None:
            exponent = CONTEXT.mpf(exact.numerator) / exact.denominator
            self._literal(exact)
        if not base:
            if CONTEXT.re(exponent) <= 0:
                raise Undefined
            return base
        if not isinstance(base, CONTEXT.mpc) and base < 0 and exact is not None and exact.denominator % 2:
            size = self._exponential(exponent * CONTEXT.ln(-base))
            return -size if exact.numerator % 2 else size
        if symbolic and not _positive(base):
            raise OutsideDomain
        if exact == Fraction(1, 2):
            return CONTEXT.sqrt(base)
        return self._exponential(exponent * CONTEXT.ln(base))

    def _exponential(self, exponent: Number) -> Number:
        if exponent:
            bits = int(CONTEXT.mag(exponent))
            if bits > 14:
                raise TooLarge
            self.loss += max(0, bits)
        return CONTEXT.exp(exponent)

    def _sum(self, values: list[Number]) -> Number:
        """A sum, 0 where it cancels down to rounding noise."""
        total = CONTEXT.fsum(values)
        largest = max((CONTEXT.mag(value) for value in values if value), default=0)
        if not total:
            self.loss += CONTEXT.prec
            return total
        if largest - CONTEXT.mag(total) > CONTEXT.prec - SLACK:
            self.loss += CONTEXT.prec
            return CONTEXT.mpf(0)
        self.loss += max(0, int(largest - CONTEXT.mag(total)))
        return total

    def _applied(self, node: Op) -> Number:
        """An unknown function: a number drawn from its name and where it is taken."""
        values = [self._shown(arg) for arg in node.args]
        return _drawn(node.head + "\x00" + "\x00".join(values))

    def _folded(self, node: Op) -> Number:
        if node.head == "int":
            return self._integral(node)
        if node.head not in ("sum", "prod"):
            raise NotNumeric
        low, high = (rational(arg) if not arg.free else None for arg in node.args[1:])
        if low is None or high is None:
            return self._formal(node)
        if low.denominator != 1 or high.denominator != 1:
            raise NotNumeric
        if high - low >= MAX_FOLD:
            raise TooLarge
        terms = []
        for index in range(low.numerator, high.numerator + 1):
            self.bound[node.bound] = CONTEXT.mpf(index)
            terms.append(self.value(node.args[0]))
        self.bound.pop(node.bound, None)
        return self._sum(terms) if node.head == "sum" else CONTEXT.fprod(terms)

    def _formal(self, node: Op) -> Number:
        """A sum to infinity or to `n`: a number drawn from its bounds and its terms at some places."""
        parts = [node.head]
        for arg in node.args[1:]:
            parts.append("oo" if arg == Const("oo") else self._shown(arg))
        magnitude = self.magnitude
        for place in _TERMS:
            self.bound[node.bound] = CONTEXT.mpf(place)
            try:
                parts.append(self._shown(node.args[0]))
            except (Undefined, OutsideDomain, TooLarge):
                parts.append("none")
        self.bound.pop(node.bound, None)
        self.magnitude = max(magnitude, self.literal)
        return _drawn("\x00".join(parts))

    def _shown(self, node: Node) -> str:
        """A value in digits that rounding leaves alone, all that the precision gives."""
        return str(CONTEXT.nstr(self.value(node), 15 + (CONTEXT.prec - 100) // 4))

    def _integral(self, node: Op) -> Number:
        """A definite integral by quadrature; refused unless its error is far below what is compared."""
        if node.size > 60 or self.bound:
            raise NotNumeric
        low, high = (_infinite(arg) or self.value(arg) for arg in node.args[1:])

        def integrand(x: Number) -> Number:
            self.bound[node.bound] = x
            try:
                return self.value(node.args[0])
            except (Undefined, OutsideDomain):
                return CONTEXT.mpf(0)

        magnitude, between = self.magnitude, _apart(low, high)
        try:
            halves = [
                CONTEXT.quad(integrand, ends, error=True, maxdegree=9) for ends in ((low, between), (between, high))
            ]
        finally:
            self.bound.pop(node.bound, None)
            # Quadrature looks at tiny arguments; its own error counts instead of their magnitude.
            self.magnitude = max(magnitude, _INTEGRAL_BITS, self.literal)
        if any(error > CONTEXT.mpf(2) ** (-CONTEXT.prec // 2) for _, error in halves):
            raise NotNumeric
        first, second = (value for value, _ in halves)
        return _without_noise(first + second, beside=first)


_METHODS: dict[str, Callable[[Evaluator, Op], Number]] = {
    "pow": Evaluator._power,
    "add": Evaluator._added,
    "mul": Evaluator._multiplied,
    **dict.fromkeys(("sqrt", "root", "cbrt", "ln", "log", "lg", "lb"), Evaluator._restricted),
}


def _without_noise(total: Number, *, beside: Number) -> Number:
    """A sum that is rounding noise beside its parts is 0."""
    if total and CONTEXT.mag(total) < CONTEXT.mag(beside) - CONTEXT.prec // 2:
        return CONTEXT.mpf(0)
    return total


def _apart(low: Number, high: Number) -> Number:
    """A place inside the bounds that no symmetry shares: halves that both diverge do not cancel."""
    share = CONTEXT.mpf(37) / 101
    if CONTEXT.isinf(low) or CONTEXT.isinf(high):
        return share + (0 if CONTEXT.isinf(low) and CONTEXT.isinf(high) else low if CONTEXT.isinf(high) else high - 1)
    return low + (high - low) * share


def _infinite(node: Node) -> Number | None:
    if node == Const("oo"):
        return CONTEXT.inf
    if isinstance(node, Op) and node.head == "mul" and node.args[1:] == (Const("oo"),):
        return -CONTEXT.inf
    return None


def _constant(name: str) -> Number:
    if name == "pi":
        return +CONTEXT.pi
    if name == "e":
        return +CONTEXT.e
    if name == "i":
        return CONTEXT.mpc(0, 1)
    raise NotNumeric


def _positive(value: Number) -> bool:
    return not isinstance(value, CONTEXT.mpc) and value > 0


def _settled(value: Number) -> Number:
    """A complex number without a part that is only rounding noise beside the other."""
    real, imaginary = value.real, value.imag
    if not imaginary:
        return real
    if real:
        distance = CONTEXT.mag(real) - CONTEXT.mag(imaginary)
        if distance > CONTEXT.prec - SLACK:
            return real
        if -distance > CONTEXT.prec - SLACK:
            return CONTEXT.mpc(0, imaginary)
    return value


def _drawn(text: str) -> Number:
    """A number in (1/2, 3/2) that depends on `text` alone."""
    return CONTEXT.mpf(drawn(text, 40)) / (1 << 320) + CONTEXT.mpf(1) / 2
