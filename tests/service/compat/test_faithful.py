"""Compat protocols score against the exact values that were sent, and rows and completions do not affect each other."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from pydantic import ValidationError

from assay.service.settings import Settings

from .conftest import WIRES, response, rollout, said, served

pytestmark = pytest.mark.asyncio(loop_scope="module")
LONG, NEAR = "0.12345678901234567891", "0.12345678901234567892"
NUMBER = {"mode": "number", "gold": "{label}", "extract": "whole"}
SPELT = {"verifier": "exact", "reference": "{label!json}"}
TYPED = {"content-type": "application/json"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def numbers() -> AsyncIterator[httpx.AsyncClient]:
    """Settings of protocols with numeric labels; slime's labels are references as JSON text."""
    mapped = {"verifier": "exact", "reference": NUMBER}
    wires = {"openrlhf": mapped, "slime": SPELT, "nemo_gym": mapped}
    async with served(wires=wires) as (_, client):
        yield client


async def posted(http: httpx.AsyncClient, path: str, body: str) -> Any:
    answer = await http.post(path, content=body, headers=TYPED)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("text", "reward"), [(LONG, 1.0), (NEAR, 0.0)])
async def test_a_long_decimal_gold_is_exact(numbers: httpx.AsyncClient, text: str, reward: float) -> None:
    rlhf = json.dumps(rollout(text, label="@")).replace('"@"', LONG)
    gym = json.dumps({"label": "@", "response": response(said(text))}).replace('"@"', LONG)
    slime = json.dumps({"response": text, "label": json.dumps(NUMBER).replace('"{label}"', LONG)})
    assert (await posted(numbers, "/get_reward", rlhf))["rewards"] == [reward]
    assert (await posted(numbers, "/verify", gym))["reward"] == reward
    assert await posted(numbers, "/slime", slime) == reward


async def test_nemos_echo_changes_no_digit(numbers: httpx.AsyncClient) -> None:
    body = json.dumps({"label": 4, "response": response(said("4")), "n": 2**80, "x": "@"}).replace('"@"', LONG)
    answer = await numbers.post("/verify", content=body, headers=TYPED)
    assert f'"x":{LONG}' in answer.text and str(2**80) in answer.text


@pytest.mark.parametrize("gold", ["NaN", "1e999", "-Infinity", '4,"gold":5', "[" * 300 + "]" * 300])
async def test_an_invalid_label_is_the_rows_fault(numbers: httpx.AsyncClient, gold: str) -> None:
    label = json.dumps(NUMBER).replace('"{label}"', gold)
    assert await posted(numbers, "/slime", json.dumps({"response": "4", "label": label})) == 0.5


async def test_an_endlessly_nested_row_does_not_affect_its_batch(wires: httpx.AsyncClient) -> None:
    body = {"query": ["p4", "p4", "p5"], "prompts": ["p"] * 3, "labels": ["4", "@", "4"]}
    deep = json.dumps(body).replace('"@"', "[" * 300 + "]" * 300)
    assert (await posted(wires, "/get_reward", deep))["rewards"] == [1.0, 0.5, 0.0]


async def test_a_completion_over_the_limit_gets_0_and_does_not_affect_its_batch() -> None:
    async with served(wires=WIRES, limits={"completion_bytes": 1000}) as (_, http):
        body = {"query": ["p4", "p" + "x" * 2000], "prompts": ["p"] * 2, "labels": ["4"] * 2}
        assert (await posted(http, "/get_reward", json.dumps(body)))["rewards"] == [1.0, 0.0]
        assert await posted(http, "/slime", json.dumps({"response": "x" * 2000, "label": "4"})) == 0.0
        gym = {"expected_answer": "4", "response": response(said("x" * 2000))}
        told = await posted(http, "/nemo/verify", json.dumps(gym))
    assert (told["reward"], told["mask_sample"]) == (0.0, False)


async def test_an_endlessly_nested_call_is_not_masked(wires: httpx.AsyncClient) -> None:
    call = {"type": "function_call", "name": "f", "arguments": "@"}
    body = json.dumps({"expected_answer": "4", "response": response(call)})
    told = await posted(wires, "/nemo/verify", body.replace('"@"', '{"a":' + "[" * 300 + "]" * 300 + "}"))
    assert (told["reward"], told["mask_sample"]) == (0.0, False)


async def test_any_json_is_returned_unchanged(wires: httpx.AsyncClient) -> None:
    odd = '{"resources_session_id": "\\ud800"}'
    assert await posted(wires, "/nemo/seed_session", odd) == json.loads(odd)
    means = await posted(
        wires, "/nemo/aggregate_metrics", '{"verify_responses": [{"reward": 1, "_ng_task_index": "\\ud800"}]}'
    )
    assert means["agent_metrics"]["measured"] == 1


@pytest.mark.parametrize("body", ['{"response": "4", "label": "4", "label": "5"}', '{"response": "4", "label": NaN}'])
async def test_a_body_that_is_not_strict_json_is_refused(wires: httpx.AsyncClient, body: str) -> None:
    assert (await wires.post("/slime", content=body, headers=TYPED)).status_code == 400


async def test_a_template_that_is_not_json_is_refused_at_the_start() -> None:
    with pytest.raises(ValidationError, match="not a template of JSON"):
        Settings(wires={"slime": {"verifier": "exact", "reference": {"gold": float("nan")}}})
