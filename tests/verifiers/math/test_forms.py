"""Units, labels, chains, TeX forms and number words (contract, appendix "math")."""

from __future__ import annotations

import pytest
from tests.verifiers.math.runner import boxed

from assay.verifiers.extract.found import words

UNITS = words("m/s km/h s min h lb kg g mL GB MB kW MW mW mA nm kN J N/m m/s^2 kg*m Pa kPa hp dB GHz cm^2 m^3")


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_plain_unit_is_the_unit_in_text(unit: str) -> None:
    assert boxed(f"12 {unit}", f"12\\text{{ {unit}}}") and boxed(f"12\\text{{ {unit}}}", f"12 {unit}")
    assert boxed("12", f"12\\text{{ {unit}}}")
    assert not boxed(f"12 {unit}", f"13\\text{{ {unit}}}") and not boxed(f"12 {unit}", "12\\text{ ft}")


@pytest.mark.parametrize(("one", "other"), [("MW", "mW"), ("Mb", "MB"), ("mA", "MA"), ("m", "mm"), ("kB", "kb")])
def test_the_case_of_a_prefix_counts(one: str, other: str) -> None:
    assert not boxed(f"5\\text{{ {one}}}", f"5\\text{{ {other}}}")


@pytest.mark.parametrize(
    ("word", "value"),
    [("twelfths", "5/12"), ("halves", "5/2"), ("sixteenths", "5/16"), ("tenths", "1/2"), ("hundredths", "1/20")],
)
def test_a_fraction_in_words_is_its_value(word: str, value: str) -> None:
    assert boxed(value, f"5\\text{{ {word}}}") and not boxed("5", f"5\\text{{ {word}}}")


LABELS = [
    "P(A\\mid B)",
    "P(X>2)",
    "\\Pr(A\\cup B)",
    "\\mathbb{P}(X=1)",
    "\\mathbb E[X]",
    "E(X+Y)",
    "\\operatorname{Var}(X)",
    "(f\\circ g)(2)",
    "n(A\\cup B)",
    "\\dim V",
    "f^{-1}(3)",
    "\\sin A",
    "\\operatorname{rank}(A)",
]


@pytest.mark.parametrize("label", LABELS)
def test_a_label_of_function_form_equals_its_value(label: str) -> None:
    assert boxed("\\frac34", f"{label}=\\frac34") and not boxed("\\frac35", f"{label}=\\frac34")


@pytest.mark.parametrize("equation", ["x(x+1)=6", "2(x+1)=6", "a(b+c)=6", "x+y=6", "\\ln x=6"])
def test_an_equation_is_no_label(equation: str) -> None:
    assert not boxed("6", equation)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("4", "19\\bmod 5=4"),
        ("7", "7^{100}\\bmod 9=7"),
        ("1/3", "1\\over 3"),
        ("15", "6\\choose 2"),
        ("y_2^3", "y^3_2"),
        ("12345", "12,\\! 345"),
        ("9500", "9 500"),
        ("2500000", "2 500 000"),
        ("5", "\\max(5)"),
        ("\\min(-4)", "-4"),
        ("1", "1^{9^{99}}=1"),
        ("120", "\\Gamma(6)"),
        ("2,5", "r_1=2, r_2=5"),
    ],
)
def test_forms_of_one_value_are_equal(gold: str, answer: str) -> None:
    assert boxed(gold, answer)


@pytest.mark.parametrize(("gold", "answer"), [("3", "19\\bmod 5=3"), ("2,5", "r_1=2, s_1=5"), ("12345", "12,34,5")])
def test_false_chains_and_other_lists_are_not(gold: str, answer: str) -> None:
    assert not boxed(gold, answer)
