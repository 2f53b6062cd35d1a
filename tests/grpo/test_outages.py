"""What is not known is null: no verdict, no update, a number that is not finite. Never 0, never a run's end."""

import math
from pathlib import Path
from typing import Any

import pytest

from assay.trainer_adapter.grpo.rollout.outcome import Collected
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines
from assay.trainer_adapter.grpo.run.report import mean_of, page
from assay.trainer_adapter.grpo.run.update import Updated

from ._tiny import judge_of, outage, run_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def down(run: Run) -> SampleScorer:
    return judge_of(run, outage, deadline_s=0.2)


def test_a_step_without_a_verdict_is_null_and_not_0(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "eval.every=0", "steps=2")
    training = Training(run, tmp_path, quiet=True)
    training.rollouts.scoring.scorer = down(run)
    training.train()
    lines = read_lines(tmp_path / "metrics.jsonl")
    for line in lines:
        judged = ("reward_mean", "reward_std", "score_mean", "correct", "zero_variance", "all_wrong")
        assert all(line[name] is None for name in (*judged, "loss", "grad_norm", "entropy", "kl", "work_saved"))
        assert line["row_faults"] + line["outages"] == 1.0
    assert training._since == [] and "first ten unknown" in (tmp_path / "report.html").read_text()
    assert math.isnan(mean_of(lines, "reward_mean")) and mean_of([{"x": None}, {"x": 0.5}], "x") == 0.5


def test_an_evaluation_in_an_outage_is_null_and_raises_no_alarm(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "steps=1")
    training = Training(run, tmp_path, quiet=True)
    assert training._evaluator is not None
    training._alarm.look(0.9, samples=1000, first=None, last=0.1)
    training._since, training._evaluator._sample_scorer = [0.8] * 5, down(run)
    training._evaluate(1)
    (line,) = lines = read_lines(tmp_path / "evals.jsonl")
    assert line["pass@1"] is None and line["reward_mean"] is None and (line["samples"], line["graded"]) == (0, 0)
    assert line["alarm"] is False and training._alarm.best == 0.9
    training._replay(1)
    assert training._alarm.best == 0.9 and "Held-out: no data yet" in page({}, [], lines, [])


def test_the_samples_of_an_evaluation_are_those_with_a_verdict(paths: dict[str, str], tmp_path: Path) -> None:
    run = run_of(paths, "steps=1", "eval.rows=4")
    training = Training(run, tmp_path, quiet=True)
    assert training._evaluator is not None
    asked: list[int] = []
    training._evaluator._sample_scorer = judge_of(
        run, lambda item: None if (asked.append(1) or len(asked)) % 2 else 1.0, deadline_s=0.2
    )
    figures = training._evaluator.evaluate(0)
    assert (figures["samples"], figures["graded"], figures["reward_mean"]) == (8, 0.5, 1.0)


def test_an_update_that_is_not_finite_is_skipped_and_is_null(
    paths: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on, and what the skipped update summed is in no figure."""
    training = Training(run_of(paths, "eval.every=0", "steps=3"), tmp_path, quiet=True)
    own, calls = training.policy.loss, list[int]()

    def loss(*args: Any, **options: Any) -> Any:
        value, stats = own(*args, **options)
        calls.append(1)
        return (value * math.nan if len(calls) == 1 else value), stats

    monkeypatch.setattr(training.policy, "loss", loss)
    training.train()
    first, *later = read_lines(tmp_path / "metrics.jsonl")
    assert first["updates_skipped"] == 1 and first["updates"] == 0
    assert first["loss"] is None and first["grad_norm"] is None and first["entropy"] is None
    assert all(math.isfinite(line["loss"]) and line["updates"] == 1 for line in later)


def test_a_figure_that_is_not_finite_is_null_in_the_line(paths: dict[str, str], tmp_path: Path) -> None:
    training = Training(run_of(paths, "eval.every=0"), tmp_path, quiet=True)
    updated = Updated(grad_norms=[1.0])
    updated.sums |= {"tokens_seen": 2.0, "loss": math.inf, "entropy": math.nan}
    training._record(
        1,
        Collected(figures=dict.fromkeys(("rounds", "cancelled", "tokens"), 0.0)),
        updated,
        {"update_s": 0.0, "step_s": 0.0},
    )
    (line,) = read_lines(tmp_path / "metrics.jsonl")
    assert line["loss"] is None and line["entropy"] is None and line["grad_norm"] == 1.0 and line["graded"] is None
