"""What a batch of rollouts is: rewards and scores of its samples, the groups that are live, all that was collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from assay.buffer import Reason
from assay.trainer_adapter.grpo.objective.advantages import group_advantages
from assay.trainer_adapter.grpo.objective.segments import offsets_of
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample
from assay.trainer_adapter.grpo.run.config import Run

Gate = Callable[[Group], Reason | None]
"""Returns why a group does not enter a batch, or None if it does."""


@dataclass
class Collected:
    """The rollouts of a step on this rank: the groups that `train`, and `every` group that ended since the last step.

    `figures`: what the buffer stores with the batch, and a replay repeats. `cursor`: the next draw. The times and
    `latencies_s` are those of this process; a replay has none.
    """

    train: list[Group] = field(default_factory=list)
    every: list[Group] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    cursor: int = 0
    generate_s: float = 0.0
    verify_wait_s: float = 0.0
    latencies_s: list[float] = field(default_factory=list)


def rewards_of(samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rewards and scores of the samples, fp64 [S] each, NaN where there is none."""
    grades = [sample.grade for sample in samples]
    rewards = [math.nan if grade is None or grade.reward is None else grade.reward for grade in grades]
    scores = [math.nan if grade is None or grade.score is None else grade.score for grade in grades]
    return torch.tensor(rewards, dtype=torch.float64), torch.tensor(scores, dtype=torch.float64)


def live_draws(groups: Sequence[Group], run: Run) -> list[int]:
    """Return the draws of live groups: those whose scores differ (rewards, under `gate = "reward"`)."""
    rewards, scores = rewards_of([sample for group in groups for sample in group.samples])
    gate = scores if run.algorithm.gate == "score" else None
    offsets = offsets_of(torch.tensor([len(group.samples) for group in groups]))
    live = group_advantages(rewards, offsets, scores=gate, spread=run.algorithm.spread).live.tolist()
    return [group.draw.number for group, alive in zip(groups, live, strict=True) if alive]


def gate_of(run: Run) -> Gate:
    """Return the gate of a run.

    With dynamic sampling (DAPO, arXiv:2503.14476), a group whose scores are all equal has no gradient and leaves before
    it takes a place in a batch, as does one without a verdict. Without it, every group has a place.
    """
    if not run.algorithm.preset().dynamic_sampling:
        return lambda group: None

    def gate(group: Group) -> Reason | None:
        if live_draws([group], run):
            return None
        graded = any(sample.grade is not None and sample.grade.reward is not None for sample in group.samples)
        return Reason.ZERO_VARIANCE if graded else Reason.NO_VERDICT

    return gate
