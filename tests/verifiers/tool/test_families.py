"""Calls as the model families' own templates write them, and texts that are attempts at such a call."""

from typing import Any

import pytest

from assay.verifiers.tool.attempts import Options
from assay.verifiers.tool.syntaxes import read_text

from .._scoring import verdict
from ._writers import WRITERS

TOOLS = [
    {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    }
]
CALL = {"calls": [{"name": "get_weather", "args": {"city": "Rome", "days": 3}}]}
TEMPLATES = {
    "deepseek_v32": """<｜DSML｜function_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
</｜DSML｜invoke>
</｜DSML｜function_calls>""",
    "minimax_m2": """<minimax:tool_call>
<invoke name="get_weather">
<parameter name="city">Rome</parameter>
<parameter name="days">3</parameter>
</invoke>
</minimax:tool_call>""",
    "seed_oss": """<seed:tool_call>
<function=get_weather>
<parameter=city>Rome</parameter>
<parameter=days>3</parameter>
</function>
</seed:tool_call>""",
    "gemma": "<start_function_call>call:get_weather{city:<escape>Rome<escape>,days:3}<end_function_call>",
    "gemma 4": '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>,days:3}<tool_call|>',
    "gemma 3": '```tool_code\nget_weather(city="Rome", days=3)\n```',
    "granite": '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}]',
    "granite 20b": '<function_call> {"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}',
    "phi4": '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}]<|/tool_call|>',
    "phi4 functools": 'functools[{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}]',
    "jamba": '<tool_calls>[\n{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}\n]</tool_calls>',
    "internlm2": '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {"city": "Rome", "days": 3}}'
    "<|action_end|>",
    "tagged_json": '<tool>{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}</tool>',
    "tagged_json, glaive": '<functioncall> {"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}'
    " <|endoftext|>",
    "tagged_json, functionary": '<function=get_weather>{"city": "Rome", "days": 3}</function>',
}
SYNTAX = {"gemma 4": "gemma", "gemma 3": "gemma", "granite 20b": "granite", "phi4 functools": "phi4"}
BROKEN = {
    "wrong close": lambda text: text.replace(" <|endoftext|>", "<~") if "endoftext" in text else text[:-2] + "~~",
    "no body": lambda text: text[: text.index("get_weather")],
    "cut in the arguments": lambda text: text[: text.index("Rome") + 2],
    "no name": lambda text: text.replace("get_weather", "", 1),
}


def reward(text: str, expect: dict[str, Any], **fields: Any) -> float:
    return verdict("tool", text, {"tools": TOOLS, "expect": expect, **fields}).reward


def syntax_of(name: str) -> str:
    return SYNTAX.get(name, name.split(",")[0])


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("around", ["{}", "I will look.\n{}", "<think>which? 4 < 5</think>\n\n{}\n"])
def test_a_call_as_its_template_writes_it_is_read(name: str, around: str) -> None:
    text = around.format(TEMPLATES[name]) if "{}" in around else around
    for syntax in (syntax_of(name), "auto"):
        assert reward(text, CALL, syntax=syntax) == 1, syntax
        assert reward(text.replace("Rome", "Roma"), CALL, syntax=syntax) == 0
        assert reward(text, {"no_call": True}, syntax=syntax) == 0


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_call_is_neither_a_call_nor_an_abstention(name: str, how: str) -> None:
    text = BROKEN[how](TEMPLATES[name])
    if how == "wrong close" and syntax_of(name) in ("granite", "phi4", "deepseek_v32", "minimax_m2"):
        pytest.skip("the call itself is complete: what follows is prose")
    if name.startswith("tagged_json") and how == "no body":
        pytest.skip("a tag without JSON is prose")
    for syntax in (syntax_of(name), "auto"):
        found = read_text(text, syntax, Options())
        assert reward(text, CALL, syntax=syntax) == 0
        assert found and reward(text, {"no_call": True}, syntax=syntax) == 0, (syntax, text)


@pytest.mark.parametrize(
    "text",
    [
        'The reply is <answer>{"name": "Ann", "arguments": 3}</answer>.',
        "Call the <tool> you like, or <action> nothing.",
        "In Python, functools.reduce and functools [lru_cache] help.",
        'The log says <tool_response>{"name": "get_weather"}</tool_response>.',
        "Use <parameter> tags, then <invoke>.",
        '```json\n{"name": "get_weather", "arguments": {}}\n```',
    ],
)
def test_prose_about_tools_is_an_abstention(text: str) -> None:
    assert reward(text, {"no_call": True}) == 1


@pytest.mark.parametrize("name", WRITERS)
def test_no_prose_beside_a_call(name: str) -> None:
    syntax, write = WRITERS[name]
    calls = [("f", {"a": 1}), ("g", {"b": "x y"})]
    wanted = {"calls": [{"name": "f", "args": {"a": 1}}, {"name": "g", "args": {"b": "x y"}}]}
    for prose, bare, told in (("free", 1, 1), ("forbid", 1, 0)):
        row = {"expect": wanted, "prose": prose, "syntax": syntax}
        assert verdict("tool", write(calls), row).reward == bare
        assert verdict("tool", f"<think>f, then g</think>\n{write(calls)}\n", row).reward == bare
        if syntax not in ("llama3_json",):
            assert verdict("tool", f"Sure, I call f.\n{write(calls)}", row).reward == told


@pytest.mark.parametrize(
    ("made", "match", "expected"),
    [
        ({"a": 1}, "exact", 1),
        ({"a": 1, "b": 2}, "exact", 0),
        ({"a": 1, "b": 2}, "subset", 1),
        ({"a": 2, "b": 2}, "subset", 0),
        ({"b": 2}, "subset", 0),
    ],
)
def test_at_least_these_arguments(made: dict[str, Any], match: str, expected: float) -> None:
    row = {"expect": {"calls": [{"name": "f", "args": {"a": 1}}]}, "args_match": match}
    assert verdict("tool", WRITERS["hermes"][1]([("f", made)]), row).reward == expected


@pytest.mark.parametrize("joint", ["; ", "\n", " ", ";"])
def test_objects_of_llama_are_joined_by_semicolons_or_white_space(joint: str) -> None:
    text = joint.join(WRITERS["llama3_json"][1]([("f", {"a": a})]) for a in (1, 2))
    two = {"calls": [{"name": "f", "args": {"a": 1}}, {"name": "f", "args": {"a": 2}}]}
    for syntax in ("llama3_json", "auto"):
        row = {"tools": [{"name": "f"}], "syntax": syntax}
        assert verdict("tool", text, {**row, "expect": two}).reward == 1
        assert verdict("tool", text, {**row, "expect": {"calls": two["calls"][:1]}}).reward == 0
