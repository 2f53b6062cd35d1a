"""What each matcher promises, and which rows it refuses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers import InvalidReference
from assay.verifiers.matchers import MISSING, compile_matcher, key_of, maximum_matching, same

from .._scoring import calm

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def matches(expected: Any, value: Any) -> bool:
    return compile_matcher(expected, "x")(value)


ACCEPTS: list[tuple[Any, Any]] = [
    (1, 1.0),
    ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
    (9007199254740993, 9007199254740993),
    ({"$eq": {"$num": 1}}, {"$num": 1}),
    ({"$any": [1, {"$ci": "X"}]}, "x"),
    ({"$all": [{"$len": 2}, {"$contains": 1}]}, [1, 2]),
    ({"$not": 3}, 4),
    ({"$optional": 3}, 3),
    ({"$optional": 3}, MISSING),
    ({"$absent": True}, MISSING),
    ({"$ignore": True}, None),
    ({"$ci": ["Straße"]}, ["STRASSE"]),
    ({"$re": "a.c"}, "abc"),
    ({"$re": r"\d{4}"}, "2031"),
    ({"$re": "(?s).*é.*"}, "x\né"),
    ({"$num": 0.3, "abs": 0.1}, 0.4),
    ({"$num": 100, "rel": 0.01}, 101),
    ({"$num": -100, "rel": 0.01}, -99),
    ({"$num": 5}, 5.0),
    ({"$unordered": [1, 2, 2]}, [2, 1, 2]),
    ({"$unordered": [{"$any": [1, 2]}, 1]}, [1, 2]),
    ({"$contains": "b"}, "abc"),
    ({"$contains": {"id": 1}}, [{"id": 2}, {"id": 1}]),
    ({"$date": "2031-02-07"}, "7 February 2031"),
    ({"$date": "2031-02-07"}, "Feb 7th, 2031"),
    ({"$date": "2031-02-07"}, "2031-02-07T10:00:00Z"),
    ({"$date": "07.02.2031"}, "2031/2/7"),
    ({"$date": "2031-02-13"}, "13/2/2031"),
    ({"$schema": {"type": "integer"}}, 5.0),
    ({"$len": {"$num": 3, "abs": 1}}, "ab"),
    ({"a": {"$optional": 1}, "b": 2}, {"b": 2}),
    ([{"$ignore": True}, 2], ["x", 2]),
    ({"$any": [{"$absent": True}, 1]}, MISSING),
]
REJECTS: list[tuple[Any, Any]] = [
    (1, True),
    (True, 1),
    (0, False),
    ("1", 1),
    ([1, 2], [2, 1]),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, {}),
    (None, False),
    (9007199254740993, 9007199254740992),
    ({"$any": [1, 2]}, True),
    ({"$not": 3}, 3.0),
    ({"$not": 3}, MISSING),
    ({"$absent": True}, None),
    ({"$ignore": True}, MISSING),
    ({"$ci": "a"}, "b"),
    ({"$re": "b"}, "abc"),
    ({"$re": "1"}, 1),
    ({"$re": "a$"}, "a\n"),
    ({"$num": 0.3, "abs": 0.1}, 0.41),
    ({"$num": 1}, True),
    ({"$num": 1}, "1"),
    ({"$unordered": [1, 1, 2]}, [1, 2, 2]),
    ({"$unordered": [1]}, [1, 1]),
    ({"$contains": "B"}, "abc"),
    ({"$contains": 1}, [True]),
    ({"$date": "2031-02-07"}, "2/7/2031"),
    ({"$date": "2031-02-07"}, "7 Foo 2031"),
    ({"$date": "2031-02-07"}, 20310207),
    ({"$schema": {"type": "integer"}}, True),
    ({"$schema": True}, MISSING),
    ({"$len": 2}, 12),
    ({"a": {"$optional": 1}}, {"a": 2}),
    ({"a": {"$absent": True}}, {"a": None}),
]
REFUSED: list[Any] = [
    {"$foo": 1},
    {"$any": []},
    {"$any": 1},
    {"$eq": 1, "x": 2},
    {"$num": "1"},
    {"$num": 1, "abs": -1},
    {"$num": 1, "tol": 1},
    {"$re": "(?=a)a"},
    {"$re": r"(a)\1"},
    {"$re": "("},
    {"$re": 5},
    {"$re": "((a{100}){100}){100}"},
    {"$date": "soon"},
    {"$date": "3/2/2031"},
    {"$ignore": False},
    {"$absent": 1},
    {"$schema": {"$ref": "http://example.org/x"}},
    {"$schema": {"$ref": "file:///etc/passwd"}},
    {"$schema": {"type": "foo"}},
    {"$contains": ""},
    {"$unordered": 1},
    [{"deep": [{"$foo": 1}]}],
    {"$num": True},
]


@pytest.mark.parametrize(("expected", "value"), ACCEPTS, ids=str)
def test_accepts(expected: Any, value: Any) -> None:
    assert matches(expected, value)


@pytest.mark.parametrize(("expected", "value"), REJECTS, ids=str)
def test_rejects(expected: Any, value: Any) -> None:
    assert not matches(expected, value)


@pytest.mark.parametrize("expected", REFUSED, ids=str)
def test_refuses_the_row(expected: Any) -> None:
    with pytest.raises(InvalidReference):
        compile_matcher(expected, "x")


@calm
@given(JSON, JSON)
def test_keys_are_equal_exactly_for_equal_values(left: Any, right: Any) -> None:
    assert (key_of(left) == key_of(right)) == same(left, right)
    assert same(left, json.loads(json.dumps(left)))


@calm
@given(st.lists(st.sets(st.integers(0, 5), max_size=4), max_size=6))
def test_no_matching_is_larger_than_the_one_found(edges: list[set[int]]) -> None:
    def best(index: int, used: frozenset[int]) -> int:
        if index == len(edges):
            return 0
        takes = [1 + best(index + 1, used | {value}) for value in edges[index] - used]
        return max([best(index + 1, used), *takes])

    takes = maximum_matching([sorted(values) for values in edges], 6)
    taken = [value for value in takes if value >= 0]
    assert len(set(taken)) == len(taken) == best(0, frozenset())
    assert all(value in edges[index] for index, value in enumerate(takes) if value >= 0)


def test_a_catastrophic_pattern_costs_nothing() -> None:
    assert not matches({"$re": "(a+)+$"}, "a" * 200_000 + "b")
