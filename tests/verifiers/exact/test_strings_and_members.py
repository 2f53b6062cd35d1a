"""Strings, sets, lists and quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.exact.normalisers import NORMALISERS, normalise

from ._rows import reward

NORMALISED = [
    (["casefold"], "STRASSE", "straße", 1), ([], "The Hague", "the hague", 0),
    (["ws"], "New   York\n", "New York", 1),
    (["nfkc"], "ｃｍ²", "cm2", 1), (["strip_punct"], "U.S.A.", "USA", 1), (["strip_punct"], "C++", "C", 0),
    (["edge_punct"], "“Paris”!", "Paris", 1), (["edge_punct"], "~5", "5", 0),
    (["edge_stop"], "Paris.", "Paris", 1),
    (["edge_stop"], "Paris!", "Paris", 0), (["articles"], "in the end", "in end", 1),
    (["articles"], "theme", "me", 0),
    (["articles_leading"], "The Beatles", "Beatles", 1), (["articles_leading"], "on the run", "on run", 0),
    (["casefold", "strip_punct", "articles", "ws"], "The  cat's hat!", "cats hat", 1),
    ([], " Paris ", "Paris", 1),
    ([], "Paris is nice", "Paris", 0), ([], "007", "7", 0),
]  # fmt: skip


@pytest.mark.parametrize(("names", "text", "gold", "expected"), NORMALISED)
def test_normalisers(names: list[str], text: str, gold: str, expected: float) -> None:
    assert reward(text, mode="string", gold=gold, extract="whole", normalise=names) == expected


@given(st.text(max_size=40), st.lists(st.sampled_from(sorted(NORMALISERS)), max_size=4))
def test_a_gold_equals_itself_after_any_normalising(text: str, names: list[str]) -> None:
    if normalise(text, names):
        assert reward(text, mode="string", gold=text, extract="whole", normalise=names) == 1


def test_aliases_are_golds_too() -> None:
    assert reward("NYC", mode="string", gold="New York City", aliases=["NYC"], extract="whole") == 1


MEMBERS = [
    ("set", "{3, 1, 2}", 1), ("set", "1, 2", 0), ("set", "1,2,3,4", 0), ("set", "1,2,3,3", 1),
    ("set", "(1,2,3)", 1),
    ("set", "((1,2,3))", 0), ("set", "1,,2,3", 0), ("list", "[1, 2, 3]", 1), ("list", "3,2,1", 0),
    ("list", "1,2", 0),
    ("list", "1,2,3,3", 0), ("set", "", 0), ("set", "1 2 3", 0),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "text", "expected"), MEMBERS)
@pytest.mark.parametrize("item", ["string", "number"])
def test_members(mode: str, text: str, expected: float, item: str) -> None:
    assert reward(text, mode=mode, gold=["1", "2", "3"], extract="whole", item=item) == expected


def test_members_as_numbers() -> None:
    row = {"mode": "set", "extract": "whole", "item": "number"}
    assert reward("1.0, 2.50", gold=[1, 2.5], **row) == 1
    assert reward("1,000, 2,500", gold=["1000", "2500"], sep=", ", **row) == 1
    assert reward("1.05, 2", gold=[1, 2], tol={"abs": 0.1}, **row) == 1
    assert reward("1.05, 1.01", gold=[1, 2], tol={"abs": 0.1}, **row) == 0


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=6), st.randoms())
def test_a_set_ignores_order_and_a_list_does_not(members: list[int], random: object) -> None:
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    text = ", ".join(map(str, shuffled))
    row = {"gold": [str(member) for member in members], "extract": "whole", "item": "number"}
    assert reward(text, mode="set", **row) == 1
    assert reward(text, mode="list", **row) == (shuffled == members)


QUANTITIES = [
    ("5 cm", "5 cm", 1), ("5cm.", "5 cm", 1), ("5.0 cm", "5 cm", 1), ("5 m", "5 cm", 0), ("6 cm", "5 cm", 0),
    ("5", "5 cm", 0), ("5 CM", "5 cm", 0), ("5 ㎝", "5 cm", 1), ("5 or 6 cm", "5 cm", 0), ("$5", "$5", 1),
    ("€5", "$5", 0), ("-5 °C", "−5 °C", 1), ("1,000 km/h", "1000 km/h", 1), (r"5 \text{cm}", "5 cm", 1),
    ("50%", "50 %", 1), ("cm", "5 cm", 0), ("**5 kg**", "5 kg", 1), ("1e3 m", "1000 m", 1),
    ("5 eV", "5 eV", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold", "expected"), QUANTITIES)
def test_quantities(text: str, gold: str, expected: float) -> None:
    assert reward(text, mode="quantity", gold=gold, extract="whole") == expected


def test_quantities_within_a_tolerance() -> None:
    row = {"mode": "quantity", "gold": "9.81 m/s^2", "extract": "whole", "tol": {"rel": 0.01}}
    assert reward("9.8 m/s^2", **row) == 1
    assert reward("9.8 m/s", **row) == 0
