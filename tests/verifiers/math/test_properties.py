"""Properties: equality of values is reflexive, symmetric, blind to style, and never wrong on rationals."""

from __future__ import annotations

import random
from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.verifiers.math.rewrites import MUTANTS, REWRITES, applied
from tests.verifiers.math.runner import boxed, rows

SAMPLE = 250
"""Published answers that one run looks at; `make bench` looks at all."""


def sample() -> list[str]:
    golds = [row["answer"] for row in rows("data/math_golds.jsonl")]
    return random.Random(20260101).sample(golds, SAMPLE)


def test_rewrites_that_keep_the_value_are_accepted() -> None:
    pairs = [(gold, text) for gold in sample() for _, text in applied(gold, REWRITES)]
    refused = [pair for pair in pairs if not boxed(*pair)]
    assert len(pairs) > 2 * SAMPLE and len(refused) <= 0.01 * len(pairs), refused


def test_mutants_that_change_the_value_are_refused() -> None:
    pairs = [(gold, text) for gold in sample() for _, text in applied(gold, MUTANTS)]
    accepted = [pair for pair in pairs if boxed(*pair)]
    assert len(pairs) > 2 * SAMPLE and not accepted


# --- random arithmetic, with its exact value ---------------------------------------------------------------
Term = tuple[str, Fraction]
NUMBERS = st.integers(0, 60).map(lambda n: (str(n), Fraction(n)))
DECIMALS = st.integers(1, 999).map(lambda n: (f"{n // 100}.{n % 100:02d}", Fraction(n, 100)))


def _combined(operation: str, left: Term, right: Term, style: int) -> Term | None:
    (a, x), (b, y) = left, right
    if operation == "+":
        return (f"{a} + {b}", x + y)
    if operation == "-":
        return (f"{a} - \\left({b}\\right)", x - y)
    if operation == "*":
        sign = (r" \cdot ", r" \times ", "", "*")[style]
        return (f"({a}){sign}({b})", x * y)
    if not y:
        return None
    return ((f"\\frac{{{a}}}{{{b}}}", f"({a})/({b})", f"\\dfrac{{{a}}}{{{b}}}", f"{{{a} \\over {b}}}")[style], x / y)


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 3) -> Term:
    """An expression in digits, and its value."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(NUMBERS, DECIMALS))
    left, right = draw(arithmetic(depth - 1)), draw(arithmetic(depth - 1))
    made = _combined(draw(st.sampled_from("+-*/")), left, right, draw(st.integers(0, 3)))
    assume(made is not None)
    assert made is not None
    return made


@settings(max_examples=200, deadline=None)
@given(arithmetic(), arithmetic())
def test_two_rational_expressions_are_equal_exactly_when_their_values_are(one: Term, other: Term) -> None:
    assert boxed(one[0], other[0]) is (one[1] == other[1])


@settings(max_examples=200, deadline=None)
@given(arithmetic())
def test_an_expression_equals_its_value_and_no_neighbour(term: Term) -> None:
    text, value = term
    assert boxed(text, f"\\frac{{{value.numerator}}}{{{value.denominator}}}")
    assert not boxed(text, f"\\frac{{{value.numerator + 1}}}{{{value.denominator}}}")
    assert not boxed(text, f"\\frac{{{value.numerator}}}{{{value.denominator + 1}}}") or value == 0


@settings(max_examples=150, deadline=None)
@given(st.fractions(), st.fractions())
def test_two_different_rationals_are_never_equal(one: Fraction, other: Fraction) -> None:
    assert boxed(f"{one}", f"{other}") is (one == other)


@settings(max_examples=150, deadline=None)
@given(st.integers(-(10**40), 10**40), st.integers(-3, 3))
def test_large_integers_are_exact(number: int, step: int) -> None:
    assert boxed(str(number), str(number + step)) is (step == 0)
    assert boxed(f"\\sqrt{{{number**2}}}", str(abs(number) + step)) is (step == 0)


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 10**12))
def test_an_irrational_root_equals_no_decimal(number: int) -> None:
    root = int(number**0.5)
    assume(root**2 != number and (root + 1) ** 2 != number)
    assert not boxed(f"\\sqrt{{{number}}}", f"{number**0.5:.15f}")
    assert boxed(f"\\sqrt{{{number}}}", f"\\frac{{{number}}}{{\\sqrt{{{number}}}}}")


# --- polynomials, with their coefficients ---------------------------------------------------------------------
@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.integers(-5, 5), st.integers(-2, 2))
def test_a_product_of_factors_is_its_expansion_and_nothing_else(roots: list[int], scale: int, step: int) -> None:
    assume(scale)
    coefficients = [scale]
    for root in roots:
        coefficients = [a - root * b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    factored = str(scale) + "".join(f"(x - ({root}))" for root in roots)
    coefficients[-1] += step
    powers = range(len(coefficients) - 1, -1, -1)
    expanded = " + ".join(f"({c})x^{{{p}}}" for c, p in zip(coefficients, powers, strict=True))
    assert boxed(factored, expanded) is (step == 0) and boxed(expanded, factored) is (step == 0)


# --- collections ------------------------------------------------------------------------------------------------
@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_order_counts_in_tuples_only(numbers: list[int], rng: random.Random) -> None:
    shuffled = rng.sample(numbers, len(numbers))
    gold, answer = (", ".join(map(str, each)) for each in (numbers, shuffled))
    assert boxed(gold, answer) and boxed(f"\\{{{gold}\\}}", answer) and boxed(answer, f"\\{{{gold}\\}}")
    assert boxed(f"({gold})", f"({answer})") is (numbers == shuffled)
    assert not boxed(gold, f"({answer})") and not boxed(gold, ", ".join(map(str, numbers[:-1])))


SPACES = st.sampled_from(["", " ", "\\,", "\\;", "\\!", "\\ ", "~", "\\quad ", "  "])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["\\frac{3x+1}{2}", "(2,5]", "x^{2}+\\sqrt{7}", "\\{1,2\\}", "\\sin x+e^{2}", "x>3"]),
    st.lists(SPACES, min_size=12),
)
def test_spacing_and_style_do_not_matter(gold: str, spaces: list[str]) -> None:
    marks = iter(spaces * 4)
    spaced = "".join(next(marks) + c + next(marks) if c in "+,=>" else c for c in gold)
    for style in (
        "{}",
        "\\displaystyle {}",
        "\\mathbf{{{}}}",
        "\\color{{red}}{{{}}}",
        "$ {} $",
        "{{{}}}",
        "\\boxed{{{}}}",
        "{}.",
    ):
        assert boxed(gold, style.format(spaced.replace("\\frac", "\\dfrac"))), style
