"""Lossless splitting of JSON text."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.contract.rawjson import NotJson, member_spans, split_array, split_object, whole_object

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_slices_are_the_values(members: dict[str, object], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(members, indent=indent, ensure_ascii=ascii_only)
    found, end = whole_object(text)
    assert end == len(text)
    assert {name: json.loads(text[start:stop]) for name, (_, start, stop) in found.items()} == members


@given(st.dictionaries(st.text(), values, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_member_spans_agrees_with_split_object(
    members: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(members, indent=indent, ensure_ascii=ascii_only)
    found, _ = whole_object(text)
    assert member_spans(text) == {name: (start, stop) for name, (_, start, stop) in found.items()}


@given(st.text(alphabet='{}[]":,\\\n1e.-ab u0', max_size=30))
def test_member_spans_refuses_the_same_texts(inner: str) -> None:
    text = '{"a":' + inner + "}"
    assert _accepts(member_spans, text) == _accepts(whole_object, text)


def _accepts(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except NotJson:
        return False
    return True


@given(st.lists(values, max_size=5))
def test_slices_of_arrays_are_the_values(elements: list[object]) -> None:
    text = json.dumps(elements)
    assert [json.loads(text[start:stop]) for _, start, stop in split_array(text, 0)] == elements


def test_numbers_of_any_length_are_accepted() -> None:
    text = '{"a":' + "9" * 100_000 + ',"b":1.000000000000000000001}'
    found, _ = split_object(text)
    assert text[found["b"][1] : found["b"][2]] == "1.000000000000000000001"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        "{",
        '{"a"}',
        '{"a":}',
        '{"a":1',
        '{"a":1,}',
        "{'a':1}",
        '{"a":NaN}',
        '{"a":[Infinity]}',
        '{"a":1}x',
        '{"a":1 "b":2}',
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":2}}',
        '{"a":"\n"}',
        "{1:2}",
        '{"a":' + "[" * 100_000,
    ],
)
def test_refused(text: str) -> None:
    for read in (whole_object, member_spans):
        with pytest.raises(NotJson):
            read(text)
