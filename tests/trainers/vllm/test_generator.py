"""The bundled loop with a real vLLM server as its generator: token ids, weights that follow, and a killed server."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompt
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.servers import GeneratorFailed, ServerGenerator
from assay.trainer_adapter.grpo.run import checkpoint
from assay.trainer_adapter.grpo.run.command import _filled, read
from assay.trainer_adapter.grpo.run.config import GeneratorSettings, Run
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._vllm import Vllm

STEPS = 3


def run_of(paths: dict[str, str], server: Vllm, *overrides: str) -> Run:
    small = [
        f"steps={STEPS}", "rollout.prompts=8", "rollout.group=4", "eval.every=0", "checkpoint.every=1",
        "optimizer.lr=0.002", "optimizer.warmup_steps=0", "optimizer.schedule=constant", "generator.kind=vllm",
        f"generator.url={server.url}",
    ]  # fmt: skip
    return _filled(read("demo", [*small, *overrides]), paths)


def trainer_logps(policy: Policy, ids: list[int]) -> list[float]:
    """Return the log-prob that the trainer's weights give every token of `ids` but the first."""
    with torch.no_grad():
        every = torch.log_softmax(policy.model(input_ids=torch.tensor([ids])).logits.float(), -1)[0]
    return [float(every[place, one]) for place, one in enumerate(ids[1:])]


class Synced(Training):
    """A run that asks the server, after each update, for the log-probs of a fixed text."""

    def watch(self, server: Vllm) -> list[list[float]]:
        """Record the server's log-probs from now on, and check each against the trainer's."""
        ids, seen, sync = self.policy.tokenizer("2+3=5")["input_ids"], list[list[float]](), self._generator.sync

        def follow(version: int) -> None:
            sync(version)
            seen.append(server.prompt_logprobs(ids))
            assert seen[-1] == pytest.approx(trainer_logps(self.policy, ids), abs=1e-4)

        self._generator.sync = follow  # type: ignore[method-assign]
        return seen


def test_samples_are_token_ids_with_the_log_probs_of_the_sampled_distribution(
    server: Vllm, paths: dict[str, str]
) -> None:
    policy = Policy.load(run_of(paths, server, "generator.sync=vllm_reload").model)
    settings = GeneratorSettings(kind="vllm", url=server.url, sync="vllm_reload")
    draws = [Draw(at, Prompt({}, said, tuple(policy.tokenizer(said)["input_ids"]))) for at, said in enumerate("12")]
    found: list[Sample] = []
    how = Sampling(samples=4, max_tokens=6, temperature=0.7, seed=1)
    ServerGenerator(settings, policy, Path("/nonexistent")).run(draws, how, found.append, lambda _: False)
    assert len(found) == 8 and len({tuple(one.ids) for one in found}) > 1
    for one in found:
        prompt = list(draws[one.draw].prompt.ids)
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([prompt + one.ids])).logits.float()[0] / 0.7
        every = torch.log_softmax(logits, -1)
        want = [float(every[len(prompt) - 1 + place, token]) for place, token in enumerate(one.ids)]
        assert one.logps == pytest.approx(want, abs=1e-4)
        assert one.truncated == (one.ids[-1] not in policy.end_ids)


def test_the_servers_weights_change_with_every_update_and_its_log_probs_follow(
    server: Vllm, paths: dict[str, str], tmp_path: Path
) -> None:
    training = Synced(run_of(paths, server, "generator.sync=vllm_reload"), tmp_path, quiet=True)
    seen = training.watch(server)
    training.train()
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert len(seen) == STEPS + 1 and all(line["updates"] >= 1 for line in lines)
    moved = [max(abs(a - b) for a, b in zip(one, other, strict=True)) for one, other in itertools.pairwise(seen)]
    assert all(change > 1e-3 for change in moved)
    assert all(line["ess_token"] > 0.999 and line["kl_rollout"] < 1e-5 for line in lines)


def test_a_server_whose_weights_stay_shows_in_the_figures(server: Vllm, paths: dict[str, str], tmp_path: Path) -> None:
    """The control of the test above: the same run without `sync`."""
    run = run_of(paths, server, "generator.sync=none", "algorithm.correction=token_truncate")
    Training(run, tmp_path, quiet=True).train()
    last: dict[str, Any] = list(read_lines(tmp_path / "metrics.jsonl"))[-1]
    assert last["kl_rollout"] > 1e-3 and math.isfinite(last["kl_rollout"])


def test_a_killed_server_ends_the_run_and_a_resumed_run_sends_its_weights_again(
    server: Vllm, paths: dict[str, str], tmp_path: Path
) -> None:
    training = Synced(run_of(paths, server, "generator.sync=vllm_reload"), tmp_path, quiet=True)
    sync = training._generator.sync

    def killed(version: int) -> None:
        sync(version)
        if version == 2:
            server.kill()

    training._generator.sync = killed  # type: ignore[method-assign]
    with pytest.raises(GeneratorFailed, match="ConnectError"):
        training.train()
    assert checkpoint.list_all(tmp_path)[-1].name == "step-000002"
    server.start()  # from the folder of step 0
    resumed = Synced(run_of(paths, server, "generator.sync=vllm_reload"), tmp_path, resume=True, quiet=True)
    assert len(resumed.watch(server)) == 0
    resumed.train()
    lines = list(read_lines(tmp_path / "metrics.jsonl"))
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert lines[-1]["ess_token"] > 0.999 and lines[-1]["kl_rollout"] < 1e-5
