"""Every preset pays what its paper says."""

from typing import Any

import pytest

from assay.verifiers import InvalidItem, presets

from .._scoring import refused, verdict

RIGHT = "<think>It is 6 times 7.</think>\n<answer>\\boxed{42}</answer>"
WRONG = RIGHT.replace("42}", "41}")
MATH = {"reference": {"answer": "42"}}


def reward(preset: str, text: str, params: dict[str, Any], **fields: Any) -> float:
    return verdict("composite", text, {"preset": preset, "params": params}, **fields).reward


def test_r1_zero_pays_accuracy_and_format() -> None:
    texts = [RIGHT, WRONG, "\\boxed{42}", "\\boxed{41}"]
    assert [reward("r1_zero", text, MATH) for text in texts] == [2, 1, 1, 0]
    assert reward("r1_zero", RIGHT.removeprefix("<think>"), {**MATH, "think_prefilled": True}, prefill="<think>") == 2


def test_r1_zero_reads_an_answer_without_a_box() -> None:
    plain = "<think>It is 6 times 7.</think>\n<answer>42</answer>"
    assert reward("r1_zero", plain, MATH) == 2 and reward("r1_zero", plain.replace("42", "41"), MATH) == 1
    assert reward("r1_zero", plain, {"reference": {"answer": "42", "extract": "boxed_last"}}) == 1
    exact = {"mode": "string", "gold": "42", "extract": "answer_tag"}
    assert reward("r1_zero", plain, {"reference": exact, "verifier": "exact"}) == 2


def test_r1_adds_language_and_a_judge_and_has_no_verdict_without_one() -> None:
    assert reward("r1", RIGHT, MATH, scores={"judge": 0.5}) == pytest.approx(1 + 0.5 + 0.1 + 0.1)
    mixed = RIGHT.replace("times", "乘以乘以乘以乘以乘以")
    assert reward("r1", mixed, MATH, scores={"judge": 0.5}) == pytest.approx(1 + 0.5 + 0.1)
    with pytest.raises(InvalidItem):
        reward("r1", RIGHT, MATH)


@pytest.mark.parametrize(("tokens", "expected"), [(100, 1.0), (16384, 1.0), (18432, 0.5), (20480, 0.0), (30000, 0.0)])
def test_dapo_pays_plus_or_minus_one_and_punishes_length(tokens: int, expected: float) -> None:
    assert reward("dapo", RIGHT, MATH, completion_tokens=tokens) == expected
    assert reward("dapo", WRONG, MATH, completion_tokens=tokens) == expected - 2


def test_olmo_pays_each_domain_on_one_scale() -> None:
    assert reward("olmo", RIGHT, {"domain": "math", **MATH}) == 10
    commas = {"constraints": [{"type": "no_comma"}], "aggregate": "all"}
    assert reward("olmo", "no comma", {"domain": "instructions", "reference": commas}) == 10
    assert reward("olmo", "hello", {"domain": "chat"}, scores={"judge": 0.3}) == pytest.approx(3)


def test_every_preset_says_what_it_is() -> None:
    assert presets.names() == ["dapo", "olmo", "r1", "r1_zero"]
    for name in presets.names():
        preset = presets.load(name)
        assert preset["summary"] and preset["source"]
        assert all(entry["meaning"] for entry in preset["params"].values())


@pytest.mark.parametrize(
    "reference",
    [
        {"preset": "r2"},
        {"preset": "../r1"},
        {"preset": "dapo"},
        {"preset": "dapo", "params": {"refrence": {}}},
        {"preset": "dapo", "params": {**MATH, "max": "long"}},
        {"preset": "r1_zero", "params": {"reference": "42"}},
        {"preset": "dapo", "params": {**MATH, "cache": 50_000}},
        {"preset": "olmo", "params": {"domain": "poetry"}},
        {"preset": "olmo", "params": {"domain": []}},
        {"params": {}},
    ],
    ids=str,
)
def test_refuses(reference: dict[str, Any]) -> None:
    assert refused("composite", reference)
