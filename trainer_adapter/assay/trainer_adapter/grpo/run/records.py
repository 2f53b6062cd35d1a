"""Records of a step: a line of `metrics.jsonl` and `evals.jsonl`, and some of `rollouts.jsonl`.

Names that end in `_s`, `_ms` or `_per_s` are times; all others are the same in a rerun and after a resume.
`reward_mean` is over every completion with a verdict that was drawn, before dynamic sampling chose among groups.
A figure over nothing (no verdict, no row, no update), and one that is not finite, is null: never 0, never NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.trainer_adapter.grpo.objective.correction import Ess
from assay.trainer_adapter.grpo.rollout.outcome import Collected
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample
from assay.trainer_adapter.grpo.run.update import Updated

METRICS, EVALS, ROLLOUTS = "metrics.jsonl", "evals.jsonl", "rollouts.jsonl"
TEXT_KEPT = 2000
COUNTS = (
    "samples", "graded", "row_faults", "outages", "reward", "reward2", "score",
    "scored", "correct", "length", "truncated",
    "groups", "judged", "dead", "all_right", "all_wrong", "trained",
)  # fmt: skip


def share(total: float, count: float) -> float | None:
    """Return `total / count`, or None for a count of 0: an outage is not a 0."""
    return total / count if count else None


def finite(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line with None for NaN and infinities."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in line.items()}


def counts_of(done: Collected, live: Iterable[int]) -> dict[str, float]:
    """Return sums over the groups of this rank, to be added over ranks."""
    alive = set(live)
    sums = dict.fromkeys(COUNTS, 0.0)
    for group in done.every:
        sums["groups"] += 1
        judged = any(sample.grade is not None and sample.grade.reward is not None for sample in group.samples)
        sums["judged"] += judged
        sums["dead"] += judged and group.draw.number not in alive
        scores = [sample.grade.score for sample in group.samples if sample.grade and sample.grade.score is not None]
        sums["all_right"] += bool(scores) and min(scores) == 1
        sums["all_wrong"] += bool(scores) and max(scores) == 0
        for sample in group.samples:
            _count(sums, sample)
    sums["trained"] = float(len(done.train))
    return sums


def _count(sums: dict[str, float], sample: Sample) -> None:
    sums["samples"] += 1
    sums["length"] += sample.tokens
    sums["truncated"] += sample.truncated
    grade = sample.grade
    if grade is None or grade.reward is None:
        sums["row_faults"] += grade is not None and grade.fault == "row"
        sums["outages"] += grade is None or grade.fault != "row"
        return
    sums["graded"] += 1
    sums["reward"] += grade.reward
    sums["reward2"] += grade.reward**2
    if grade.score is not None:
        sums["scored"] += 1
        sums["score"] += grade.score
        sums["correct"] += grade.correct


def metrics_of(step: int, sums: Mapping[str, float], done: Collected, updated: Updated) -> dict[str, Any]:
    """Return the line of step `step`, without its times."""
    graded, scored, samples, judged = (sums[name] for name in ("graded", "scored", "samples", "judged"))
    return {
        "step": step,
        "reward_mean": share(sums["reward"], graded),
        "reward_std": _std(sums["reward"], sums["reward2"], graded),
        "score_mean": share(sums["score"], scored),
        "correct": share(sums["correct"], scored),
        "zero_variance": share(sums["dead"], judged),
        "all_right": share(sums["all_right"], judged),
        "all_wrong": share(sums["all_wrong"], judged),
        "length_mean": share(sums["length"], samples),
        "truncated": share(sums["truncated"], samples),
        "graded": share(graded, samples),
        "row_faults": share(sums["row_faults"], samples),
        "outages": share(sums["outages"], samples),
        "groups_drawn": sums["groups"],
        "groups_trained": sums["trained"],
        "rounds": done.figures["rounds"],
        "cancelled": done.figures["cancelled"],
        **update_metrics(updated),
    }


def _std(total: float, squares: float, count: float) -> float | None:
    mean = share(total, count)
    return None if mean is None else math.sqrt(max(squares / count - mean * mean, 0.0))


def update_metrics(updated: Updated) -> dict[str, Any]:
    """Return the figures of the update; `work_saved` is the share of training tokens that never entered the model."""
    sums = updated.sums
    seen = sums["tokens_seen"]
    return {
        "loss": sums["loss"] if seen else None,
        "grad_norm": share(sum(updated.grad_norms), len(updated.grad_norms)),
        "updates": len(updated.grad_norms),
        "updates_skipped": updated.skipped,
        "entropy": share(sums["entropy"], seen),
        "kl": share(sums["kl"], seen),
        "clipped": share(sums["clipped"], seen),
        "kl_rollout": share(sums["kl_rollout"], sums["rollout_tokens"]),
        "ess_token": _ess(sums, "ess_n", "ess_w"),
        "ess_token_truncated": _ess(sums, "ess_n", "ess_t"),
        "ess_sequence": _ess(sums, "seq_n", "seq_w"),
        "ess_sequence_truncated": _ess(sums, "seq_n", "seq_t"),
        "tokens_trained": updated.tokens_computed,
        "work_saved": share(updated.tokens - updated.tokens_computed, updated.tokens),
    }


def _ess(sums: Mapping[str, float], count: str, name: str) -> float | None:
    return Ess(sums[count], sums[name], sums[f"{name}2"]).share if sums[count] else None


def rollout_lines(step: int, groups: Sequence[Group], count: int) -> list[dict[str, Any]]:
    """Return samples of a step for the report: the first of each of the first groups, their text bounded."""
    lines = []
    for group in groups[:count]:
        for sample in group.samples[:1]:
            grade = sample.grade
            lines.append({
                "step": step, "draw": group.draw.number, "prompt": group.draw.prompt.text[:TEXT_KEPT],
                "completion": sample.text[:TEXT_KEPT], "tokens": sample.tokens, "truncated": sample.truncated,
                "reward": None if grade is None else grade.reward, "score": None if grade is None else grade.score,
                "reason": "" if grade is None else grade.reason,
            })  # fmt: skip
    return lines


def distribution_line(groups: Sequence[Group]) -> dict[str, Any]:
    """Return rewards and lengths of a step as counts, for the report's histograms."""
    rewards: dict[str, int] = {}
    lengths: dict[str, int] = {}
    for group in groups:
        for sample in group.samples:
            if sample.grade is not None and sample.grade.reward is not None:
                name = f"{sample.grade.reward:.2f}"
                rewards[name] = rewards.get(name, 0) + 1
            size = str(1 << max(sample.tokens - 1, 0).bit_length())
            lengths[size] = lengths.get(size, 0) + 1
    return {"rewards": rewards, "lengths": lengths}


class Records:
    """Writes the files of a run. On resume, lines after the checkpoint are dropped."""

    def __init__(self, out: Path, *, after: int) -> None:
        """`after`: the step that the run continues from; later lines are dropped."""
        self._out = out
        for name in (METRICS, EVALS, ROLLOUTS):
            _cut(out / name, after)

    def step(self, line: Mapping[str, Any], rollouts: Sequence[Mapping[str, Any]]) -> None:
        """Write the line of a step, and its rollouts."""
        _append(self._out / METRICS, [line])
        _append(self._out / ROLLOUTS, rollouts)

    def evaluation(self, line: Mapping[str, Any]) -> None:
        """Write the line of an evaluation."""
        _append(self._out / EVALS, [line])


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a file; a last line that a kill cut off is left out."""
    lines = []
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
    return lines


def _append(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, allow_nan=False) + "\n" for line in lines)


def _cut(path: Path, after: int) -> None:
    kept = [line for line in read_lines(path) if line["step"] <= after]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
