"""TRL's calls: keyword arguments only, every other column as a list, None for abstaining."""

import asyncio
import inspect
import pickle  # noqa: TID251 - what AsyncGRPO does to a reward
import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from assay.client import Client, ConfigurationError, MemoryTransport, ServiceUnavailable
from assay.trainer_adapter.missing import AbstainPolicy, Ungraded
from assay.trainer_adapter.trl import AssayReward, AsyncAssayReward

from .conftest import EXACT, Served


def grpo(reward: Any, completions: list[Any], prompts: list[Any] | None = None, **columns: list[Any]) -> Any:
    """Call a reward as GRPO and RLOO do: keyword arguments, with state and loggers."""
    logged: dict[str, Any] = {}
    rewards = reward(
        prompts=prompts or ["p"] * len(completions),
        completions=completions,
        completion_ids=[[1, 2]] * len(completions),
        trainer_state=SimpleNamespace(global_step=3),
        log_extra=lambda name, values: logged.__setitem__(name, values),
        log_metric=lambda name, value: logged.__setitem__(name, value),
        **columns,
    )
    return (asyncio.run(rewards) if inspect.iscoroutine(rewards) else rewards), logged


def equal(item: dict[str, Any]) -> float:
    return float(item["completion"] == item["reference"]["answer"])


@pytest.mark.parametrize("kind", [AssayReward, AsyncAssayReward])
def test_grpo_gets_a_reward_per_completion(kind: type[AssayReward]) -> None:
    reward = kind("math", {"answer": "{answer}"}, url=Client(transport=MemoryTransport(equal)))
    assert grpo(reward, ["7", "8"], answer=["7", "7"], level=[1, 2])[0] == [1.0, 0.0]


def test_async_grpo_gives_neither_state_nor_loggers() -> None:
    reward = AssayReward("math", {"answer": "{answer}"}, url=Client(transport=MemoryTransport(equal)))
    assert reward(completions=["7"], prompts=["p"], completion_ids=[[1]], answer=["7"]) == [1.0]


def test_trl_recognises_async_rewards_and_names() -> None:
    kept, awaited = AssayReward("math@1", {}), AsyncAssayReward("math", {}, name="maths")
    assert (kept.__name__, awaited.__name__) == ("assay_math_1", "maths")
    assert inspect.iscoroutinefunction(awaited.__call__) and not inspect.iscoroutinefunction(kept.__call__)


def test_no_verdict_is_none_and_counted() -> None:
    def handler(item: dict[str, Any]) -> Any:
        return None if item["completion"] == "?" else 1.0

    reward = AssayReward("m", {}, url=Client(transport=MemoryTransport(handler)))
    rewards, logged = grpo(reward, ["x", "?"])
    assert rewards == [1.0, None]
    assert logged == {
        "assay_m/graded": 0.5,
        "assay_m/row_faults": 0.5,
        "assay_m/outages": 0.0,
        "assay_m/correct": 1.0,
        "assay_m/reason": ["equal", "no_verdict"],
    }


def test_conversations_with_tools_arrive_as_messages(served: Served) -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 2}}}
    told = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "add", "content": "4"},
        {"role": "assistant", "content": "4"},
    ]
    reward = AssayReward("exact", EXACT, url=served.url)
    prompts = [[{"role": "user", "content": "2+2?"}]] * 3
    plain = [[{"role": "assistant", "content": text}] for text in "45"]
    assert grpo(reward, [told, *plain], prompts, answer=["4"] * 3)[0] == [1.0, 1.0, 0.0]


def test_http_and_embedded_give_the_same_rewards(served: Served) -> None:
    for url in (served.url, "embedded:"):
        reward = AssayReward("exact", EXACT, url=url, **({"lanes": 1} if url == "embedded:" else {}))
        assert grpo(reward, ["4", "5", "4"], answer=["4", "4", None])[0] == [1.0, 0.0, None]


def test_a_pickled_reward_scores(served: Served) -> None:
    for kind in (AssayReward, AsyncAssayReward):
        reward = pickle.loads(pickle.dumps(kind("exact", EXACT, url=served.url)))
        assert grpo(reward, ["4"], answer=["4"])[0] == [1.0]
        assert reward.__name__ == "assay_exact"


def test_a_partial_scores(served: Served) -> None:
    assert grpo(partial(AssayReward("exact", EXACT, url=served.url)), ["4"], answer=["4"])[0] == [1.0]


def test_each_row_may_name_its_verifier(served: Served) -> None:
    reward = AssayReward("{task}", "{spec!json}", url=served.url)
    spec = '{"mode": "string", "gold": "4", "extract": "whole"}'
    assert grpo(reward, ["4", "4"], task=["exact", "nothing"], spec=[spec, spec])[0] == [1.0, None]


