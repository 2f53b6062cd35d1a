"""A NeMo Gym resources server: the request is returned with its reward, or with a mask."""

from typing import Any

import httpx
import pytest

from assay.service.compat.nemo_gym import completion_of

from .conftest import response, said, served

pytestmark = pytest.mark.asyncio(loop_scope="module")


def body(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    params = {"input": [{"role": "user", "content": "2+2?"}]}
    return {"responses_create_params": params, "response": response(*output), "expected_answer": "4", **fields}


async def test_the_request_is_echoed_with_its_reward(wires: httpx.AsyncClient) -> None:
    sent = body(said("4"), seed=10**30)
    answer = (await wires.post("/nemo/verify", json=sent)).json()
    assert answer | sent == answer
    assert (answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (1.0, False, None)
    assert answer["reward_components"] == {"score": 1.0}


async def test_a_wrong_answer_is_measured(wires: httpx.AsyncClient) -> None:
    answer = (await wires.post("/nemo/verify", json=body(said("5")))).json()
    assert (answer["reward"], answer["mask_sample"]) == (0.0, False)


async def test_a_row_at_fault_is_masked_where_nemo_rl_reads_it(wires: httpx.AsyncClient) -> None:
    sent = body(said("4"), instance_config={"instance_id": "i7"})
    right = (await wires.post("/nemo/verify", json=sent)).json()
    assert right["instance_config"] == {"instance_id": "i7", "mask_sample": False}
    for broken in ({**sent, "expected_answer": None}, {k: v for k, v in sent.items() if k != "expected_answer"}):
        answer = (await wires.post("/nemo/verify", json=broken)).json()
        assert (answer["mask_sample"], answer["failure_kind"]) == (True, "verifier_error")
        assert answer["reward_components"].keys() == {"score"} and answer["failure_reason"]
        assert answer["instance_config"] == {"instance_id": "i7", "mask_sample": True}


async def test_a_verdict_that_is_still_possible_is_503_and_not_masked() -> None:
    code = {"verifier": "code", "reference": {"language": "python", "mode": "stdio", "tests": "{tests}"}}
    sent = body(said("```python\nprint(1)\n```"), tests=[{"stdin": "", "expected_stdout": "1"}])
    async with served(wires={"nemo_gym": code}) as (_, http):  # the settings of `served` have no sandbox
        answer = await http.post("/verify", json=sent)
    assert answer.status_code == 503 and answer.headers["retry-after"] and "reward" not in answer.json()


async def test_the_last_message_counts_and_tools_are_kept(wires: httpx.AsyncClient) -> None:
    call = {"type": "function_call", "name": "add", "arguments": '{"a": 2}', "call_id": "c1"}
    told = {"type": "function_call_output", "call_id": "c1", "output": "4"}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "4?"}]}
    messages = completion_of(response(said("let me see"), call, told, thought, said("4")))
    assert [message["role"] for message in messages] == ["assistant", "assistant", "tool", "assistant"]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 2}'}
    assert messages[3] == {"role": "assistant", "content": "4", "reasoning_content": "4?"}
    answer = await wires.post("/nemo/verify", json=body(said("let me see"), call, told, thought, said("4")))
    assert answer.json()["reward"] == 1.0


async def test_an_empty_response_is_a_wrong_answer(wires: httpx.AsyncClient) -> None:
    assert (await wires.post("/nemo/verify", json=body())).json()["reward"] == 0.0


async def test_sessions_keep_no_state(wires: httpx.AsyncClient) -> None:
    assert (await wires.post("/nemo/seed_session", json={})).json() == {}
    seeded = await wires.post("/nemo/seed_session", json={"resources_session_id": "s", "task_data": {}})
    assert seeded.json() == {"resources_session_id": "s"}
    assert (await wires.get("/nemo/reverify_mode")).json() == "stateless"


async def test_means_exclude_masked_responses(wires: httpx.AsyncClient) -> None:
    told = [{"reward": 1.0, "mask_sample": False, "_ng_task_index": 0}, {"reward": 0.0, "mask_sample": True}]
    answer = (await wires.post("/nemo/aggregate_metrics", json={"verify_responses": told})).json()
    assert answer["key_metrics"] == {"mean/reward": 1.0}
    assert answer["agent_metrics"] == {"mean/reward": 1.0, "measured": 1, "masked": 1}
    assert answer["group_level_metrics"] == [{"_ng_task_index": 0, "mean/reward": 1.0, "count": 1}]
