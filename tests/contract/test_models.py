"""The contract as models: round trips, strictness, and one schema per reference."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assay.contract.envelope import ScoreRequest, ScoreResponse
from assay.contract.item import Item
from assay.contract.references.composite import CompositeReference
from assay.contract.references.exact import ExactReference
from assay.contract.references.format import FormatReference
from assay.contract.references.given import GivenReference
from assay.contract.references.schema import SchemaReference
from assay.contract.references.script import ScriptReference
from assay.contract.references.tool import ToolReference
from assay.contract.result import Outcome, Result, outcome_of

MODELS = [
    CompositeReference,
    ExactReference,
    FormatReference,
    GivenReference,
    SchemaReference,
    ScriptReference,
    ToolReference,
]
text = st.text(st.characters(codec="utf-8"), max_size=40)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=8
)
items = st.builds(
    Item,
    id=st.none() | text,
    verifier=text,
    completion=text,
    reference=st.dictionaries(text, values, max_size=4),
    prompt=st.none() | text,
    prefill=st.none() | text,
    group=st.none() | text,
    run=st.none() | text,
    step=st.none() | st.integers(),
    completion_tokens=st.none() | st.integers(min_value=0),
    completion_ids=st.none() | st.lists(st.integers(), max_size=4),
    scores=st.none() | st.dictionaries(text, st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    final_state=values,
    truncated=st.none() | st.booleans(),
)


@given(items)
def test_an_item_survives_json(item: Item) -> None:
    assert Item.model_validate_json(item.model_dump_json()) == item


@given(st.lists(items, min_size=1, max_size=3), st.none() | st.floats(min_value=0.001, max_value=1e6))
def test_a_request_survives_json(batch: list[Item], deadline_s: float | None) -> None:
    request = ScoreRequest(items=batch, deadline_s=deadline_s)
    assert ScoreRequest.model_validate_json(request.model_dump_json()) == request


@given(values, st.none() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_result_survives_json(extracted: Any, reward: float | None) -> None:
    outcome = outcome_of(reward=reward, score=None)
    result = Result(
        id="a", reward=reward, score=None, outcome=outcome, reason="equal", extracted=extracted, verifier="exact@1"
    )
    response = ScoreResponse(results=[result])
    assert ScoreResponse.model_validate_json(response.model_dump_json()).results == [result]


@pytest.mark.parametrize("number", [2**84, 10**30 + 1])
def test_large_integers_stay_exact(number: int) -> None:
    item = Item(verifier="exact", completion="", reference={"gold": number})
    assert Item.model_validate_json(item.model_dump_json()).reference["gold"] == number


@pytest.mark.parametrize(
    "fields",
    [{"compltion": "a"}, {"completion": 3}, {"step": "1"}, {"truncated": 1}, {"scores": {"a": float("nan")}}],
)
def test_unknown_and_ill_typed_fields_are_errors(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Item.model_validate({"verifier": "exact", "completion": "", "reference": {}} | fields)


@pytest.mark.parametrize("model", MODELS)
def test_every_reference_has_a_documented_schema(model: type[Any]) -> None:
    schema = model.model_json_schema(by_alias=True)
    assert schema["additionalProperties"] is False and schema["description"]
    json.dumps(schema)


@pytest.mark.parametrize(
    ("reward", "score", "outcome"),
    [(None, None, "no_verdict"), (0.5, None, "shaped"), (1, 1, "correct"), (0, 0, "incorrect"), (0.5, 0.5, "partial")],
)
def test_the_outcome_follows_from_reward_and_score(reward: float | None, score: float | None, outcome: str) -> None:
    assert outcome_of(reward=reward, score=score) is Outcome(outcome)


def test_given_has_exactly_one_source() -> None:
    GivenReference.model_validate({"score": None})
    for wrong in ({}, {"name": "judge", "score": 1}):
        with pytest.raises(ValidationError):
            GivenReference.model_validate(wrong)


@pytest.mark.parametrize(
    "expect",
    [{}, {"calls": []}, {"no_call": True, "state": 1}, {"no_call": True, "order": "strict"}, {"any_of": []}],
)
def test_an_expectation_is_of_exactly_one_kind(expect: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolReference.model_validate({"expect": expect})
