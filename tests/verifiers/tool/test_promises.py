"""What the kinds of expectation promise."""

import json
from typing import Any

import pytest

from assay.contract.numbers import Lexeme
from assay.verifiers import InvalidItem

from .._scoring import refused, verdict
from ._writers import hermes, openai

CALL = ("f", {"a": 1})
READ = ("look", {})
TOOLS = [{"name": "f", "parameters": {}}, {"name": "look", "read_only": True}, {"name": "g"}]


def score(completion: Any, expect: dict[str, Any], **fields: Any) -> float:
    item = {key: fields.pop(key) for key in ("prefill", "final_state") if key in fields}
    return verdict("tool", completion, {"expect": expect, **fields}, **item).reward


def wants(*calls: tuple[str, dict[str, Any]], **options: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "args": args} for name, args in calls], **options}


def searched(results: list[tuple[str, str]], tool: str = "search", answer: str = "") -> list[dict[str, Any]]:
    messages = []
    for call_id, content in results:
        call = {"id": call_id, "function": {"name": tool, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
    return [*messages, {"role": "assistant", "content": answer}]


def test_read_only_calls_may_be_left_over_but_no_others() -> None:
    expect = wants(CALL, extra_calls="read_only")
    assert score(openai([READ, CALL, READ]), expect, tools=TOOLS) == 1
    assert score(openai([CALL, ("g", {})]), expect, tools=TOOLS) == 0
    assert score(openai([READ, CALL]), {**expect, "order": "strict"}, tools=TOOLS) == 1


def test_a_read_only_call_that_is_expected_is_still_expected() -> None:
    expect = wants(CALL, READ, extra_calls="read_only", order="strict")
    assert score(openai([CALL, READ]), expect, tools=TOOLS) == 1
    assert score(openai([READ, CALL]), expect, tools=TOOLS) == 0


def test_allow_lets_calls_through_but_no_failed_attempt_and_no_unknown_tool() -> None:
    expect = wants(CALL, extra_calls="allow")
    assert score(openai([("g", {}), CALL]), expect, tools=TOOLS) == 1
    assert score(openai([("h", {}), CALL]), expect, tools=TOOLS) == 0
    assert score(hermes([CALL]) + "<tool_call>{</tool_call>", expect) == 0
    assert score(openai([CALL, CALL, CALL]), {**expect, "max_calls": 2}) == 0


def test_f1_pays_in_part() -> None:
    expect = wants(CALL, ("g", {}))
    assert score(openai([CALL]), expect, reward="f1") == pytest.approx(2 / 3)
    assert score(openai([CALL, ("g", {}), ("g", {})]), expect, reward="f1") == pytest.approx(4 / 5)
    assert score("nothing", expect, reward="f1") == 0


@pytest.mark.parametrize(
    "args", ['{"a": 1}{"a": 1}', '{"a": 1', '{"a": 1, "a": 1}', "[1]", '"{}"', "", "{'a': 1}", '{"a": NaN}', "null"]
)
def test_arguments_are_one_json_object_or_a_failed_attempt(args: str) -> None:
    call = [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": args}}]}]
    assert verdict("tool", call, {"expect": {"no_call": True}}).reason == "malformed_call"
    assert score(call, wants(("f", {"$ignore": True}))) == 0


def test_string_arguments_are_read_only_where_the_row_says_so() -> None:
    text = hermes([("f", json.dumps({"a": 1}))])  # type: ignore[list-item]
    assert score(text, wants(CALL)) == 0
    assert score(text, wants(CALL), string_args="decode") == 1


def test_lenient_reading_closes_what_was_cut_off() -> None:
    for text in [
        '<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {"a": 1}}',
    ]:
        assert score(text, wants(CALL)) == 0
        assert score(text, wants(CALL), parse="lenient") == 1


def test_untagged_json_is_no_call_in_a_tagged_syntax() -> None:
    text = '{"name": "f", "arguments": {"a": 1}}'
    for syntax in ("hermes", "mistral", "kimi_k2", "deepseek_v3", "harmony", "glm45", "qwen3_xml"):
        assert score(text, {"no_call": True}, syntax=syntax) == 1


def test_python_written_where_json_belongs_is_a_failed_attempt_not_an_abstention() -> None:
    for syntax, text in (
        ("llama3_json", "{'name': 'f', 'parameters': {'a': 1}}"),
        ("xlam", "[{'name': 'f', 'arguments': {'a': 1}}]"),
        ("hermes", "<tool_call>{'name': 'f', 'arguments': {'a': 1}}</tool_call>"),
    ):
        assert score(text, {"no_call": True}, syntax=syntax) == 0
    for syntax, text in (("llama3_json", '{"name": "Alice"}'), ("xlam", "[1, 2]"), ("xlam", '[{"x": 1}]')):
        assert score(text, {"no_call": True}, syntax=syntax) == 1


def test_thinking_holds_no_calls_unless_the_row_keeps_it() -> None:
    text = f"<think>{hermes([CALL])}</think>Done."
    assert score(text, wants(CALL)) == 0
    assert score(text, {"no_call": True}) == 1
    assert score(text, wants(CALL), think="keep") == 1
    assert score(hermes([CALL]), wants(CALL), prefill="<think>") == 0


def test_a_thinking_that_never_ends_is_no_abstention() -> None:
    assert score("<think>well", {"no_call": True}) == 0


def test_the_other_shape_of_deepseek_is_malformed() -> None:
    text = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    assert score(text, wants(("f", {})), syntax="deepseek_v31") == 1
    assert score(text, wants(("f", {})), syntax="deepseek_v3") == 0
    assert score(text, wants(("function", {"$ignore": True})), syntax="deepseek_v3") == 0


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis to=functions.f<|message|>{}<|call|>",
        "<|channel|>commentary to=f",
        "<|channel|>commentary to=functions.f {}",
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|channel|>commentary to=browser.search<|message|>{}<|call|>",
        "<|start|>assistant to=functions.f<|channel|>final<|message|>{}<|call|>",
    ],
)
def test_a_message_to_a_recipient_that_is_no_call_is_a_failed_attempt(text: str) -> None:
    for syntax in ("harmony", "auto"):
        assert score(text, {"no_call": True}, syntax=syntax) == 0
        assert score(text, {"calls": [{"name": "f", "args": {}}]}, syntax=syntax) == 0


def test_a_message_without_a_recipient_is_an_abstention() -> None:
    text = "<|channel|>commentary<|message|>I will answer.<|end|><|start|>assistant<|channel|>final<|message|>4"
    assert score(text, {"no_call": True}, syntax="harmony") == 1


def test_state_ignores_paths_and_wants_required_calls() -> None:
    expect = {
        "state": {"rows": [{"n": 1}]},
        "ignore_paths": ["/rows/*/at", "/log"],
        "required_calls": [{"name": "f", "args": {"a": 1}}],
    }
    state = {"rows": [{"n": 1, "at": 5}], "log": ["x"]}
    assert score(openai([CALL]), expect, final_state=state) == 1
    assert score("", expect, final_state=state) == 0
    assert score(openai([CALL]), expect, final_state={**state, "more": 1}) == 0
    forbids = {**expect, "forbidden_calls": [{"name": "g", "args": {"$ignore": True}}]}
    assert score(openai([CALL, ("g", {"b": 1})]), forbids, final_state=state) == 0


def test_a_state_that_was_not_recorded_is_the_rows_fault() -> None:
    with pytest.raises(InvalidItem):
        score("", {"state": {}})


RETRIEVAL = {"tool": "search", "gold_ids": ["d1", "d2"], "k": 2, "mode": "recall", "id_path": "/*/id"}


def found(*ids: Any) -> str:
    return json.dumps([{"id": one} for one in ids])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("any", 1.0), ("all", 0.0), ("recall", 0.5), ("ndcg", (1 / 1.584962500721156) / (1 + 1 / 1.584962500721156))],
)
def test_retrieval_modes(mode: str, expected: float) -> None:
    completion = searched([("c0", found("x", "d1", "d2"))])
    assert score(completion, {"retrieval": {**RETRIEVAL, "mode": mode}}) == pytest.approx(expected)


