"""Rows that cannot be judged are refused, with the field named; no row is judged leniently instead."""

from typing import Any

import pytest
from pydantic import ValidationError

from assay.contract.references.exact import ExactReference
from assay.verifiers.errors import InvalidReference

from ._rows import VERIFIER, reward

W = {"extract": "whole"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"mode": "string", "gold": "", **W}, "gold"),
    ({"mode": "string", "gold": " \n", **W}, "gold"),
    ({"mode": "string", "gold": "?!", "normalise": ["strip_punct"], **W}, "gold"),
    ({"mode": "string", "gold": "the", "normalise": ["articles"], **W}, "gold"),
    ({"mode": "string", "gold": "x", "aliases": ["y", ""], **W}, "aliases"),
    ({"mode": "string", "gold": None, **W}, "gold"),
    ({"mode": "string", "gold": ["x"], **W}, "gold"),
    ({"mode": "string", "gold": True, **W}, "gold"),
    ({"mode": "number", "gold": "seven", **W}, "gold"),
    ({"mode": "number", "gold": "3/4", **W}, "gold"),
    ({"mode": "number", "gold": True, **W}, "gold"),
    ({"mode": "number", "gold": "1e99999999999999999999", **W}, "gold"),
    ({"mode": "number", "gold": "1e999999", "tol": {"abs": 1}, **W}, "tol"),
    ({"mode": "number", "gold": "no marker 5", "gold_extract": "hash4", **W}, "gold"),
    ({"mode": "number", "gold": "5", "choices": ["a"], **W}, "choices"),
    ({"mode": "number", "gold": "5", "multi": False, **W}, "multi"),
    ({"mode": "string", "gold": "5", "tol": {"abs": 1}, **W}, "tol"),
    ({"mode": "string", "gold": "5", "sep": ";", **W}, "sep"),
    ({"mode": "number", "gold": "5", "extract": "choice"}, "extract"),
    ({"mode": "set", "gold": [], **W}, "gold"),
    ({"mode": "set", "gold": "1,2", **W}, "gold"),
    ({"mode": "set", "gold": ["1", ""], **W}, "gold"),
    ({"mode": "list", "gold": ["1", "x"], "item": "number", **W}, "gold"),
    ({"mode": "set", "gold": ["1"], "tol": {"abs": 1}, **W}, "tol"),
    ({"mode": "quantity", "gold": "cm", **W}, "gold"),
    ({"mode": "choice", "gold": "E", "choices": ["a", "b"], "extract": "choice"}, "gold"),
    (
        {"mode": "choice", "gold": "3", "labels": "decimal", "choices": ["a", "b"], "extract": "choice"},
        "gold",
    ),
    ({"mode": "choice", "gold": "A", "choices": [], "extract": "choice"}, "choices"),
    ({"mode": "choice", "gold": "A", "choices": ["x"] * 27, "extract": "choice"}, "choices"),
    ({"mode": "choice", "gold": ["A"], "choices": ["a", "b"], "extract": "choice"}, "gold"),
    ({"mode": "choice", "gold": "A", "multi": True, "choices": ["a", "b"], "extract": "choice"}, "gold"),
    ({"mode": "choice", "gold": [], "multi": True, "choices": ["a", "b"], "extract": "choice"}, "gold"),
    ({"mode": "choice", "gold": "A, B", "choices": ["a", "b"], "extract": "choice"}, "gold"),
]


@pytest.mark.parametrize(("reference", "field"), REFUSED, ids=lambda value: str(value)[:50])
def test_refused_with_the_field(reference: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidReference) as refusal:
        VERIFIER.prepare(ExactReference.model_validate(reference))
    assert refusal.value.field == field


@pytest.mark.parametrize(
    "reference",
    [
        {"mode": "fuzzy", "gold": "5", **W}, {"mode": "string", "gold": "5"}, {"mode": "string", **W},
        {"mode": "string", "gold": "5", "extract": "regex"},
        {"mode": "string", "gold": "5", "golds": [], **W},
        {"mode": "string", "gold": "5", "normalise": ["lower"], **W},
        {"mode": "set", "gold": ["1"], "sep": "", **W},
        {"mode": "number", "gold": "5", "tol": {"abs": -1}, **W},
        {"mode": "number", "gold": "5", "tol": 0.1, **W},
    ],
    ids=str,
)  # fmt: skip
def test_unknown_or_ill_typed_is_refused_by_the_model(reference: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExactReference.model_validate(reference)


def test_a_gold_may_be_a_whole_solution() -> None:
    gold = "He paid 80,000*1.5=<<80000*1.5=120000>>120,000 first.\n#### 70000"
    assert reward("#### 70,000", mode="number", gold=gold, extract="hash4", gold_extract="hash4") == 1
