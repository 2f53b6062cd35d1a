"""`syntax: auto` reads a text of several syntaxes whole: no mark of one hides a call in another."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.tool.attempts import Options, Tool
from assay.verifiers.tool.syntaxes import read_text

from .._scoring import calm, verdict
from ._writers import WRITERS

TOOLS = [{"name": "f"}, {"name": "g"}]
FOUND = [name for name in WRITERS if name not in ("xlam", "llama3_json")]
"""Syntaxes that `auto` finds anywhere; JSON of Llama 3 is a call at the start only, or behind its tag."""
DECOYS = [
    "<|channel|>",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary to=functions.f<|message|>{",
    "<function_calls></function_calls>",
    "<function_calls>",
    "<|python_start|>",
    "<|tool_call_start|>",
    "<|python_tag|>",
    "<|tool_calls_section_begin|><|tool_calls_section_end|>",
    "<|tool_call_begin|>",
    "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```",
    "<function=",
    "<tool_call>",
    '<tool_call>{"name": "f", "arguments": {}',
    "[TOOL_CALLS]",
    "[f(",
    '{"a": 1}',
]
MADE = [("g", {"a": 1})]
FORBIDS = {"state": {}, "forbidden_calls": [{"name": "g", "args": {"$ignore": True}}]}


def judged(text: str, expect: dict[str, Any], **fields: Any) -> float:
    return verdict("tool", text, {"expect": expect, "tools": TOOLS}, **fields).reward


@pytest.mark.parametrize("name", FOUND)
def test_no_decoy_before_a_call_makes_it_an_abstention(name: str) -> None:
    said = WRITERS[name][1](MADE)
    assert [decoy for decoy in DECOYS if judged(f"{decoy} {said}", {"no_call": True})] == []


@pytest.mark.parametrize("name", ["hermes", "mistral named", "harmony", "pythonic"])
def test_no_decoy_hides_a_forbidden_call(name: str) -> None:
    said = WRITERS[name][1](MADE)
    assert [decoy for decoy in DECOYS if judged(f"{decoy}\n{said}", FORBIDS, final_state={})] == []


@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(FOUND, 2)])
def test_a_call_in_a_second_syntax_is_a_surplus_call(one: str, other: str) -> None:
    text = WRITERS[one][1]([("f", {"a": 1})]) + "\n" + WRITERS[other][1](MADE)
    expect = {"calls": [{"name": "f", "args": {"a": 1}}]}
    assert judged(text, expect) == 0
    assert judged(text, FORBIDS, final_state={}) == 0 or {one, other} == {"deepseek_v3", "deepseek_v31"}


def test_marks_inside_a_calls_strings_are_data() -> None:
    for name, decoy in itertools.product(FOUND, DECOYS):
        if name not in ("qwen3_xml", "glm45", "glm47"):
            calls = [("f", {"a": decoy + WRITERS["mistral named"][1](MADE)})]
            expect = {"calls": [{"name": key, "args": args} for key, args in calls]}
            assert judged(WRITERS[name][1](calls), expect) == 1, (name, decoy)


WRITTEN = [WRITERS[name][1](calls) for name in FOUND for calls in (MADE, [("f", {"b": "<tool_call>"}), *MADE])]
PIECES = st.sampled_from([*DECOYS, *WRITTEN, "</tool_call>", "[THINK]", "[/THINK]", '"', "{", "\n", " so "])
CUT = st.tuples(st.sampled_from(WRITTEN), st.floats(0, 1)).map(lambda cut: cut[0][: int(cut[1] * len(cut[0]))])


@calm
@given(st.lists(PIECES | CUT, min_size=1, max_size=5).map("".join))
def test_what_any_reader_finds_is_no_abstention(text: str) -> None:
    options = Options(tools={name: Tool(name=name) for name in "fg"})
    found = [syntax for syntax in FOUND if any(one.ok for one in read_text(text, WRITERS[syntax][0], options))]
    assert not found or read_text(text, "auto", options), found


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "function", "name": "f", "parameters": {"a": 1}}',
        '{"parameters": {"a": 1}, "name": "f"}',
        '{"\\u006eame": "f", "parameters": {"a": 1}}',
        ' \n{ "name" : "f", "parameters": {"a": 1}} and text',
    ],
)
def test_json_that_begins_a_text_is_a_call_whatever_the_order_of_its_keys(text: str) -> None:
    assert judged(text, {"calls": [{"name": "f", "args": {"a": 1}}]}) == 1
    assert judged(text, {"no_call": True}) == 0


@pytest.mark.parametrize(
    "text", ['{"name": "f", "parameters": {', '{"parameters": {"a": 1}, "name": "f"', "{'name': 'f'}"]
)
def test_broken_json_that_names_a_declared_tool_is_a_failed_attempt(text: str) -> None:
    assert judged(text, {"no_call": True}) == 0


def test_json_that_names_no_declared_tool_is_an_answer() -> None:
    for value in ({"name": "h", "parameters": {}}, {"name": "f"}, {"f": {"parameters": {}}}, [{"name": "f"}]):
        assert judged(json.dumps(value), {"no_call": True}) == 1


def test_failed_attempts_do_not_push_a_forbidden_call_out_of_sight() -> None:
    said = WRITERS["hermes"][1](MADE)
    for noise in ("<tool_call>x", "<tool_call>{</tool_call>", WRITERS["hermes"][1]([("f", {})])):
        assert judged(noise * 300 + said, FORBIDS, final_state={}) == 0


def test_harmony_that_answers_is_no_attempt() -> None:
    assert (
        judged(
            "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>4",
            {"no_call": True},
        )
        == 1
    )


def test_xlam_reads_every_array() -> None:
    calls = '[{"name": "f", "arguments": {}}]'
    reference = {"syntax": "xlam", "expect": {"calls": [{"name": "f", "args": {}}]}}
    assert verdict("tool", calls, reference).reward == verdict("tool", f"[1] {calls} [2]", reference).reward == 1
    for more in (calls, '[{"name": "f"', '[{"name": "g", "arguments": {}}]'):
        assert verdict("tool", f"{calls} {more}", reference).reward == 0
    assert verdict("tool", f'[{{"a": 1}}] {calls}', {"syntax": "xlam", "expect": {"no_call": True}}).reward == 0


def test_a_name_of_kimi_may_hold_colons() -> None:
    text = WRITERS["kimi_k2"][1]([("ns:f", {})])
    assert verdict("tool", text, {"expect": {"calls": [{"name": "ns:f", "args": {}}]}}).reward == 1