def test_results_count_only_where_they_answer_a_call_of_that_tool() -> None:
    expect = {"retrieval": {**RETRIEVAL, "mode": "any"}}
    stray = [{"role": "tool", "tool_call_id": "c0", "content": found("d1")}, *openai([("search", {})])]
    assert score(stray, expect) == 0
    assert score(searched([("c0", found("d1"))], tool="other"), expect) == 0
    assert score(searched([("c0", "not json d1")]), expect) == 0
    assert score([{"role": "assistant", "content": found("d1")}], expect) == 0
    both = [
        *searched([("c0", "[]")])[:2],
        *searched([("c0", "[]")], tool="other")[:1],
        searched([("c0", found("d1"))])[1],
    ]
    assert score(both, expect) == 0, "the latest call of that id was another tool's"


def test_the_latest_output_of_a_tool_decides() -> None:
    expect = {"output": {"tool": "search", "match": {"passed": {"$num": 3}}, "not_error": True}}
    assert score(searched([("a", '{"passed": 3}')]), expect) == 1
    assert score(searched([("a", '{"passed": 3}'), ("b", '{"passed": 2}')]), expect) == 0
    assert (
        score(searched([("a", '{"passed": 3, "error": "x"}')]), {"output": {"tool": "search", "not_error": True}}) == 0
    )
    assert score(searched([("a", "Error: boom")]), {"output": {"tool": "search", "not_error": True}}) == 0
    assert score(searched([("a", "[1]")]), {"output": {"tool": "search", "schema": {"type": "array"}}}) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The answer is 1,204 m.", 1),
        ("\\boxed{204}", 0),
        ("<answer>Lake  Bled</answer>", 1),
        ("Bled is deep.", 0),
        ("<think>1,204", 0),
    ],
)
def test_the_answer_stands_in_a_result(answer: str, expected: int) -> None:
    completion = searched([("a", "lake bled: depth 1,204 m")], answer=answer)
    assert score(completion, {"answer_from_tool": {"tool": "search"}}) == expected


