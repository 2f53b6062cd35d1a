"""`given`: another system's score, and its outage."""

from typing import Any

import pytest
from pydantic import ValidationError

from assay.contract.references.given import GivenReference
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidItem
from assay.verifiers.given import GivenVerifier

VERIFIER = GivenVerifier()


def given(reference: dict[str, Any], **scores: float | None) -> tuple[float, float | None]:
    spec = VERIFIER.prepare(GivenReference.model_validate(reference))
    said = VERIFIER.verify(spec, Candidate.of("", scores=scores))
    return said.reward, said.score


def test_by_name_or_by_row() -> None:
    assert given({"name": "judge"}, judge=0.7) == (0.7, 0.7)
    assert given({"score": 1}) == (1.0, 1.0)


def test_what_is_no_probability_is_no_correctness() -> None:
    assert given({"score": -0.5}) == (-0.5, None)
    assert given({"score": 2}) == (2.0, None)


@pytest.mark.parametrize("reference", [{"name": "judge"}, {"score": None}])
def test_a_missing_score_is_no_verdict(reference: dict[str, Any]) -> None:
    with pytest.raises(InvalidItem):
        given(reference, other=1.0, judge=None)


@pytest.mark.parametrize("reference", [{}, {"name": "a", "score": 1}, {"name": ""}, {"score": "1"}, {"score": True}])
def test_exactly_one_source(reference: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GivenReference.model_validate(reference)
