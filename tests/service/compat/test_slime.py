"""slime's remote reward: the answer is the reward."""

import httpx
import pytest

from .conftest import MAPPED, served

pytestmark = pytest.mark.asyncio(loop_scope="module")


def sample(response: str, label: str | None = "4") -> dict[str, object]:
    return {"prompt": [{"role": "user", "content": "2+2?"}], "response": response, "label": label}


async def test_the_answer_is_the_number(wires: httpx.AsyncClient) -> None:
    answers = [(await wires.post("/slime", json=sample(text))).json() for text in "45"]
    assert answers == [1.0, 0.0]


async def test_a_row_at_fault_is_never_a_zero_nor_a_null(wires: httpx.AsyncClient) -> None:
    assert (await wires.post("/slime", json=sample("4", None))).json() == 0.5


async def test_the_answer_is_an_object_with_a_reward_key() -> None:
    async with served(wires={"slime": {**MAPPED, "reward_key": "score", "path": "/rm"}}) as (_, http):
        right, fault = [(await http.post("/rm", json=sample("4", label))).json() for label in ("4", None)]
    assert right == {"score": 1.0, "graded": 1.0, "correct": 1.0, "reason": "equal"}
    assert right.keys() == fault.keys() and (fault["score"], fault["graded"]) == (0.5, 0.0)


async def test_without_a_response_there_is_no_reward(wires: httpx.AsyncClient) -> None:
    assert (await wires.post("/slime", json={"prompt": "p", "label": "4"})).status_code == 422


async def test_items_that_may_still_be_scored_are_503() -> None:
    code = {"verifier": "code", "reference": {"language": "python", "mode": "stdio", "tests": "{label}"}}
    async with served(wires={"slime": code}) as (_, http):
        body = sample("```python\nprint(1)\n```") | {"label": [{"stdin": "", "expected_stdout": "1"}]}
        answer = await http.post("/slime", json=body)
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert answer.json()["type"] == "urn:assay:problem:sandbox_unavailable"
