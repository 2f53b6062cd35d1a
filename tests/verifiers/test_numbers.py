"""One number is worth the same wherever it stands: in a gold, a schema, a call, a message, a recorded state."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.contract.numbers import Lexeme, NumberFault, equal, exact, fraction_of, written
from assay.verifiers import Candidate, Verdict, strict_json
from assay.verifiers.matchers import compile_matcher, key_of, same

from ._scoring import REGISTRY, calm, verdict

ONE_VALUE = [
    ("6.02e23", "602000000000000000000000"),
    ("1e23", "100000000000000000000000"),
    ("1e308", "1" + "0" * 308),
    ("9007199254740993.0", "9007199254740993"),
    ("3.14159265358979323846", "3.141592653589793238460"),
    ("0.10", "0.1"),
    ("-0.0", "0"),
    ("0e-99999999999999999999", "0"),
    ("5e-324", "0.5e-323"),
]
TWO_VALUES = [
    ("6.02e23", "602000000000000000000001"),
    ("9007199254740993.0", "9007199254740992"),
    ("1.00000000000000000001", "1"),
    ("0.1000000000000000055511151231257827", "0.1"),
    ("123456789.123456789", "123456789.12345679"),
]
FAULTY = ["1e-99999999999999999999", "1e99999999999999999999", "1e-400", "0." + "1" * 5000, "1" + "0" * 4999 + ".5"]


def valued(text: str) -> Any:
    return strict_json.value_of(text)


def row_value(text: str) -> Any:
    """As the engine hands references, states and messages to a verifier."""
    return strict_json.plain(strict_json.parse(text.encode()))


@pytest.mark.parametrize(("one", "other"), ONE_VALUE)
def test_two_texts_of_one_value_are_equal_on_every_way(one: str, other: str) -> None:
    for left, right in ((one, other), (other, one)):
        assert same(valued(left), valued(right)) and key_of(valued(left)) == key_of(valued(right))
        assert compile_matcher(row_value(left), "x")(valued(right))
        assert compile_matcher({"$unordered": [row_value(left)]}, "x")([valued(right)])
        assert compile_matcher({"$num": row_value(left)}, "x")(valued(right))
        assert compile_matcher({"$schema": {"const": row_value(left)}}, "x")(valued(right))


@pytest.mark.parametrize(("one", "other"), TWO_VALUES)
def test_two_values_are_unequal_however_near(one: str, other: str) -> None:
    assert not same(valued(one), valued(other)) and key_of(valued(one)) != key_of(valued(other))
    assert not compile_matcher(row_value(one), "x")(valued(other))
    assert not compile_matcher({"$schema": {"const": row_value(one)}}, "x")(valued(other))


@pytest.mark.parametrize("text", FAULTY)
def test_a_number_without_an_exact_form_is_no_json_and_breaks_nothing(text: str) -> None:
    with pytest.raises(strict_json.JsonFault):
        valued(text)
    assert verdict("schema", text, {"schema": True}).reason == "unparsed"
    call = f'<tool_call>{{"name": "f", "arguments": {{"a": {text}}}}}</tool_call>'
    for completion in (call, f"[f(a={text})]"):
        assert verdict("tool", completion, {"expect": {"no_call": True}, "tools": [{"name": "f"}]}).reward == 0
    with pytest.raises(NumberFault):
        exact(written(text))


@calm
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_worth_its_shortest_text(number: float) -> None:
    assert written(repr(number)) == number and type(written(repr(number))) is float
    assert equal(exact(number), number) and fraction_of(exact(number)) == fraction_of(number)


@calm
@given(st.decimals(allow_nan=False, allow_infinity=False, places=25, min_value=-9, max_value=9))
def test_no_digit_is_lost(number: Any) -> None:
    assert fraction_of(exact(written(format(number, "f")))) == number.as_integer_ratio()[0] / fraction_of(
        number.as_integer_ratio()[1]
    )


def test_a_schema_sees_all_digits() -> None:
    assert verdict("schema", "1.00000000000000000001", {"schema": {"type": "integer"}}).reward == 0
    assert verdict("schema", "0.10000000000000000001", {"schema": {"maximum": 0.1}}).reward == 0
    assert verdict("schema", "[0.10000000000000000001]", {"schema": {"items": {"type": "number"}}}).reward == 1


def _judged(name: str, reference: dict[str, Any], candidate: Candidate) -> Verdict:
    verifier = REGISTRY.get(name)
    return verifier.verify(verifier.prepare(verifier.reference_model.model_validate(reference)), candidate)


def test_a_gold_and_a_score_may_have_more_digits_than_a_float() -> None:
    gold = {"schema": {"type": "number"}, "gold": Lexeme("3.14159265358979323846")}
    assert _judged("schema", gold, Candidate.of("3.14159265358979323846")).reward == 1
    assert _judged("schema", gold, Candidate.of("3.14159265358979323847")).reward == 0
    given = _judged("given", {"name": "j"}, Candidate.of("x", scores={"j": Lexeme("0.33333333333333333333")}))
    assert json.dumps([given.reward, given.extracted]) == "[0.3333333333333333, 0.3333333333333333]"


def test_long_numbers_cost_no_more_than_their_length() -> None:
    start = time.process_time()
    for text in ("0." + "3" * 10**6, "[" + ",".join(["0." + "3" * 4000] * 500) + "]", "1" * 10**6 + ".5"):
        verdict("schema", text, {"schema": True, "gold": 1})
    assert time.process_time() - start < 10
