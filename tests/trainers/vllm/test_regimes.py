"""The async regimes on a real vLLM server: weights while requests run, cancelled requests, a server that is killed."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._vllm import Vllm
from .test_generator import run_of, trainer_logps

ASYNC = ["generator.sync=vllm_reload", "regime.kind=async", "regime.lag=2", "steps=6"]


def check(training: Training, server: Vllm, out: Path, *, steps: int) -> list[dict[str, Any]]:
    """The lag's bound, and that the server has the weights of the last step."""
    lines = list(read_lines(out / "metrics.jsonl"))
    assert [line["step"] for line in lines] == list(range(1, steps + 1))
    assert all(line["data_lag_max"] <= 2 and line["groups_trained"] == 8 and line["outages"] == 0 for line in lines)
    assert any(line["data_lag_mean"] > 0 for line in lines)
    ids = training.policy.tokenizer("2+3=5")["input_ids"]
    assert server.prompt_logprobs(ids) == pytest.approx(trainer_logps(training.policy, ids), abs=1e-4)
    return lines


@pytest.mark.parametrize("in_flight", ["finish", "swap", "abort"])
def test_weights_are_updated_while_requests_run(
    in_flight: str, server: Vllm, paths: dict[str, str], tmp_path: Path
) -> None:
    training = Training(run_of(paths, server, *ASYNC, f"regime.in_flight={in_flight}"), tmp_path, quiet=True)
    training.train()
    lines = check(training, server, tmp_path, steps=6)
    assert sum(line["publications"] for line in lines) == 6


def test_samples_of_the_current_version_have_the_trainers_log_probs(
    server: Vllm, paths: dict[str, str], tmp_path: Path
) -> None:
    """Batches without lag are on-policy: whatever was sampled in flight was sampled with the weights it names."""
    run = run_of(paths, server, *ASYNC, "regime.in_flight=finish", "steps=4")
    Training(run, tmp_path, quiet=True).train()
    fresh = [line for line in read_lines(tmp_path / "metrics.jsonl") if line["data_lag_max"] == 0]
    assert fresh and all(line["ess_token"] > 0.999 and line["kl_rollout"] < 1e-5 for line in fresh)


def test_adapters_are_updated_while_requests_run(server: Vllm, paths: dict[str, str], tmp_path: Path) -> None:
    server.reset()
    lora = ["generator.sync=vllm_lora", "model.lora={rank = 4, alpha = 8}", "optimizer.lr=0.01"]
    training = Training(run_of(paths, server, *ASYNC, *lora), tmp_path, quiet=True)
    training.train()
    lines = list(read_lines(tmp_path / "metrics.jsonl"))
    assert len(lines) == 6 and all(line["data_lag_max"] <= 2 for line in lines)
    ids = training.policy.tokenizer("2+3=5")["input_ids"]
    seen = server.prompt_logprobs(ids, model="policy-6")
    assert seen == pytest.approx(trainer_logps(training.policy, ids), abs=1e-3)
    assert max(abs(a - b) for a, b in zip(seen, server.prompt_logprobs(ids), strict=True)) > 1e-3, "the base stays"


@pytest.mark.timeout(900)
def test_a_server_that_is_killed_in_a_run_is_waited_for_and_gets_the_weights(
    server: Vllm, paths: dict[str, str], tmp_path: Path
) -> None:
    run = run_of(paths, server, *ASYNC, "generator.timeout_s=500", "steps=8")
    training = Training(run, tmp_path, quiet=True)
    publish = training.rollouts.publish
    restarts: list[threading.Thread] = []

    def restart() -> None:
        time.sleep(3)
        server.start()  # from the folder of step 0

    def killed(step: int) -> None:
        publish(step)
        if step == 3:
            server.kill()
            restarts.append(threading.Thread(target=restart))
            restarts[0].start()

    training.rollouts.publish = killed  # type: ignore[method-assign]
    training.train()
    restarts[0].join()
    check(training, server, tmp_path, steps=8)
