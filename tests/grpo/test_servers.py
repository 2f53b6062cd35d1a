"""Generators that are servers, against a small one that samples from a real model."""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompt
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.servers import GeneratorFailed, ServerGenerator
from assay.trainer_adapter.grpo.run.config import GeneratorSettings, Thinking
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._server import Served
from ._tiny import policy_of, run_of


@pytest.fixture
def served(paths: dict[str, str]) -> Iterator[Served]:
    one = Served(paths)
    yield one
    one.close()


@pytest.fixture(scope="module")
def policy(paths: dict[str, str]) -> Policy:
    return policy_of(paths)


def sample(served: Served, policy: Policy, kind: str, *, enough: Any = lambda _: False, **how: Any) -> list[Sample]:
    settings = {name: how.pop(name) for name in ("logprobs", "sync") if name in how}
    generator = ServerGenerator(
        GeneratorSettings(kind=kind, url=served.url, **settings), policy, Path("/nonexistent")  # type: ignore[arg-type]
    )  # fmt: skip
    draws = [
        Draw(at, Prompt({}, text, tuple(policy.tokenizer(text)["input_ids"])))
        for at, text in enumerate(["3+4=", "1+1="])
    ]
    found: list[Sample] = []
    generator.run(
        draws, Sampling(**{"samples": 3, "max_tokens": 4, "temperature": 1.0, "seed": 1, **how}), found.append, enough
    )
    return sorted(found, key=lambda one: (one.draw, one.index))


@pytest.mark.parametrize("kind", ["openai", "vllm", "sglang"])
def test_completions_come_as_ids_and_text(kind: str, served: Served, policy: Policy) -> None:
    found = sample(served, policy, kind)
    assert [(one.draw, one.index) for one in found] == [(draw, index) for draw in (0, 1) for index in range(3)]
    for one in found:
        assert one.text == policy.tokenizer.decode(one.ids, skip_special_tokens=True) and all(one.mask)
        assert one.truncated == (one.ids[-1] not in policy.end_ids) and len(one.logps) == len(one.ids)
    assert any(math.isnan(one.logps[0]) for one in found) == (kind == "openai")


def test_the_same_seed_gives_the_same_completions_on_every_kind(served: Served, policy: Policy) -> None:
    vllm, sglang = (sample(served, policy, kind) for kind in ("vllm", "sglang"))
    assert [one.ids for one in vllm] == [one.ids for one in sglang]


def test_raw_log_probs_of_another_temperature_count_as_missing(served: Served, policy: Policy) -> None:
    """fault 10: vLLM's raw log-probs ignore the temperature."""
    warm = sample(served, policy, "vllm", temperature=0.7, logprobs="raw")
    assert all(math.isnan(logp) for one in warm for logp in one.logps)
    assert not any(math.isnan(logp) for one in sample(served, policy, "vllm", logprobs="raw") for logp in one.logps)


@pytest.mark.parametrize("kind", ["openai", "vllm", "sglang"])
def test_the_whole_distribution_is_asked_for(kind: str, served: Served, policy: Policy) -> None:
    """A server's defaults are a model's generation_config: top_k 20, a repetition penalty of 1.05 and the like."""
    sample(served, policy, kind)
    plain = {"top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    more = {"repetition_penalty": 1.0, "min_p": 0.0, "top_k": -1}
    for body in served.bodies:
        said = body.get("sampling_params", body)
        assert said.items() >= (plain if kind == "openai" else {**plain, **more}).items()
        assert kind != "openai" or not more.keys() & said.keys(), "a plain server refuses what it does not know"


def test_a_server_that_recovers_is_asked_again_and_one_that_does_not_ends_the_run(
    served: Served, policy: Policy
) -> None:
    served.fail = 2
    assert len(sample(served, policy, "vllm")) == 6
    served.fail = 10_000
    with pytest.raises(GeneratorFailed, match="status 503"):
        sample(served, policy, "vllm")


def test_a_refusal_is_not_tried_again(served: Served, policy: Policy) -> None:
    served.answer = lambda *_: (400, {})  # type: ignore[method-assign]
    with pytest.raises(GeneratorFailed, match="refused with status 400"):
        sample(served, policy, "vllm")


def test_stragglers_requests_are_cancelled(served: Served, policy: Policy) -> None:
    served.slow = {0, 1, 2}
    start = time.monotonic()
    assert sample(served, policy, "vllm", enough=lambda _: True) == []
    assert time.monotonic() - start < 30
    until = time.monotonic() + 20
    while (
        served.dropped < len([path for path in served.calls if path == "/v1/completions"]) and time.monotonic() < until
    ):
        time.sleep(0.02)
    assert served.dropped >= len(served.calls)


def test_a_thinking_budget_continues_after_what_was_written_in_the_models_place(served: Served, policy: Policy) -> None:
    found = sample(
        served, policy, "vllm", thinking=Thinking(budget=1, prefilled=True, end="=", close="-=-"), max_tokens=6
    )
    close = policy.tokenizer("-=-")["input_ids"]
    forced = [one for one in found if len(one.ids) > 1]
    assert forced and all(one.ids[1:4] == close and one.mask[:4] == [True, False, False, False] for one in forced)


def test_adapters_are_needed_where_adapters_are_sent(served: Served, policy: Policy) -> None:
    with pytest.raises(ConfigurationError, match=r"model\.lora"):
        ServerGenerator(GeneratorSettings(kind="vllm", sync="vllm_lora"), policy, Path("/tmp"))


@pytest.mark.timeout(600)
def test_a_run_on_a_server_stays_on_policy_because_its_weights_follow(
    served: Served, paths: dict[str, str], tmp_path: Path
) -> None:
    overrides = [
        "generator.kind=sglang", f"generator.url={served.url}", "eval.every=0", "steps=3", "optimizer.lr=0.01",
        "optimizer.warmup_steps=0", "checkpoint.every=0",
    ]  # fmt: skip
    Training(run_of(paths, *overrides, "generator.sync=sglang_disk"), tmp_path / "synced", quiet=True).train()
    assert served.calls.count("/update_weights_from_disk") == 4, "once before the first step"
    synced = read_lines(tmp_path / "synced" / "metrics.jsonl")
    assert all(line["ess_token"] > 0.999 and line["kl_rollout"] < 1e-5 for line in synced)
    stale_run = run_of(paths, *overrides, "algorithm.correction=token_truncate")
    Training(stale_run, tmp_path / "stale", quiet=True).train()
    stale = read_lines(tmp_path / "stale" / "metrics.jsonl")
    assert stale[-1]["kl_rollout"] > 1e-3 and stale[-1]["ess_token"] < 0.999
