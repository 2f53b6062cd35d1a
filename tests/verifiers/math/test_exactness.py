"""Equality that cannot be forged: secret primes and points, pieces of functions, and computer algebra."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.verifiers.math.runner import VERIFIER, boxed, verdict

from assay.contract.references.math import MathReference
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import NeedsAlgebra
from assay.verifiers.math.equality.modular import MAX_DEGREE, MAX_HEIGHT, PRIMES

MERSENNE = (1 << 61) - 1


@pytest.mark.parametrize("modulus", [MERSENNE, 2305843009213693921, MERSENNE * 2305843009213693921, (1 << 127) - 1])
def test_a_multiple_of_a_known_modulus_is_not_zero(modulus: int) -> None:
    assert not boxed("x", f"x+{modulus}x")
    assert not boxed("x^2+1", f"x^2+1+{modulus}(x^3-x)")


def test_primes_differ_from_process_to_process() -> None:
    code = "from assay.verifiers.math.equality.modular import PRIMES; print(PRIMES)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert other.strip() != str(PRIMES) and all(prime.bit_length() == 127 for prime in PRIMES)


def test_the_stated_bound_of_the_error_holds() -> None:
    primes = 2**126 / 88  # about the number of primes of 127 bits
    assert MAX_DEGREE / 2**126 + MAX_HEIGHT / 126 / primes < 2**-100


def test_an_expression_beyond_the_bound_is_equal_as_text_only() -> None:
    assert not boxed("x", "x+(x^{1000000})^{1000000}-(x^{1000000})^{1000000}")


@pytest.mark.parametrize(
    "piece", ["\\lfloor x/10^6\\rfloor", "\\max(0,x-10^5)", "|x+10^4|-x-10^4", "\\lceil x/10^7\\rceil-1"]
)
def test_a_piece_that_begins_far_out_is_seen(piece: str) -> None:
    assert not boxed("x", f"x+{piece}") and not boxed("x", f"\\ln(e^{{x}})+{piece}")


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("e^2", "\\sum_{n=0}^\\infty \\frac{2^n}{n!}"),
        ("\\frac13", "\\sum_{n=1}^\\infty 4^{-n}=\\frac13"),
        ("\\frac{\\pi^4}{90}", "\\sum_{n=1}^\\infty \\frac{1}{n^4}"),
        ("3", "\\lim_{x\\to 0}\\frac{\\sin 3x}{x}"),
        ("e^3", "\\lim_{n\\to\\infty}(1+\\frac3n)^n"),
        ("\\frac12", "\\int_0^\\infty e^{-2x}dx=\\frac12"),
        ("3x^2", "\\frac{d}{dx} x^3"),
        ("\\frac{n(n+1)(2n+1)}{6}", "\\sum_{k=1}^{n} k^2"),
        ("5000050000", "\\sum_{k=1}^{100000} k"),
    ],
)
def test_computer_algebra_decides_what_evaluation_cannot(gold: str, answer: str) -> None:
    assert boxed(gold, answer)
    assert not boxed(f"{gold}+1", answer)


def test_what_has_no_closed_form_is_undecided_and_unequal() -> None:
    found = verdict("5", "\\boxed{\\sum_{n=1}^\\infty \\frac{1}{n}}")
    assert (found.reward, found.reason) == (0.0, "undecided")


def test_it_runs_only_where_it_may() -> None:
    spec = VERIFIER.prepare(MathReference(answer="1"))
    candidate = Candidate.of("\\boxed{\\lim_{x\\to 0}\\frac{\\sin x}{x}}", algebra=False)
    with pytest.raises(NeedsAlgebra):
        VERIFIER.verify(spec, candidate)
    assert VERIFIER.verify(spec, Candidate.of("\\boxed{1}", algebra=False)).reward == 1.0