def test_the_environments_state_can_be_scored() -> None:
    transport = MemoryTransport(lambda item: float(item["final_state"] == {"n": 1}))
    state = {"final_state": lambda row: row["environment"].state}
    reward = AssayReward("state", {}, fields=state, url=Client(transport=transport))
    environments = [SimpleNamespace(state={"n": n}) for n in (1, 2)]
    assert grpo(reward, ["", ""], environments=environments)[0] == [1.0, 0.0]


def test_the_prompt_and_the_step_can_be_sent() -> None:
    transport = MemoryTransport(lambda item: 1.0)
    grpo(AssayReward("m", {}, fields={"prompt": "{prompt}"}, url=Client(transport=transport)), ["c"], ["the prompt"])
    assert (transport.items[0]["prompt"], transport.items[0]["step"]) == ("the prompt", 3)


def test_a_misspelt_column_stops_the_run_at_its_start() -> None:
    with pytest.raises(ConfigurationError, match="columns are: answer, completion_ids, prompt"):
        grpo(AssayReward("m", {"answer": "{anser}"}, url="http://127.0.0.1:1"), ["c"], answer=["4"])


class Service:
    """A service that can be away."""

    def __init__(self) -> None:
        self.away = False

    def reward(self, **options: Any) -> AssayReward:
        return AssayReward(
            "m", {}, url=Client(transport=MemoryTransport(self.answer), tries=1), deadline_s=0.2, **options
        )

    def answer(self, item: dict[str, Any]) -> float:
        if self.away:
            raise ServiceUnavailable("gone")
        return 1.0


def test_an_outage_abstains_and_then_the_run_goes_on() -> None:
    service = Service()
    reward = service.reward()
    assert grpo(reward, ["a"])[0] == [1.0]
    service.away = True
    rewards, logged = grpo(reward, ["a"])
    assert rewards == [None] and logged["assay_m/outages"] == 1.0
    assert "assay_m/correct" not in logged, "a share of nothing is not 0"
    service.away = False
    assert grpo(reward, ["a"])[0] == [1.0]


def test_batches_without_a_verdict_in_a_row_end_the_run() -> None:
    service = Service()
    reward = service.reward(max_ungraded_batches=2)
    for _ in range(2):
        service.away = False
        assert grpo(reward, ["a"])[0] == [1.0]
        service.away = True
        assert grpo(reward, ["a"])[0] == [None]
    with pytest.raises(Ungraded, match="1 of 1 completions have no verdict"):
        grpo(reward, ["a"])


def test_a_service_that_is_not_there_is_an_error_at_the_first_batch() -> None:
    service = Service()
    service.away = True
    with pytest.raises(Ungraded, match="2 of 2"):
        grpo(service.reward(), ["a", "b"])


def test_two_rewards_of_one_verifier_have_names_of_their_own() -> None:
    first, second = Service().reward(), Service().reward()
    assert (first.__name__, second.__name__) == ("assay_m", "assay_m_2")
    del first
    assert Service().reward().__name__ == "assay_m"


def test_a_server_that_stops_in_the_middle_abstains_until_it_is_back() -> None:
    server = Served()
    reward = AssayReward("exact", EXACT, url=server.url, deadline_s=30, tries=1)
    assert grpo(reward, ["4"], answer=["4"])[0] == [1.0]
    server.stop()
    reward._scorer._deadline_s = 0.5
    assert grpo(reward, ["4"], answer=["4"])[0] == [None]
    reward._scorer._deadline_s = 30
    server.start()
    try:
        assert grpo(reward, ["4"], answer=["4"])[0] == [1.0]
    finally:
        server.stop()


def test_groups_are_places_in_the_batch_where_the_policy_asks_for_them() -> None:
    """Two rows of one prompt are two groups."""

    def handler(item: dict[str, Any]) -> Any:
        return None if item["completion"] == "?" else 1.0

    policy = AbstainPolicy(row="constant", outage="raise")
    url = Client(transport=MemoryTransport(handler))
    reward = AssayReward("m", {}, policy=policy, url=url, num_generations=2)
    assert grpo(reward, ["a", "?", "b", "c"], ["p"] * 4)[0] == [0.5, 0.5, 1.0, 1.0]
    with pytest.raises(ConfigurationError, match="3 completions are not whole groups of num_generations = 2"):
        grpo(reward, ["a", "b", "c"])
    with pytest.raises(ConfigurationError, match="need num_generations"):
        AssayReward("m", {}, policy=policy, url=url)


def test_importing_an_adapter_imports_no_trainer() -> None:
    code = "import sys, assay.trainer_adapter.trl; print(sorted({'trl', 'torch', 'numpy', 'verl'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
