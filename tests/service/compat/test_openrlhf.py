"""OpenRLHF's remote reward: its formats, its retries, and never a silent 0."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from .conftest import MAPPED, WIRES, rollout, served

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_rollout_gets_its_reward(wires: httpx.AsyncClient) -> None:
    right = (await wires.post("/get_reward", json=rollout("4"))).json()
    wrong = (await wires.post("/get_reward", json=rollout("5"))).json()
    logs = {"assay_graded": 1.0, "assay_row_faults": 0.0, "assay_correct": 1.0}
    assert right == {"rewards": [1.0], "scores": [1.0], "extra_logs": logs}
    assert (wrong["rewards"], wrong["scores"]) == ([0.0], [0.0])


async def test_a_batch_keeps_its_order(wires: httpx.AsyncClient) -> None:
    body = {"query": ["p4", "p5", "p6"], "prompts": ["p"] * 3, "labels": ["4", "4", "6"]}
    assert (await wires.post("/get_reward", json=body)).json()["rewards"] == [1.0, 0.0, 1.0]


async def test_an_answer_in_the_prompt_does_not_count(wires: httpx.AsyncClient) -> None:
    body = rollout("", label="4", prompt="4")
    assert (await wires.post("/get_reward", json=body)).json()["rewards"] == [0.0]


@pytest.mark.parametrize("label", [None, True, {"a": 1}, []])
async def test_a_row_at_fault_is_a_counted_constant_not_a_zero(wires: httpx.AsyncClient, label: Any) -> None:
    answer = (await wires.post("/get_reward", json=rollout("4", label=label))).json()
    assert (answer["rewards"], answer["scores"]) == ([0.5], [0.5])
    assert answer["extra_logs"] == {"assay_graded": 0.0, "assay_row_faults": 1.0, "assay_correct": 0.0}


async def test_a_row_at_fault_is_refused_where_settings_say_so() -> None:
    async with served(wires={"openrlhf": {**MAPPED, "row_fault": "refuse"}}) as (_, http):
        answer = await http.post("/get_reward", json=rollout("4", label=None))
    assert answer.status_code == 422 and "rewards" not in answer.json()


async def test_items_that_did_not_start_in_time_are_503_with_retry_after() -> None:
    wires = {"openrlhf": {**MAPPED, "deadline_s": 1e-9}}
    async with served(wires=wires, cache_mb=0) as (_, http):
        bodies = [rollout(f"{n}") for n in range(64)]
        answers = await asyncio.gather(*(http.post("/get_reward", json=body) for body in bodies))
    late = [answer for answer in answers if answer.status_code == 503]
    assert late and {answer.status_code for answer in answers} <= {200, 503}
    assert all(answer.headers["retry-after"] == "1" and "rewards" not in answer.json() for answer in late)


async def test_a_full_queue_is_503_and_a_patient_client_gets_every_reward() -> None:
    async def patient(http: httpx.AsyncClient, text: str) -> float:
        for _ in range(200):
            answer = await http.post("/get_reward", json=rollout(text))
            if answer.status_code == 200:
                return float(answer.json()["rewards"][0])
            assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.02)
        raise AssertionError("no reward")

    async with served(wires=WIRES, cache_mb=0, limits={"queue_items": 4}) as (_, http):
        rewards = await asyncio.gather(*(patient(http, "4" if n % 2 else f"{n}-") for n in range(64)))
    assert rewards == [float(n % 2) for n in range(64)]


async def test_large_integers_and_unusual_text_are_preserved(wires: httpx.AsyncClient) -> None:
    for text in ("1" * 4000, "\u2028\U0001f600", "\ud800"):
        body = json.dumps(rollout(text, label=text))
        answer = await wires.post("/get_reward", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200 and answer.json()["rewards"] in ([1.0], [0.0], [0.5])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"query": []}',
        '{"query": "x"}',
        '{"query": [1]}',
        '{"query": ["x"], "labels": [1, 2]}',
        '{"query": ["x"], "prompts": [3]}',
        '{"query": ["x"], "labels": [NaN]}',
        '{"query": ["x"], "labels": [1e999]}',
        '{"a": ' * 5000,
        "1" * 5000,
    ],
)
async def test_an_invalid_body_is_refused(wires: httpx.AsyncClient, body: str) -> None:
    answer = await wires.post("/get_reward", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422) and answer.headers["content-type"] == "application/problem+json"


async def test_protocols_are_off_until_settings_name_them() -> None:
    async with served() as (_, http):
        assert [(await http.post(path, json={})).status_code for path in ("/get_reward", "/slime", "/verify")] == [
            404
        ] * 3


async def test_a_url_can_carry_the_key() -> None:
    async with served(wires=WIRES, keys=("secret-key",)) as (_, http):
        codes = [
            (await http.post("/get_reward", json=rollout("4"), auth=auth)).status_code
            for auth in (("", "secret-key"), ("assay", "secret-key"), ("secret-key", ""), ("", "wrong"), None)
        ]
    assert codes == [200, 200, 401, 401, 401]