@pytest.mark.parametrize(
    ("result", "answer", "expected"),
    [
        ('{"name":"caf\\u00e9"}', "café", 1),
        ('{"t":"line1\\nline2"}', "line1\nline2", 1),
        ('{"t":"line1\\nline2"}', "nline2", 0),
        ('{"path": "C:\\\\tmp"}', "C:\\tmp", 1),
        ('{"depth": 1204}', "1204", 1),
        ("not json: \\n", "\\n", 1),
        ("\u221242", "42", 0),
        ("\u221242", "-42", 1),
        ("-42", "\u221242", 1),
    ],
)
def test_the_answer_is_looked_for_in_what_the_result_says_not_in_its_escapes(
    result: str, answer: str, expected: int
) -> None:
    assert score(searched([("a", result)], answer=answer), {"answer_from_tool": {"tool": "search"}}) == expected


@pytest.mark.parametrize(
    "expect",
    [
        {"retrieval": {"tool": "look", "gold_ids": ["d1"], "k": 1, "mode": "any", "id_path": "/*/id"}},
        {"output": {"tool": "look", "not_error": True}},
        {"answer_from_tool": {"tool": "look"}},
    ],
    ids=str,
)
def test_a_tool_that_is_not_declared_fails_every_expectation_of_results(expect: dict[str, Any]) -> None:
    good = searched([("a", found("d1"))], tool="look", answer="d1")
    assert score(good, expect, tools=TOOLS) == 1
    assert score([*good, *openai([("rm_rf", {})])], expect, tools=TOOLS) == 0


@pytest.mark.parametrize(
    ("match", "text", "expected"),
    [
        ({"$not": 5}, "5", 0),
        ({"$not": "5"}, "5", 0),
        ({"$not": 5}, "6", 1),
        ({"$not": {"$contains": "rror"}}, '["Error"]', 0),
        ({"$all": [{"$not": 5}, {"$ignore": True}]}, "5", 0),
        ({"$any": [{"$not": {"$any": [5, 6]}}, 7]}, "5", 0),
        ({"$len": {"$not": 3}}, "[1, 2, 3]", 0),
        ({"$len": 3}, "abc", 1),
        ("5", "5", 1),
        (5, "5", 1),
        ({"$re": r"\d+"}, "55", 1),
        ({"$contains": "b"}, '["a", "b"]', 1),
        ("plain", "plain", 1),
    ],
    ids=str,
)
def test_an_output_is_judged_as_value_and_text_and_a_negation_negates_both(
    match: Any, text: str, expected: int
) -> None:
    assert score(searched([("a", text)]), {"output": {"tool": "search", "match": match}}) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Exceptional result", False), ("Error: x", True), (" error 5", True), ("Exception in thread", True),
        ("Errors:", True), ("Errorless", False), ("Traceback (most recent call last):", True), ("No error", False),
    ],
)  # fmt: skip
def test_a_result_says_that_it_is_an_error(text: str, error: bool) -> None:
    assert score(searched([("a", text)]), {"output": {"tool": "search", "not_error": True}}) == (not error)


def test_read_only_may_stand_inside_of_openais_function() -> None:
    tools = [{"type": "function", "function": {"name": name, "read_only": name == "look"}} for name in ("f", "look")]
    assert score(openai([READ, CALL]), wants(CALL, extra_calls="read_only"), tools=tools) == 1
    assert score(openai([CALL, CALL]), wants(CALL, extra_calls="read_only"), tools=tools) == 0


def test_bare_text_is_typed_by_what_its_schema_refers_to() -> None:
    parameters = {"properties": {"s": {"$ref": "#/$defs/S"}, "n": {"$ref": "#/$defs/N"}, "loop": {"$ref": "#/$defs/L"}}}
    parameters["$defs"] = {"S": {"type": "string"}, "N": {"anyOf": [{"type": "integer"}]}, "L": {"$ref": "#/$defs/L"}}
    args = {"s": "1", "n": 1, "loop": 1}
    text = (
        "<tool_call>f" + "".join(f"<arg_key>{key}</arg_key><arg_value>1</arg_value>" for key in args) + "</tool_call>"
    )
    assert score(text, wants(("f", args)), tools=[{"name": "f", "parameters": parameters}]) == 1


