"""Values by kind: what equals what (contract, appendix "math"), and that equality goes both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.verifiers.math.runner import VERIFIER, boxed, verdict

from assay.verifiers.errors import InvalidReference

LINES = [
    line
    for line in (Path(__file__).parent / "pairs.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# ")
]
EQUAL = [line for line in LINES if " == " in line]
UNEQUAL = [line for line in LINES if " == " not in line]


def is_choice(gold: str) -> bool:
    """A choice's answer may carry the option's text: no gold of that form is a choice itself."""
    return VERIFIER.prepare(VERIFIER.reference_model(answer=gold)).choice != ""


@pytest.mark.parametrize("line", EQUAL)
def test_equal_values_are_equal_both_ways(line: str) -> None:
    gold, _, answer = line.partition(" == ")
    assert boxed(gold, answer)
    assert is_choice(gold) or boxed(answer, gold)


@pytest.mark.parametrize("line", UNEQUAL)
def test_unequal_values_are_unequal(line: str) -> None:
    gold, _, answer = line.partition(" != ")
    assert not boxed(gold, answer)


@pytest.mark.parametrize("gold", ["?", "\\frac{0}{0}", "\\frac{1}{", "(0, \\frac{1}{0})", "  .", "\\log 0"])
def test_a_gold_that_nothing_can_equal_refuses_the_row(gold: str) -> None:
    with pytest.raises(InvalidReference):
        verdict(gold, "\\boxed{1}")


@pytest.mark.parametrize("gold", ["The rocket lands after 10 seconds.", "x \\approx 1.3", "3 x^{2}-", "\\foo{3}"])
def test_a_gold_that_is_not_read_is_equal_as_text_only(gold: str) -> None:
    assert verdict(gold, f"\\boxed{{{gold}}}").explanation["path"]
    assert boxed(gold, gold) and not boxed(gold, gold + " or not") and not boxed(gold, "3")


def test_a_verdict_explains_both_sides_and_the_path() -> None:
    explained = verdict("\\frac{1}{2}", "\\boxed{0.50\\text{ cm}}").explanation
    assert explained["gold"]["kind"] == "one" and explained["answer"]["kind"] == "measured"
    assert explained["path"] == ["scalars: equal"] and explained["policy"] == "boxed_last"


@pytest.mark.parametrize(
    ("gold", "answer", "reason"),
    [
        ("5", "6", "unequal"),
        ("5", "not 5", "hedged"),
        ("5", "5 or 6", "hedged"),
        ("5", "5+", "unparsed"),
        ("5", "5.0", "equal"),
    ],
)
def test_the_reason_says_why(gold: str, answer: str, reason: str) -> None:
    assert verdict(gold, f"\\boxed{{{answer}}}").reason == reason


def test_units_can_be_required_or_ignored() -> None:
    assert boxed("12\\text{ cm}", "12") and not boxed("12\\text{ cm}", "12", units="required")
    assert boxed("12\\text{ cm}", "12 cm", units="required") and not boxed("12", "12 cm", units="required")
    assert not boxed("12\\text{ cm}", "12\\text{ m}") and boxed("12\\text{ cm}", "12\\text{ m}", units="ignored")


def test_percent_can_be_free() -> None:
    assert not boxed("45", "45\\%") and boxed("45", "45\\%", percent="free") and boxed("45\\%", "45", percent="free")
    assert not boxed("0.45", "45", percent="free")


def test_a_tolerance_is_around_the_gold() -> None:
    assert boxed("100", "101", tol={"abs": 1.0}) and not boxed("100", "101.5", tol={"abs": 1.0})
    assert boxed("\\pi", "3.14159", tol={"rel": 1e-5}) and not boxed("\\pi", "3.14", tol={"rel": 1e-5})
    assert boxed("(1,\\sqrt{2})", "(1, 1.4142)", tol={"rel": 1e-4}) and not boxed("0", "0.001", tol={"rel": 0.5})


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("\\frac13", "0.333"),
        ("\\pi", "\\approx 3.14"),
        ("45", "45\\%"),
        ("5", "\\{5\\}"),
        ("(1,2)", "\\langle 1,2\\rangle"),
        ("x=5", "y=5"),
    ],
)
def test_lenient_forgives_what_strict_does_not(gold: str, answer: str) -> None:
    assert not boxed(gold, answer) and boxed(gold, answer, profile="lenient")


@pytest.mark.parametrize(
    ("gold", "answer"), [("\\frac13", "0.334"), ("5", "6"), ("3", "x>3"), ("42", "not 42"), ("5", "5, 6")]
)
def test_lenient_does_not_forgive_a_wrong_answer(gold: str, answer: str) -> None:
    assert not boxed(gold, answer, profile="lenient")
