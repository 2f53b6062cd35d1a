"""Strict JSON, a schema that fetches nothing, a gold that is valid itself; and what hostile text costs."""

import json
import time
from typing import Any

import pytest

from .._scoring import refused, verdict

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def score(text: str, schema: Any = True, **reference: Any) -> float:
    return verdict("schema", text, {"schema": schema, **reference}).reward


@pytest.mark.parametrize("text", ['{"a": 1}', ' \n{"a": 1.0}\n', '<think>{"a": "x"}</think>{"a": 7}', '{"a": 1e2}'])
def test_valid(text: str) -> None:
    assert score(text, OBJECT) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1} ok',
        '{"a": 1}{"a": 1}',
        '{"a": 1, "a": 1}',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1,}',
        '{"a": true}',
        '{"a": 1',
        "",
        "<think>{}",
        '{"a": 1}</think>',
        '```json\n{"a": 1}\n```',
        '// c\n{"a": 1}',
        '\ufeff{"a": 1}',
        '{"a": 01}',
        '{"a": 1.5}',
    ],
)
def test_not_json_or_not_valid(text: str) -> None:
    assert score(text, OBJECT) == 0


def test_one_fence_is_let_through_where_the_row_says_so() -> None:
    assert score('```json\n{"a": 1}\n```', OBJECT, extract="fence_ok") == 1
    assert score('```\n{"a": "```"}\n```', extract="fence_ok") == 1
    assert score('Here:\n```json\n{"a": 1}\n```', OBJECT, extract="fence_ok") == 0
    assert score('```json\n{"a": 1}\n```\n```json\n{"a": 1}\n```', OBJECT, extract="fence_ok") == 0


def test_large_numbers_are_exact() -> None:
    assert score("9007199254740993", {"const": 9007199254740993}) == 1
    assert score("9007199254740992", True, gold=9007199254740993) == 0
    assert score("9007199254740993.0", True, gold=9007199254740993) == 1


def test_formats_count_only_where_asserted() -> None:
    schema = {"format": "date"}
    assert [score('"2031-02-30"', schema), score('"2031-02-30"', schema, assert_format=True)] == [1, 0]


def test_gold_may_hold_matchers() -> None:
    gold = {"a": {"$num": 3, "abs": 1}}
    assert [score(text, OBJECT, gold=gold) for text in ('{"a": 4}', '{"a": 5}')] == [1, 0]
    assert score("null", True, gold=None) == 1
    assert score("0", True, gold=None) == 0


def test_exactly_one_call_of_the_tool() -> None:
    text = '<tool_call>{"name": "emit", "arguments": {"a": 1}}</tool_call>'
    call = {"mode": "tool_call", "tool": "emit"}
    assert score(text, OBJECT, **call) == 1
    assert score(text + text, OBJECT, **call) == 0
    assert score(text + "<tool_call>", OBJECT, **call) == 0
    assert score(text.replace("emit", "omit"), OBJECT, **call) == 0
    assert score('{"a": 1}', OBJECT, **call) == 0


@pytest.mark.parametrize(
    "reference",
    [
        {"schema": {"$ref": "http://example.org/s"}},
        {"schema": {"$ref": "file:///etc/passwd"}},
        {"schema": {"$dynamicRef": "https://example.org/s#x"}},
        {"schema": {"$ref": "other.json"}},
        {"schema": {"$schema": "http://example.org/meta"}},
        {"schema": {"$ref": "#/$defs/none"}},
        {"schema": {"type": "entity"}},
        {"schema": {"pattern": "("}},
        {"schema": 3},
        {"schema": OBJECT, "gold": {"a": "x"}},
        {"schema": OBJECT, "gold": {"$foo": 1}},
        {"schema": OBJECT, "tool": "emit"},
        {"schema": OBJECT, "mode": "yaml"},
        {},
    ],
    ids=str,
)
def test_refuses(reference: dict[str, Any]) -> None:
    assert refused("schema", reference)


def test_references_inside_the_schema_are_followed() -> None:
    tree = {"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"}
    assert [score("[[], [[]]]", tree), score("[[1]]", tree)] == [1, 0]


HOSTILE = {
    "nest": "[" * 40_000 + "]" * 40_000,
    "digits": "9" * 100_000,
    "negative exponent": "1e-999999999",
    "pattern": '"' + "a" * 200_000 + '!"',
    "escapes": '"' + "\\u0061" * 100_000,
    "keys": "{" + ",".join(f'"{i}": 1' for i in range(50_000)) + ', "1": 1}',
}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_costs_its_length(text: str) -> None:
    start = time.process_time()
    assert score(HOSTILE[text], {"type": "string", "pattern": "^(a+)+$"}) == 0
    assert time.process_time() - start < 5


@pytest.mark.parametrize("tool", ["f", None])
@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n<function=f>\n<parameter=a>\n12\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>12</arg_value>\n</tool_call>",
    ],
)
def test_bare_text_of_a_call_is_typed_by_the_rows_own_schema(text: str, tool: str | None) -> None:
    reference = {"schema": {"properties": {"a": {"type": "string"}}}, "mode": "tool_call", "gold": {"a": "12"}}
    assert verdict("schema", text, reference | ({"tool": tool} if tool else {})).reward == 1
    number = {**reference, "schema": {"properties": {"a": {"type": "integer"}}}, "gold": {"a": 12}}
    assert verdict("schema", text, number).reward == 1


def test_the_tool_of_a_row_is_declared() -> None:
    reference = {"schema": {"required": ["a"]}, "mode": "tool_call", "tool": "f"}
    for text in ('{"name": "f", "parameters": {"a": 1}}', "[f(a=1)]"):
        assert verdict("schema", text, reference).reward == 1
        assert verdict("schema", text.replace("f", "g", 1), reference).reward == 0


def test_a_fence_may_close_on_its_last_line() -> None:
    for text in ('```json\n{"a": 1}```', '```\n{"a": 1}\n  ```'):
        assert score(text, OBJECT, extract="fence_ok") == 1 and score(text, OBJECT) == 0
    for text in ('```json\n{"a": 1}``` x', '```json {"a": 1}```', '```json\n{"a": 1}``'):
        assert score(text, OBJECT, extract="fence_ok") == 0


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^(?!.*\.\.).*$", "a.b", "a..b"),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", "ab12", "abcd"),
        (r"^(\w+)-\1$", "ab-ab", "ab-ba"),
        (r"(?<!un)safe$", "very safe", "unsafe"),
        (r"^(a+)+$", "aaaa", "a" * 40 + "b"),
    ],
)
def test_ecma_patterns_with_look_around_and_back_references(pattern: str, right: str, wrong: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert score(json.dumps(right), schema) == 1 and score(json.dumps(wrong), schema) == 0


def test_a_pattern_that_backtracks_without_end_is_bounded() -> None:
    started = time.process_time()
    assert score(json.dumps("a" * 5000), {"type": "string", "pattern": r"^(?=(a|aa)+$)(a*)*\2b"}) == 0
    assert time.process_time() - started < 5
