"""From columns to items: templates, types, and the fault if a row cannot be filled."""

import json
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.client import ConfigurationError
from assay.client.templates import MissingColumn, RowFault, template
from assay.trainer_adapter.grades import Grade
from assay.trainer_adapter.rows import RowMap, completed, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_single_placeholder_keeps_the_columns_type(value: Any) -> None:
    assert template({"a": ["{x}"]})({"x": value}) == {"a": [value]}


@given(st.text())
def test_doubled_braces_are_braces(text: str) -> None:
    assert template(text.replace("{", "{{").replace("}", "}}"))({}) == text


def test_placeholders_inside_text_become_text() -> None:
    assert template("{a}/{b} {c}")({"a": "x", "b": 10**30, "c": [1]}) == f"x/{10**30} [1]"


def test_a_path_looks_into_mappings_and_sequences_never_attributes() -> None:
    row = {"m": {"tests": [{"in": "1"}]}, "dotted.name": 5}
    assert template("{m.tests.0.in}")(row) == "1"
    assert template("{dotted.name}")(row) == 5
    with pytest.raises(RowFault):
        template("{m.__class__}")(row)


def test_json_text_is_read_where_asked() -> None:
    assert template("{t!json}")({"t": '{"n": 123456789012345678901234567890}'}) == {"n": 123456789012345678901234567890}
    with pytest.raises(RowFault):
        template("{t!json}")({"t": "[" * 100_000})


@pytest.mark.parametrize("text", ["{", "}", "{a", "{}", "{ a }", "{a!r}", "{a.}", "{{a}", "{a}}"])
def test_an_invalid_template_is_refused_at_once(text: str) -> None:
    with pytest.raises(ConfigurationError):
        template(text)


def test_a_missing_column_is_named_with_the_existing_ones() -> None:
    with pytest.raises(MissingColumn, match=r"'anwser'; the columns are: answer, prompt"):
        template("{anwser}")({"answer": 1, "prompt": 2})


def test_a_row_that_cannot_be_filled_affects_only_itself() -> None:
    rows = RowMap(verifier="math", reference={"answer": "{meta.answer}"})
    good, bad = rows.items({"meta": [{"answer": "7"}, {}]}, ["7", "7"])
    assert good == {"verifier": "math", "reference": {"answer": "7"}, "completion": "7"}
    assert isinstance(bad, Grade) and (bad.reward, bad.fault) == (None, "row")


def test_arrays_and_tuples_are_plain_json() -> None:
    value = {"a": array("q", [1, 2]), "b": (0.5, array("d", [0.5]))}  # what has `tolist`, as numpy and torch do
    assert json.dumps(plain(value)) == '{"a": [1, 2], "b": [0.5, [0.5]]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", object(), [[float("nan")]]])
def test_a_value_without_a_json_form_is_the_rows_fault(value: Any) -> None:
    with pytest.raises(RowFault):
        plain(value)


def test_a_number_of_more_digits_than_a_float_holds_is_never_rounded() -> None:
    rows = RowMap(verifier="exact", reference="{spec!json}")
    told = [
        rows.item({"spec": text}, "x")
        for text in ('{"gold": 0.1}', '{"gold": 0.12345678901234567891}', '{"gold": NaN}')
    ]
    assert told[0]["reference"] == {"gold": 0.1}  # type: ignore[index]
    assert [one.fault for one in told[1:] if isinstance(one, Grade)] == ["row", "row"]


def test_endless_nesting_is_the_rows_fault() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RowFault):
        plain(loop)


def test_no_completion_can_make_its_row_faulty() -> None:
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"arguments": {"x": float("nan")}}}, 7]},
        {"role": "tool", "content": {"error": "x"}, "name": "f"},
        {"role": "assistant", "content": [{"type": "image"}, {"type": "text", "text": "4"}]},
        "stray",
    ]
    told = completed(messages)
    json.dumps(told, allow_nan=False)
    assert told[2]["content"] == [{"type": "text", "text": "4"}] and told[3]["content"] == "stray"


class Dumped:
    """A client's message object, like pydantic's."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_message_objects_become_plain_messages() -> None:
    call = Dumped(id="a", function={"name": "f", "arguments": "{}"})
    (told,) = completed([Dumped(role="assistant", content=None, tool_calls=[call])])
    assert told["tool_calls"] == [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]


@pytest.mark.parametrize("odd", [None, 5, b"4", [None], [b"4"], {"tool_calls": 5}, {"tool_calls": {"a": 1}}, [[{}]]])
def test_every_completion_can_be_sent(odd: Any) -> None:
    json.dumps(completed(odd), allow_nan=False)


def test_unknown_fields_cannot_be_set() -> None:
    with pytest.raises(ConfigurationError, match="completion, typo"):
        RowMap(verifier="math", reference={}, fields={"completion": "{x}", "typo": 1})  # type: ignore[dict-item]
