"""The reference of `math`: documented, strict, and refused where nothing can be checked."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from assay.contract.references.math import MathReference


def test_every_field_is_documented() -> None:
    properties = MathReference.model_json_schema()["properties"]
    assert set(properties) == {"answer", "extract", "profile", "units", "percent", "tol"}
    assert all(len(field["description"]) > 40 for field in properties.values())


@pytest.mark.parametrize(
    "reference",
    [
        {},
        {"answer": ""},
        {"answer": "   "},
        {"answer": 42},
        {"answer": "4", "extract": "anywhere"},
        {"answer": "4", "profile": "loose"},
        {"answer": "4", "gold": "4"},
        {"answer": "4", "tol": {"abs": -1.0}},
        {"answer": "4", "tol": {"rel": 2.0}},
        {"answer": "4", "units": "any"},
        {"answer": "4" * 20_001},
    ],
)
def test_what_it_does_not_know_is_refused(reference: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MathReference.model_validate(reference)


def test_the_defaults_are_for_training() -> None:
    reference = MathReference(answer="4")
    assert (reference.extract, reference.profile, reference.units) == ("boxed_last", "strict", "same_if_both")
