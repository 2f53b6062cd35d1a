"""Async regimes with worker processes: bounded lag, exact accounts, workers that are killed."""

import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.buffer import Buffer, Pacing
from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.pool.continuous import ContinuousGenerator
from assay.trainer_adapter.grpo.regime.rollouts import FILE
from assay.trainer_adapter.grpo.rollout.data import load_prompts
from assay.trainer_adapter.grpo.rollout.generate import LocalGenerator
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.run.assemble import sampling_of
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.identity import fingerprint
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import policy_of, run_of

ASYNC = ["regime.kind=async", "eval.every=0", "steps=6", "checkpoint.every=3", "threads=1"]


def accounts(run: Run, out: Path) -> Counter[str]:
    buffer = Buffer(
        out / FILE, pacing=Pacing(batch=run.rollout.prompts, lag=run.regime.lag), fingerprint=fingerprint(run)
    )
    found = Counter(buffer.accounts())
    assert sum(found.values()) == buffer.next_number, "each draw has one end"
    buffer.close()
    return found


def train(run: Run, out: Path, **options: Any) -> list[dict[str, Any]]:
    Training(run, out, quiet=True, **options).train()
    return read_lines(out / "metrics.jsonl")


# --- continuous generation ------------------------------------------------------------------------


def samples_by(
    paths: dict[str, str], slots: int
) -> tuple[dict[tuple[int, int], Sample], dict[tuple[int, int], Sample]]:
    run, policy = run_of(paths, "rollout.max_tokens=6"), policy_of(paths)
    prompts = load_prompts(run.data.train, run.data, policy.tokenizer, seed=0)
    draws = [prompts.draw(number) for number in range(9)]
    chunks: dict[tuple[int, int], Sample] = {}
    LocalGenerator(policy, batch=64).run(
        draws, sampling_of(run), lambda one: chunks.update({(one.draw, one.index): one}), lambda draw: False
    )
    generator, found = ContinuousGenerator(policy, sampling_of(run), slots=slots), {}
    for draw in draws:
        generator.add(draw.number, draw.prompt.ids)
    while generator.busy:
        found.update({(one.draw, one.index): one for one in generator.step()})
    return chunks, found


@pytest.mark.parametrize("slots", [1, 3, 7, 100])
def test_continuous_generation_samples_what_chunks_sample(slots: int, paths: dict[str, str]) -> None:
    chunks, found = samples_by(paths, slots)
    assert found.keys() == chunks.keys() and len(found) == 36
    for place, one in found.items():
        assert (one.ids, one.text, one.truncated) == (chunks[place].ids, chunks[place].text, chunks[place].truncated)
        assert one.logps == pytest.approx(chunks[place].logps, abs=1e-4)
        assert one.spans == [(0, one.tokens)]


@pytest.mark.parametrize("recompute", [False, True])
def test_weights_that_change_between_tokens_are_recorded_per_token(
    recompute: bool, paths: dict[str, str], tmp_path: Path
) -> None:
    run, policy = run_of(paths, "rollout.max_tokens=6"), policy_of(paths)
    other = policy_of(paths)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1.5)
    other.save(tmp_path / "version-1")
    prompts = load_prompts(run.data.train, run.data, policy.tokenizer, seed=0)
    generator = ContinuousGenerator(policy, sampling_of(run), slots=8)
    for number in range(2):
        generator.add(number, prompts.draw(number).prompt.ids)
    found = generator.step()
    generator.load(tmp_path / "version-1", 1, recompute=recompute)
    while generator.busy:
        found += generator.step()
    spans = [one.spans for one in found]
    assert len(found) == 8 and any([version for version, _ in span] == [0, 1] for span in spans)
    assert all(sum(count for _, count in one.spans) == one.tokens for one in found)


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
@pytest.mark.parametrize("in_flight", ["finish", "swap", "abort"])
def test_no_token_trains_beyond_the_lag_and_every_draw_ends_once(
    in_flight: str, paths: dict[str, str], tmp_path: Path
) -> None:
    run = run_of(paths, *ASYNC, "regime.lag=2", f"regime.in_flight={in_flight!r}", "regime.workers=2")
    got = train(run, tmp_path)
    assert [line["step"] for line in got] == [1, 2, 3, 4, 5, 6]
    assert all(line["data_lag_max"] <= 2 and line["groups_trained"] == 8 for line in got)
    assert any(line["data_lag_max"] > 0 for line in got), "generation went on while the trainer computed"
    found = accounts(run, tmp_path)
    assert found["trained"] == 48 and set(found) <= {"trained", "returned"}


@pytest.mark.timeout(600)
def test_fully_async_never_waits_and_drops_the_oldest(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, *ASYNC, "regime.kind=fully_async", "regime.capacity=8", "regime.lag=4")
    got = train(run, tmp_path)
    assert len(got) == 6 and all(line["data_lag_max"] <= 4 for line in got)
    found = accounts(run, tmp_path)
    assert found["trained"] == 48 and set(found) <= {"trained", "returned", "dropped:overflow", "dropped:stale"}


@pytest.mark.timeout(900)
def test_a_killed_worker_costs_no_group_and_in_sync_not_a_bit(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "eval.every=0", "steps=6", "regime.workers=2", "threads=1")
    want = train(run, tmp_path / "calm")
    training = Training(run, tmp_path / "killed", quiet=True)
    over = threading.Event()

    def kill() -> None:
        """Kill a worker after each further sample: workers that never get to one end the run."""
        pool: Any = training.rollouts.pool
        seen = -1
        while not over.wait(0.3):
            if pool.tokens > seen and (processes := pool.processes):
                seen = pool.tokens
                os.kill(processes[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        training.train()
    finally:
        over.set()
        killer.join()
    got = read_lines(tmp_path / "killed" / "metrics.jsonl")
    assert training.rollouts.pool.restarts > 0  # type: ignore[attr-defined]
    assert [(line["reward_mean"], line["length_mean"]) for line in got] == [
        (line["reward_mean"], line["length_mean"]) for line in want
    ]
    assert accounts(run, tmp_path / "killed")["trained"] == 48


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["regime.lag=1"], "lag is 0 in the sync regime"),
        (["regime.kind=async", "regime.lag=0"], "lag of 1 or more"),
        (["regime.kind=async", "regime.publish_every=3"], "publish_every is above lag"),
        (["regime.kind=async", "regime.capacity=9"], "capacity is of fully_async"),
        (["regime.kind=fully_async", "regime.capacity=2"], "regime.capacity is below"),
        (["regime.kind=async", "regime.workers=0"], "between updates"),
    ],
)
def test_settings_that_cannot_work_are_refused(overrides: list[str], message: str, paths: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run_of(paths, *overrides)
