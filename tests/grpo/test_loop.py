"""The whole loop on a tiny model, with rewards from Assay's own `exact` verifier in this process."""

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.objective.batch import Entry
from assay.trainer_adapter.grpo.run import checkpoint
from assay.trainer_adapter.grpo.run.command import execute, read
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.evaluation import Alarm, pass_at_k
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines
from assay.trainer_adapter.grpo.run.report import mean_of, page
from assay.trainer_adapter.grpo.run.update import learning_rate
from assay.trainer_adapter.missing import Ungraded

from ._tiny import judge_of, outage, policy_of, run_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),  # peft 0.21 asks it
]


def lines(out: Path, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    """What a run wrote, without times."""
    return [{k: v for k, v in line.items() if not k.endswith(("_s", "_ms"))} for line in read_lines(out / name)]


def weights(out: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    (file,) = checkpoint.list_all(out)[-1].glob("*model.safetensors")
    return load_file(file)


def train(run: Run, out: Path, **options: Any) -> list[dict[str, Any]]:
    Training(run, out, quiet=True, **options).train()
    return lines(out)


@pytest.fixture(scope="module")
def base(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of four steps that others are compared with."""
    out = tmp_path_factory.mktemp("base")
    train(run_of(paths), out)
    yield out


def test_a_run_leaves_what_it_promises(base: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    steps, evals = lines(base), lines(base, "evals.jsonl")
    assert [line["step"] for line in steps] == [1, 2, 3, 4] and [line["step"] for line in evals] == [0, 2, 4]
    assert all(0 <= line["reward_mean"] <= 1 and line["graded"] == 1.0 for line in steps)
    assert (base / "curve.png").read_bytes().startswith(b"\x89PNG") and (base / "report.html").stat().st_size > 5000
    board = EventAccumulator(str(base / "tensorboard"))
    board.Reload()
    assert [event.step for event in board.Scalars("train/reward_mean")] == [1, 2, 3, 4]
    assert [event.value for event in board.Scalars("eval/pass@1")] == pytest.approx([e["pass@1"] for e in evals])
    assert len(checkpoint.list_all(base)) == 2 and len(lines(base, "rollouts.jsonl")) == 16
    assert all(line["updates"] == 1 for line in steps), "a window without live groups shows nothing"


def test_every_metric_is_finite_and_every_ratio_of_a_fresh_sample_is_one(base: Path) -> None:
    for line in lines(base):
        assert all(math.isfinite(value) for value in line.values() if isinstance(value, float))
        assert line["ess_token"] == pytest.approx(1.0, abs=1e-4) and line["kl_rollout"] < 1e-6


def test_the_same_run_gives_the_same_numbers(paths: dict[str, str], base: Path, tmp_path: Path) -> None:
    assert train(run_of(paths), tmp_path) == lines(base)
    assert all(torch.equal(value, weights(base)[name]) for name, value in weights(tmp_path).items())


@pytest.mark.timeout(600)
def test_killed_and_resumed_a_run_gives_the_same_numbers(paths: dict[str, str], base: Path, tmp_path: Path) -> None:
    """SIGKILL after the checkpoint of step 2, wherever the run then is."""
    out = tmp_path / "run"
    config = tmp_path / "run.json"
    config.write_text(run_of(paths).model_dump_json())
    code = (
        "import sys, pathlib, torch; from assay.trainer_adapter.grpo.run.config import Run\n"
        "from assay.trainer_adapter.grpo.run.loop import Training\n"
        "torch.set_num_threads(1)\n"
        "run = Run.model_validate_json(pathlib.Path(sys.argv[1]).read_text())\n"
        "Training(run, pathlib.Path(sys.argv[2]), quiet=True).train()"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(config), str(out)]) as victim:
        while not checkpoint.list_all(out) and victim.poll() is None:
            time.sleep(0.002)
        victim.send_signal(signal.SIGKILL)
    assert victim.returncode in (-signal.SIGKILL, 0)
    with pytest.raises(ConfigurationError, match="--resume"):
        train(run_of(paths), out)
    assert train(run_of(paths), out, resume=True) == lines(base)
    assert lines(out, "evals.jsonl") == lines(base, "evals.jsonl")
    assert lines(out, "rollouts.jsonl") == lines(base, "rollouts.jsonl")
    assert all(torch.equal(value, weights(base)[name]) for name, value in weights(out).items())


def test_a_run_is_not_resumed_under_another_configuration(paths: dict[str, str], tmp_path: Path) -> None:
    train(run_of(paths, "steps=2", "eval.every=0"), tmp_path)
    with pytest.raises(ConfigurationError, match="another configuration"):
        train(run_of(paths, "steps=2", "eval.every=0", "optimizer.lr=0.5"), tmp_path, resume=True)


@pytest.mark.parametrize("left", [1, 0])
def test_an_evaluation_after_a_resume_is_that_of_the_whole_run(
    left: int, paths: dict[str, str], tmp_path: Path
) -> None:
    """The checkpoint of step 2, or none, lies between the evaluations of steps 0 and 3: rewards before it count too."""
    run = run_of(paths, "eval.every=3", "steps=4")
    whole = train(run, tmp_path)
    evals = lines(tmp_path, "evals.jsonl")
    for folder in checkpoint.list_all(tmp_path)[left:]:
        shutil.rmtree(folder)
    assert train(run, tmp_path, resume=True) == whole
    assert lines(tmp_path, "evals.jsonl") == evals and [line["step"] for line in evals] == [0, 3, 4]
    assert evals[1]["reward_first"] == pytest.approx(mean_of(whole[:3], "reward_mean"))


VARIANTS = {
    "grpo with a reference": ["algorithm.name=grpo", "algorithm.beta=0.1"],
    "rloo with KL in the reward": ["algorithm.name=rloo", "algorithm.beta=0.05"],
    "gspo, several updates": ["algorithm.name=gspo", "optimizer.minibatches=2", "optimizer.epochs=2"],
    "dapo, corrected": ["algorithm.correction=token_truncate", "optimizer.minibatches=2"],
    "reinforce++": ["algorithm.name=reinforce_pp", "algorithm.beta=0.01"],
    "lora": ["model.lora={rank=4, alpha=8}", "algorithm.beta=0.1", "algorithm.name=grpo"],
    "lora, bfloat16": ["model.lora={rank=4, alpha=8}", "model.dtype=bfloat16"],
    "bfloat16": ["model.dtype=bfloat16"],
    "gradient checkpointing": ["model.gradient_checkpointing=true"],
    "kernels": ["model.backend=triton"],
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_trains_and_resumes(name: str, paths: dict[str, str], tmp_path: Path) -> None:
    small = ["steps=2", "eval.every=0", "checkpoint.every=1", *VARIANTS[name]]
    run = run_of(paths, *small)
    whole = train(run, tmp_path / "a")
    assert all(math.isfinite(line["loss"]) and line["updates"] > 0 for line in whole)
    train(run, tmp_path / "b")
    for path in sorted((tmp_path / "b" / "checkpoints").glob("*2")):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
    assert train(run, tmp_path / "b", resume=True) == whole


def test_the_kernels_train_as_torch_does(paths: dict[str, str], base: Path, tmp_path: Path) -> None:
    got = train(run_of(paths, "model.backend=triton", "steps=4"), tmp_path)
    for a, b in zip(got, lines(base), strict=True):
        assert a["loss"] == pytest.approx(b["loss"], abs=1e-4) and a["grad_norm"] == pytest.approx(
            b["grad_norm"], rel=1e-2
        )


def test_micro_batches_do_not_change_a_run(paths: dict[str, str], base: Path, tmp_path: Path) -> None:
    got = train(run_of(paths, "optimizer.micro_tokens=24"), tmp_path)
    assert got[0]["grad_norm"] == pytest.approx(lines(base)[0]["grad_norm"], rel=1e-4)
    assert [line["reward_mean"] for line in got] == [line["reward_mean"] for line in lines(base)]


# --- what is not computed -----------------------------------------------------------------------


def test_skipping_samples_without_gradient_changes_no_gradient(
    paths: dict[str, str], base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And `work_saved` is the share of training tokens that it saves."""
    saved = [line["work_saved"] for line in lines(base)]
    assert any(saved) and [line["zero_variance"] for line in lines(base)] == pytest.approx(saved, abs=0.1)

    def everything(self: Any, entry: Entry, advantage: float, live: bool) -> None:
        entry.advantage, entry.keep, entry.counted = advantage, True, True

    monkeypatch.setattr("assay.trainer_adapter.grpo.run.update.Learner.set_parts", everything)
    full = train(run_of(paths), tmp_path)
    assert [line["work_saved"] for line in full] == [0.0] * 4
    assert [line["grad_norm"] for line in full] == pytest.approx([line["grad_norm"] for line in lines(base)], rel=1e-4)


def test_dynamic_sampling_trains_on_live_groups_only_and_fills_the_batch(paths: dict[str, str], tmp_path: Path) -> None:
    got = train(
        run_of(paths, "algorithm.dynamic_sampling=true", "algorithm.max_rounds=6", "algorithm.over_sampling=1.5"),
        tmp_path,
    )
    for line in got:
        assert line["groups_trained"] == 8 and line["work_saved"] == pytest.approx(0.0)
        assert line["groups_drawn"] >= 12 and line["rounds"] >= 1
    assert any(line["zero_variance"] > 0 for line in got)


def test_a_step_without_a_live_group_is_no_update(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "eval.every=0", "steps=2", "algorithm.dynamic_sampling=true", "algorithm.max_rounds=1")
    training = Training(run, tmp_path, quiet=True)
    training.rollouts.scoring.scorer = judge_of(run, lambda item: 1.0)
    training.train()
    assert [(line["updates"], line["groups_trained"], line["zero_variance"]) for line in lines(tmp_path)] == [
        (0, 0, 1)
    ] * 2


def test_tied_weights_are_saved_and_restored(paths: dict[str, str], tmp_path: Path) -> None:
    policy = policy_of(paths)
    policy.model.config.tie_word_embeddings = True
    policy.model.tie_weights()
    policy.save(tmp_path)
    other = policy_of({**paths, "model.path": str(tmp_path)})
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.restore(tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(policy.parameters(), other.parameters(), strict=True))


# --- no verdict -----------------------------------------------------------------------------------


def test_a_step_without_any_verdict_does_not_update_and_several_end_the_run(
    paths: dict[str, str], tmp_path: Path
) -> None:
    run = run_of(paths, "eval.every=0", "checkpoint.every=0")
    training = Training(run, tmp_path, quiet=True)
    before = [parameter.detach().clone() for parameter in training.policy.parameters()]
    training.rollouts.scoring.scorer = judge_of(run, outage, deadline_s=0.2)
    with pytest.raises(Ungraded, match="3 steps in a row"):
        training.train()
    assert all(torch.equal(a, b) for a, b in zip(before, training.policy.parameters(), strict=True))
    assert [line["graded"] for line in lines(tmp_path)] == [0.0, 0.0]


def test_completions_without_a_verdict_do_not_train_and_do_not_count(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "eval.every=0", "steps=1")
    training = Training(run, tmp_path, quiet=True)
    training.rollouts.scoring.scorer = judge_of(
        run,
        lambda item: None if item["completion"][-1:] in "02468" else float(len(item["completion"]) == 2),
        deadline_s=0.2,
    )
    training.train()
    (line,) = lines(tmp_path)
    assert 0 < line["graded"] < 1 and line["outages"] + line["row_faults"] == pytest.approx(1 - line["graded"])


# --- evaluation -------------------------------------------------------------------------------------


def test_pass_at_k_is_the_unbiased_estimate() -> None:
    assert [pass_at_k(4, 1, k) for k in (1, 2, 4)] == pytest.approx([0.25, 0.5, 1.0])
    assert pass_at_k(4, 0, 2) == 0.0 and pass_at_k(4, 4, 1) == 1.0


def test_the_alarm_sounds_when_reward_rises_and_evaluation_falls() -> None:
    alarm = Alarm(0.05)
    assert not alarm.look(0.60, samples=1000, first=None, last=None)
    assert not alarm.look(0.70, samples=1000, first=0.5, last=0.6)
    assert not alarm.look(0.69, samples=1000, first=0.6, last=0.7)
    assert alarm.look(0.50, samples=1000, first=0.7, last=0.9)


def test_the_alarm_is_silent_where_reward_falls_too_or_the_fall_may_be_noise() -> None:
    fell, noisy, early = Alarm(0.05), Alarm(0.05), Alarm(0.05)
    for alarm, samples in ((fell, 1000), (noisy, 20)):
        alarm.look(0.70, samples=samples, first=0.4, last=0.5)
    assert not fell.look(0.50, samples=1000, first=0.5, last=0.4)
    assert not noisy.look(0.60, samples=20, first=0.5, last=0.9)
    early.look(0.70, samples=1000, first=None, last=None)
    assert early.look(0.50, samples=1000, first=0.5, last=0.9)


def test_learning_rates_are_functions_of_the_step() -> None:
    settings = read("demo", ["optimizer.lr=1.0", "optimizer.warmup_steps=2"]).optimizer
    assert [learning_rate(settings, step, 12) for step in (0, 1, 2, 7, 11)] == pytest.approx([0.5, 1.0, 1.0, 0.5, 0.1])


# --- the report -------------------------------------------------------------------------------------


def test_what_a_model_wrote_is_text_on_the_page_and_the_page_needs_nothing_else() -> None:
    hostile = '<script>alert(1)</script><img src=x onerror="a()">\x1b[31m\u202e'
    rollout = {"step": 1, "prompt": hostile, "completion": hostile, "reward": None, "reason": hostile}
    text = page({"name": hostile}, [], [], [rollout])
    assert "<script" not in text and "<img" not in text and "\x1b" not in text and "\u202e" not in text
    assert "&lt;script&gt;" in text and "\\x1b" in text
    assert "http://" not in text and "https://" not in text and "default-src 'none'" in text


# --- ranks ------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_two_ranks_train_as_one_does(paths: dict[str, str], base: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    config.write_text(run_of(paths).model_dump_json())
    code = (
        "import sys, pathlib, torch; from assay.trainer_adapter.grpo.run.config import Run\n"
        "from assay.trainer_adapter.grpo.run.command import execute\n"
        "torch.set_num_threads(1)\n"
        "run = Run.model_validate_json(pathlib.Path(sys.argv[1]).read_text())\n"
        "execute(run, pathlib.Path(sys.argv[2]), quiet=True)"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(config), str(tmp_path / "out")], env={**shared, "RANK": str(rank)}
        )
        for rank in range(2)
    ]
    assert [rank.wait() for rank in ranks] == [0, 0]
    for got, want in zip(lines(tmp_path / "out"), lines(base), strict=True):
        for name in (
            "reward_mean",
            "zero_variance",
            "groups_drawn",
            "length_mean",
            "tokens_trained",
            "tokens_generated",
        ):
            assert got[name] == pytest.approx(want[name]), name
        assert got["grad_norm"] == pytest.approx(want["grad_norm"], rel=1e-3)
        assert got["loss"] == pytest.approx(want["loss"], abs=1e-5)
    assert lines(tmp_path / "out", "evals.jsonl") == lines(base, "evals.jsonl")


# --- learning ---------------------------------------------------------------------------------------


@pytest.mark.timeout(900)
def test_the_demo_learns(tmp_path: Path) -> None:
    """The quick part of `assay train demo`: 80 of its 300 steps."""
    execute(read("demo", ["steps=80", "eval.every=80"]), tmp_path, quiet=True)
    steps, evals = lines(tmp_path), lines(tmp_path, "evals.jsonl")
    assert mean_of(steps[-10:], "reward_mean") >= mean_of(steps[:10], "reward_mean") + 0.25
    assert evals[-1]["pass@1"] >= evals[0]["pass@1"] + 0.15
    assert json.loads((tmp_path / "config.json").read_text())["reward"]["verifier"] == "exact"
