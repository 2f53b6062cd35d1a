"""BFCL's own rows: accepted answers pass, mutants of them fail, abstention is neither a call nor an attempt."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from .._scoring import REGISTRY, candidate, shared_rows
from ._writers import Call, deepseek_v31, glm45, hermes, kimi_k2, openai, pythonic, qwen3_xml

SYNTAXES: dict[str, Callable[[Any], Any]] = {
    "openai": openai, "hermes": hermes, "pythonic": pythonic, "qwen3_xml": qwen3_xml, "kimi_k2": kimi_k2,
}  # fmt: skip
VERIFIER = REGISTRY.get("tool")


def accepted(values: list[Any]) -> Any:
    """BFCL's list of accepted values as a matcher; an empty string among them means: may be absent."""
    golds = [_nested(value) for value in values if value != ""]
    matcher = {"$any": golds} if golds else {"$absent": True}
    return {"$optional": matcher} if "" in values and golds else matcher


def _nested(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: accepted(item) if isinstance(item, list) else item for key, item in value.items()}
    return [_nested(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any, pick: int) -> Any:
    if isinstance(value, dict):
        chosen = {key: _choice(item, pick) if isinstance(item, list) else item for key, item in value.items()}
        return {key: item for key, item in chosen.items() if item is not None}
    return [_plain(item, pick) for item in value] if isinstance(value, list) else value


def _choice(values: list[Any], pick: int) -> Any:
    """One accepted value: the first, the last, or (pick -1 with an empty string there) none."""
    if pick < 0 and "" in values:
        return None
    golds = [value for value in values if value != ""]
    return _plain(golds[0 if pick == 0 else -1], max(pick, 0)) if golds else None


@cache
def rows(category: str) -> list[dict[str, Any]]:
    questions = list(shared_rows(f"data/bfcl/{category}.jsonl"))
    answers = list(shared_rows(f"data/bfcl/{category}.answers.jsonl"))
    return [{**question, **answer} for question, answer in zip(questions, answers, strict=True)]


def golds(row: dict[str, Any]) -> list[dict[str, Any]]:
    named = [next(iter(call.items())) for call in row["ground_truth"]]
    return [{"name": name, "args": {key: accepted(v) for key, v in args.items()}} for name, args in named]


def answers(row: dict[str, Any]) -> Iterator[list[Call]]:
    for pick in (0, 1, -1):
        calls = []
        for call in row["ground_truth"]:
            name, args = next(iter(call.items()))
            chosen = {key: _choice(values, pick) for key, values in args.items()}
            calls.append((name, {key: value for key, value in chosen.items() if value is not None}))
        yield calls


def score(row: dict[str, Any], calls: list[Call], syntax: str, **expect: Any) -> float:
    reference = {
        "tools": row["function"],
        "syntax": syntax,
        "expect": {"calls": golds(row), **expect},
    }
    spec = VERIFIER.prepare(VERIFIER.reference_model.model_validate_json(json.dumps(reference)))
    return VERIFIER.verify(spec, candidate(SYNTAXES[syntax](calls))).reward


def _fits_bare_text(row: dict[str, Any], calls: list[Call]) -> bool:
    """Whether the schema types the values as the gold does: BFCL has `any`, and a `true` for a string."""
    types = {f["name"]: f["parameters"]["properties"] for f in row["function"]}
    return all(
        types[name][key]["type"] != "any" and (types[name][key]["type"] == "string") == isinstance(value, str)
        for name, args in calls
        for key, value in args.items()
    )


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("category", ["simple_python", "parallel"])
def test_accepted_answers_pass(category: str, syntax: str) -> None:
    failed = [
        row["id"]
        for row in rows(category)
        for calls in answers(row)
        if (syntax != "qwen3_xml" or _fits_bare_text(row, calls)) and score(row, calls, syntax) != 1
    ]
    assert failed == []


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return value + " or so"
    if isinstance(value, (int, float)):
        return value + 1_000_003
    return [*value, "more"] if isinstance(value, list) else {**value, "more": 1}


def mutants(row: dict[str, Any], calls: list[Call]) -> Iterator[tuple[str, list[Call]]]:
    (name, args), rest = calls[0], calls[1:]
    gold = next(iter(row["ground_truth"][0].values()))
    for key in args:
        yield f"changed {key}", [(name, {**args, key: _changed(args[key])}), *rest]
        if "" not in gold[key]:
            yield f"dropped {key}", [(name, {k: v for k, v in args.items() if k != key}), *rest]
    yield "renamed", [(name + "x", args), *rest]
    yield "surplus argument", [(name, {**args, "surplus_": 1}), *rest]
    yield "extra call", [*calls, calls[0]]
    yield "missing call", rest


@pytest.mark.parametrize("syntax", ["openai", "hermes", "pythonic"])
@pytest.mark.parametrize("category", ["simple_python", "parallel"])
def test_mutants_fail(category: str, syntax: str) -> None:
    passed = []
    for row in rows(category):
        calls = next(answers(row))
        passed += [(row["id"], how) for how, mutant in mutants(row, calls) if score(row, mutant, syntax) != 0]
    assert passed == []


def test_swapped_calls_fail_where_order_is_strict() -> None:
    swapped = 0
    for row in rows("parallel"):
        calls = next(answers(row))
        if calls[0] == calls[-1] or not row["ground_truth"]:
            continue
        back = calls[::-1]
        assert score(row, calls, "hermes", order="strict") == 1, row["id"]
        assert score(row, back, "hermes", order="any") == 1, row["id"]
        swapped += score(row, back, "hermes", order="strict") == 0
    assert swapped > 190


def abstains(row: dict[str, Any], completion: Any) -> float:
    reference = {"tools": row["function"], "expect": {"no_call": True}}
    spec = VERIFIER.prepare(VERIFIER.reference_model.model_validate_json(json.dumps(reference)))
    return VERIFIER.verify(spec, candidate(completion)).reward


WRITTEN: dict[str, Callable[[Any], Any]] = {
    **SYNTAXES, "glm45": glm45, "deepseek_v31": deepseek_v31,
}  # fmt: skip
PROSE = [
    "None of the functions can answer that.",
    "I cannot use {0}; it would need other arguments such as [x] or {{y}}.",
    "<think>Should I call {0}(a=1)? <tool_call>{{}}</tool_call> No.</think>I cannot help with that.",
    'The answer is {{"area": 25}}, computed by hand.',
]


@pytest.mark.parametrize("prose", PROSE)
def test_prose_is_an_abstention(prose: str) -> None:
    for row in list(shared_rows("data/bfcl/irrelevance.jsonl")):
        assert abstains(row, prose.format(row["function"][0]["name"])) == 1, row["id"]


@pytest.mark.parametrize("syntax", WRITTEN)
def test_a_call_is_no_abstention_and_neither_is_a_malformed_one(syntax: str) -> None:
    for row in shared_rows("data/bfcl/irrelevance.jsonl"):
        written = WRITTEN[syntax]([(row["function"][0]["name"], {"a": "b c", "n": [1]})])
        assert abstains(row, written) == 0, row["id"]
        assert abstains(row, _malformed(written)) == 0, row["id"]


def _malformed(written: Any) -> Any:
    if isinstance(written, str):
        return written[: written.index("b c") + 2]
    entry = written[0]["tool_calls"][0]
    broken = {**entry, "function": {**entry["function"], "arguments": '{"a": '}}
    return [{**written[0], "tool_calls": [broken]}]
