"""Numbers: one whole decimal number, compared exactly, in linear time whatever its size."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.exact.numbers import around, compare, contains, parse_number, to_text

from ._rows import reward

SAME = [
    ("1284", "$1,284.00."), ("-5", "−5"), ("57", "**57**."), ("57", "(57)"), ("57", "[ 57 ]!"), ("5", "+5"),
    ("0.5", ".5"), ("-5", "-$5"), ("-5", "$-5"), ("5", "5€"), ("5", "€ 5"), ("100", "1e2"), ("0", "-0.000"),
    ("7", "007"), ("1000000", "1,000,000"), ("5", "５"), ("18", r"\$18"), ("18", "$18$"), ("18", r"\(18\)"),
    ("1e999999999", "10e999999998"), ("0", "0e99999999999999999999999"), ("1234.5", "1,234.50"),
]  # fmt: skip
DIFFERENT = [
    ("9", "-9"), ("27", "2.7"), ("2.0", "20"), ("57", "<57"), ("57", "~57"), ("57", "57?"), ("57", "5 7"),
    ("1234", "1,23,4"), ("123", "0,123"), ("1234", "1234,"[:-1] + ",5"), ("5", "- 5"), ("-5", "− 5"),
    ("5", "5 cm"), ("50", "50%"), ("0.75", "3/4"), ("5", "$$5"), ("1e999999999", "1e999999998"),
    ("5", "five"),
    ("16", "0x10"), ("1000", "1_000"), ("5", "5-"), ("5", "5 or 5"), ("5", "= 5"), ("1", "½"), ("4", "2²"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "text"), SAME)
def test_written_otherwise_but_the_same(gold: str, text: str) -> None:
    assert reward(text, mode="number", gold=gold, extract="whole") == 1


@pytest.mark.parametrize(("gold", "text"), DIFFERENT)
def test_another_number_or_none(gold: str, text: str) -> None:
    assert reward(text, mode="number", gold=gold, extract="whole") == 0


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "Infinity", "1e", "e5", ".", "-", "", "1e" + "9" * 30])
def test_not_a_number(text: str) -> None:
    assert parse_number(text) is None


def test_large_integers_are_not_floats() -> None:
    assert reward("9007199254740993", mode="number", gold=9007199254740992, extract="whole") == 0
    assert reward(str(2**84 + 1), mode="number", gold=2**84 + 1, extract="whole") == 1


def test_a_gold_of_many_thousand_digits() -> None:
    gold = 7 * 10**20_000 + 3
    text = "7" + "0" * 19_999 + "3"
    assert reward(text, mode="number", gold=gold, extract="whole") == 1
    assert reward(text[:-1] + "4", mode="number", gold=gold, extract="whole") == 0


@pytest.mark.parametrize(
    ("text", "gold", "tol", "right"),
    [
        ("0.002", "0", {"rel": 0.01}, False), ("1.1", "1", {"abs": 0.1}, True),
        ("1.1000001", "1", {"abs": 0.1}, False),
        ("99", "100", {"rel": 0.01}, True), ("-99", "-100", {"rel": 0.01}, True),
        ("98.9", "100", {"rel": 0.01}, False),
        ("inf", "1e308", {"rel": 1.0}, False), ("1e999999999", "5", {"abs": 1}, False),
        ("-1e-999999999", "0", {"abs": 1}, True), ("3", "1", {"abs": 1, "rel": 2}, True),
    ],
)  # fmt: skip
def test_tolerance_is_the_larger_of_both(text: str, gold: str, tol: dict[str, float], right: bool) -> None:
    assert reward(text, mode="number", gold=gold, extract="whole", tol=tol) == right


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9)


@given(decimals, decimals)
def test_order_agrees_with_fractions(left: object, right: object) -> None:
    a, b = parse_number(str(left)), parse_number(str(right))
    assert a is not None and b is not None
    x, y = Fraction(str(left)), Fraction(str(right))
    assert compare(a, b) == (x > y) - (x < y)


@given(decimals, decimals, st.sampled_from([0.0, 0.1, 0.25, 3.0]), st.sampled_from([0.0, 0.01, 0.5]))
def test_intervals_agree_with_fractions(gold: object, value: object, absolute: float, relative: float) -> None:
    centre, number = parse_number(str(gold)), parse_number(str(value))
    assert centre is not None and number is not None
    x, y = Fraction(str(gold)), Fraction(str(value))
    room = max(Fraction(str(absolute)), Fraction(str(relative)) * abs(x))
    assert contains(around(centre, absolute=absolute, relative=relative), number) == (abs(x - y) <= room)


@given(st.one_of(decimals, st.decimals(allow_nan=False, allow_infinity=False)))
def test_what_is_shown_is_the_number(value: object) -> None:
    number = parse_number(str(value))
    assert number is not None and parse_number(to_text(number)) == number


@given(st.integers(), st.integers(0, 6), st.booleans())
def test_thousands_and_zeros_change_nothing(value: int, zeros: int, grouped: bool) -> None:
    text = f"{value:,}" if grouped else str(value)
    assert parse_number(text + ("." + "0" * zeros if zeros else "")) == parse_number(str(value))


@pytest.mark.parametrize(
    "text",
    [
        "9" * 100_000, "1," * 200_000 + "1", "1,111" * 100_000, "(" * 500_000 + ")" * 100_000,
        "-" * 100_000, "1e" + "9" * 100_000, "$" * 100_000, "*" * 100_000, "\u0300\u0323" * 200_000,
        "٣" * 200_000, "1." * 300_000, " " * 500_000 + "7", "９" * 200_000,
    ],
    ids=lambda text: repr(text[:6]),
)  # fmt: skip
@pytest.mark.parametrize("extract", ["whole", "last_number"])
def test_hostile_digits_take_linear_time(text: str, extract: str) -> None:
    start = time.process_time()
    reward(text, mode="number", gold="7", extract=extract)
    assert time.process_time() - start < 5
