"""The rollouts of a step: draw, sample and score groups, with dynamic sampling until enough of them are live.

Dynamic sampling (DAPO, arXiv:2503.14476): a group whose scores are all equal has no gradient, so further prompts
are drawn, `over_sampling` times the number missing, for at most `max_rounds`. The live groups with the lowest draw
numbers train. Which groups those are does not depend on the number of ranks; every rank samples its share.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from assay.trainer_adapter.grpo.objective.advantages import group_advantages
from assay.trainer_adapter.grpo.objective.segments import offsets_of
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompts
from assay.trainer_adapter.grpo.rollout.generate import Deliver, Enough, Sampling
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer, Scoring
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.ranks import Ranks


class Generator(Protocol):
    """Samples completions: `LocalGenerator` or `ServerGenerator`."""

    tokens: int

    def run(self, draws: Sequence[Draw], how: Sampling, deliver: Deliver, enough: Enough) -> None:
        """Sample completions, and pass each to `deliver` when it is finished."""
        ...

    def sync(self, version: int) -> None:
        """Load the trainer's weights."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


@dataclass
class Collected:
    """The rollouts of a step on this rank: `every` group that was drawn, and those that `train`."""

    train: list[Group] = field(default_factory=list)
    every: list[Group] = field(default_factory=list)
    cursor: int = 0
    rounds: int = 0
    cancelled: int = 0
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


class Collector:
    """Draws prompts, samples completions and gets their verdicts."""

    def __init__(self, run: Run, prompts: Prompts, generator: Generator, scorer: SampleScorer, ranks: Ranks) -> None:
        self._run, self._prompts, self._generator, self._sample_scorer, self._ranks = (
            run,
            prompts,
            generator,
            scorer,
            ranks,
        )
        self._dynamic = run.algorithm.preset().dynamic_sampling

    def collect(self, step: int, cursor: int) -> Collected:
        """Return the groups of step `step`, from draw `cursor` on."""
        done = Collected(cursor=cursor)
        wanted, live = self._run.rollout.prompts, list[int]()
        for _ in range(self._run.algorithm.max_rounds if self._dynamic else 1):
            missing = wanted - len(live) if self._dynamic else wanted
            count = math.ceil(missing * self._run.algorithm.over_sampling) if self._dynamic else missing
            draws = [self._prompts.draw(done.cursor + place) for place in range(count)]
            done.cursor += count
            done.rounds += 1
            fresh = self._round(draws[self._ranks.rank :: self._ranks.size], step, done)
            live += self._ranks.gather(live_draws(fresh, self._run))
            if len(live) >= wanted:
                break
        chosen = set(sorted(live)[:wanted])
        done.train = [group for group in done.every if not self._dynamic or group.draw.number in chosen]
        return done

    def _round(self, draws: list[Draw], step: int, done: Collected) -> list[Group]:
        how = self._run.rollout
        scoring = Scoring(self._sample_scorer, draws, needed=how.group, extra=how.extra, step=step)
        sampling = Sampling(
            samples=how.group + how.extra, max_tokens=how.max_tokens, temperature=how.temperature,
            seed=self._run.seed, thinking=how.thinking,
        )  # fmt: skip
        start = time.monotonic()
        try:
            self._generator.run(draws, sampling, scoring.deliver, scoring.enough)
            generated = time.monotonic()
            groups = scoring.finish()
        except BaseException:
            scoring.abandon()
            raise
        done.generate_s += generated - start
        done.verify_wait_s += time.monotonic() - generated
        done.latencies_s += scoring.latencies_s
        done.cancelled += scoring.cancelled
        done.every += groups
        return groups