def test_any_of_takes_the_best() -> None:
    expect = {"any_of": [wants(CALL), {"no_call": True}]}
    assert [score(text, expect) for text in (hermes([CALL]), "no", hermes([("g", {})]))] == [1, 1, 0]


@pytest.mark.parametrize(
    "reference",
    [
        {"expect": {}},
        {"expect": {"calls": []}},
        {"expect": {"no_call": True, "calls": [{"name": "f", "args": {}}]}},
        {"expect": {"no_call": True, "order": "any"}},
        {"expect": {"calls": [{"name": "f", "args": {"$num": 1}}]}, "tools": [{"name": "g"}]},
        {"expect": {"no_call": True}, "tools": [{"name": "g"}, {"name": "g"}]},
        {"expect": {"no_call": True}, "tools": [{"parameters": {}}]},
        {"expect": {"no_call": True}, "syntax": "esperanto"},
        {"expect": {"state": {}, "ignore_paths": [""]}},
        {"expect": {"state": {}, "ignore_paths": ["rows"]}},
        {"expect": {"state": {"a": 1}, "ignore_paths": ["/*"]}},
        {"expect": {"retrieval": {**RETRIEVAL, "gold_ids": []}}},
        {"expect": {"output": {"tool": "f"}}},
        {"expect": {"any_of": []}},
        {"expect": {"calls": None}},
        {"expect": {"no_call": False}},
    ],
    ids=str,
)
def test_refuses_rows_with_nothing_to_check(reference: dict[str, Any]) -> None:
    assert refused("tool", reference)


def test_think_tags_inside_a_calls_strings_are_data() -> None:
    for said in ("</think>", "<think>", "<think></think>", "a </think> b </think>"):
        text = hermes([("f", {"a": said})])
        for completion in (text, f"<think>{hermes([CALL])}</think>{text}"):
            assert score(completion, wants(("f", {"a": said}))) == 1, completion
    assert score(f"<think>{hermes([('f', {'a': '</think>'})])}", wants(("f", {"a": "</think>"}))) == 0
    assert score(hermes([CALL]), wants(CALL), prefill="<think>\n</think>\n") == 1


def test_bare_text_keeps_tags_within_a_line_and_fails_where_a_tag_is_missing() -> None:
    said = "Tags: </parameter> and <parameter=x> are text."
    text = "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>"
    assert score(text.format(said), wants(("f", {"a": said})), syntax="qwen3_xml") == 1
    missing = text.format("1\n<parameter=b>\n2")
    assert verdict("tool", missing, {"expect": wants(("f", {"$ignore": True})), "syntax": "qwen3_xml"}).reward == 0


def test_headers_may_start_in_the_template() -> None:
    text = ' to=functions.f<|channel|>commentary <|constrain|>json<|message|>{"a": 1}'
    assert score(text, wants(CALL), syntax="harmony") == 1


EMPTY = {
    "kimi_k2": "<|tool_calls_section_begin|><|tool_calls_section_end|>",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
    "deepseek_v31": "<｜tool▁calls▁begin｜>",
    "pythonic": "<function_calls>\n</function_calls>",
    "llama3_json": "<|python_tag|>",
    "mistral": "[TOOL_CALLS]",
    "hermes": "<tool_call></tool_call>",
    "harmony": "<|channel|>commentary to=functions.f",
}


@pytest.mark.parametrize("syntax", EMPTY)
def test_markup_without_a_call_is_a_failed_attempt(syntax: str) -> None:
    for named in (syntax, "auto"):
        assert verdict("tool", EMPTY[syntax], {"expect": {"no_call": True}, "syntax": named}).reason == "malformed_call"
    for mark in ("<|tool_call_start|>", "<|python_start|>", "<|tool_calls_section_begin|>"):
        assert score(f"{mark} well", {"no_call": True}) == 0


def test_magistrals_thinking_holds_no_calls() -> None:
    text = '[THINK][TOOL_CALLS]f[ARGS]{"a": 2}[/THINK][TOOL_CALLS]f[ARGS]{"a": 1}'
    assert score(text, wants(CALL), syntax="mistral") == 1


def test_numbers_that_a_float_cannot_hold_come_from_both_sides_alike() -> None:
    written = "1.00000000000000000000001"
    message = [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": Lexeme(written)}}}]}]
    text = f'<tool_call>{{"name": "f", "arguments": {{"a": {written}}}}}</tool_call>'
    for completion in (message, text):
        assert score(completion, wants(("f", {"a": {"$num": 1}}))) == 0
        assert score(completion, wants(("f", {"a": {"$num": 1, "abs": 1e-20}}))) == 1
    large = 10**30 + 1
    assert score(hermes([("f", {"a": large})]), wants(("f", {"a": large}))) == 1
    assert score(hermes([("f", {"a": large})]), wants(("f", {"a": large - 1}))) == 0
