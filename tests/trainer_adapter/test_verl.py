"""verl's calls: keyword arguments, one sample each, thousands concurrently; fixed keys, finite numbers."""

import asyncio
import inspect
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.client import Client, ConfigurationError, MemoryTransport, ServiceUnavailable
from assay.trainer_adapter import verl
from assay.trainer_adapter.missing import Stopped
from assay.trainer_adapter.single import KEYS

from .conftest import EXACT, Served

TRUTH = {**EXACT, "gold": "{ground_truth}"}


def score(compute: Any, solution: str, truth: Any = "4", **more: Any) -> Any:
    call = compute(
        data_source="d", solution_str=solution, ground_truth=truth, extra_info={"index": 0, "num_turns": None}, **more
    )
    return asyncio.run(call)


def memory(handler: Any, **settings: Any) -> Any:
    return verl.make_compute_score("m", url=Client(transport=MemoryTransport(handler), tries=1), **settings)


def test_verl_sees_a_coroutine_function() -> None:
    assert inspect.iscoroutinefunction(verl.compute_score)
    assert inspect.iscoroutinefunction(memory(lambda item: 1.0))


def test_one_sample_gets_its_score_under_fixed_keys(served: Served) -> None:
    settings = {"verifier": "exact", "reference": TRUTH, "url": served.url}
    told = score(verl.compute_score, "4", **settings, reward_router_address=None, reward_model_tokenizer=None)
    assert told == {"score": 1.0, "acc": 1.0, "graded": 1.0, "row_fault": 0.0, "outage": 0.0, "reason": "equal"}
    assert score(verl.compute_score, "5", **settings)["score"] == 0.0


def test_every_sample_has_the_same_keys_and_a_finite_score() -> None:
    answers = [1.0, 0.0, 0.25, None, {"reward": -3.5, "score": None}]
    compute = memory(lambda item: answers[int(item["completion"])])
    told = [score(compute, str(index)) for index in range(len(answers))]
    assert {tuple(one) for one in told} == {KEYS}
    assert all(math.isfinite(value) for one in told for value in one.values() if not isinstance(value, str))


def test_a_row_at_fault_is_a_counted_constant() -> None:
    told = score(memory(lambda item: None), "x")
    assert (told["score"], told["graded"], told["row_fault"]) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"verifier": "exact", "deadline": 60, "url": "http://127.0.0.1:9"},
        {"verifier": "exact", "deadline_s": "long"},
        {"verifier": "exact", "more": {"a": 1}},
        {"verifier": "exact", "url": "http://127.0.0.1:99999"},
    ],
)
def test_a_misspelt_setting_stops_the_run_under_every_manager(settings: dict[str, Any]) -> None:
    with pytest.raises(Stopped):
        score(verl.compute_score, "4", **settings)


def test_a_fault_of_a_users_function_stops_the_run_too() -> None:
    with pytest.raises(Stopped, match="KeyError"):
        score(memory(lambda item: 1.0, reference=lambda row: row["extra_info"]["no such"]), "4")


def test_a_ground_truth_that_cannot_be_sent_is_the_rows_fault() -> None:
    told = score(memory(lambda item: 1.0, reference="{ground_truth!json}"), "x", "{not json")
    assert (told["graded"], told["reason"]) == (0.0, "invalid_item")


def test_an_outage_is_raised_at_the_deadline() -> None:
    def down(item: dict[str, Any]) -> Any:
        raise ServiceUnavailable("gone")

    with pytest.raises(Stopped, match="1 of 1"):
        score(memory(down, deadline_s=0.2), "x")


def test_zero_for_an_outage_is_counted_where_asked_for() -> None:
    def down(item: dict[str, Any]) -> Any:
        raise ServiceUnavailable("gone")

    told = score(memory(down, deadline_s=0.2, outage="zero"), "x")
    assert (told["score"], told["graded"], told["outage"]) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("settings", [{"row_fault": "abstain"}, {"outage": "abstain"}, {"outage": "mean"}])
def test_settings_that_verl_cannot_support_are_refused_at_the_start(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="only numbers"):
        memory(lambda item: 1.0, **settings)


def test_a_thousand_samples_at_once_over_http_keep_their_order(served: Served) -> None:
    settings = {"verifier": "exact", "reference": TRUTH, "url": served.url}

    async def batch() -> list[Any]:
        calls = (verl.compute_score("d", str(n % 8), "4", {}, **settings) for n in range(1024))
        return await asyncio.gather(*calls)

    assert [told["score"] for told in asyncio.run(batch())] == [float(n % 8 == 4) for n in range(1024)]


def test_numbers_of_other_libraries_are_accepted(served: Served) -> None:
    class Kind(dict[str, Any]):
        """A mapping of OmegaConf's kind."""

    settings = {"verifier": "exact", "reference": Kind(TRUTH), "url": served.url}
    assert score(verl.compute_score, "4", **settings)["score"] == 1.0


class Ids(list[int]):
    """Token ids with the interface of a tensor."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, key: Any) -> Any:
        return Ids(super().__getitem__(key)) if isinstance(key, slice) else super().__getitem__(key)

    def sum(self) -> int:
        return sum(self)


def test_the_manager_adds_the_prompt_and_changes_no_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base class imitates verl's; `make test-trainers` uses the real one."""

    class RewardManagerBase:
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any) -> None:
            self.tokenizer, self.compute_score = tokenizer, compute_score
            self.loop = asyncio.get_event_loop()

    names = [
        "verl",
        "verl.experimental",
        "verl.experimental.reward_loop",
        "verl.experimental.reward_loop.reward_manager",
    ]
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    base = ModuleType(f"{names[-1]}.base")
    base.RewardManagerBase = RewardManagerBase  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, base.__name__, base)
    transport = MemoryTransport(lambda item: 1.0)
    compute = verl.make_compute_score(
        "m", fields={"prompt": "{prompt}", "completion_ids": "{completion_ids}"}, url=Client(transport=transport)
    )
    fields = {
        "data_source": "d",
        "reward_model": {"ground_truth": "4"},
        "extra_info": {"index": 1},
        "raw_prompt": [{"role": "user", "content": "2+2?"}],
    }
    sample = SimpleNamespace(
        batch={"responses": Ids([52, 0, 0]), "attention_mask": Ids([1, 1, 1, 0, 0])}, non_tensor_batch=fields
    )
    tokenizer = SimpleNamespace(decode=lambda ids, skip_special_tokens: "".join(map(chr, ids)))

    async def run() -> Any:
        return await verl.AssayRewardManager(None, tokenizer, compute).run_single([sample])

    told = asyncio.run(run())
    assert told["reward_score"] == 1.0 and tuple(told["reward_extra_info"]) == KEYS
    (item,) = transport.items
    assert (item["completion"], item["prompt"], item["completion_ids"]) == ("4", fields["raw_prompt"], [52])
    assert item["reference"] == {"answer": "4"} and fields["extra_info"] == {"index": 1}
    monkeypatch.delitem(vars(verl), "AssayRewardManager")
