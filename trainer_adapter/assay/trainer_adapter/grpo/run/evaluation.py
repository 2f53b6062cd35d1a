"""Held-out evaluation: pass@1, pass@k, and an alarm when reward rises while the evaluation falls.

pass@k is the unbiased estimate 1 - C(n-c, k) / C(n, k) over n verified samples of a prompt (arXiv:2107.03374).
Samples without a verdict are in no denominator; a figure over no sample is None. Evaluation uses the same random
numbers at every step, so that two evaluations differ by the policy only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from assay.trainer_adapter.grpo.pool.inline import Generator
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompts
from assay.trainer_adapter.grpo.rollout.samples import Group
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer, Scoring
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.ranks import Ranks
from assay.trainer_adapter.grpo.run.records import share

STREAM = 1


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """Return the probability that one of k samples is right, drawn from `samples` of which `correct` are."""
    if samples - correct < k:
        return 1.0
    return 1.0 - math.comb(samples - correct, k) / math.comb(samples, k)


class Evaluator:
    """Evaluates on a fixed set of held-out prompts."""

    def __init__(self, run: Run, prompts: Prompts, generator: Generator, scorer: SampleScorer, ranks: Ranks) -> None:
        self._run, self._generator, self._sample_scorer, self._ranks = run, generator, scorer, ranks
        self._draws = [Draw(number, prompt) for number, prompt in enumerate(prompts.prompts[: run.eval.rows])]

    def evaluate(self, step: int) -> dict[str, float | None]:
        """Return the figures after `step` steps, over all ranks; `samples` counts those with a verdict."""
        settings = self._run.eval
        mine = self._draws[self._ranks.rank :: self._ranks.size]
        scoring = Scoring(self._sample_scorer, mine, needed=settings.samples, extra=0, step=step)
        how = Sampling(
            samples=settings.samples, max_tokens=self._run.rollout.max_tokens, temperature=settings.temperature,
            seed=self._run.seed, stream=STREAM, thinking=self._run.rollout.thinking,
        )  # fmt: skip
        self._generator.run(mine, how, scoring.deliver, scoring.enough)
        return self._figures(scoring.finish())

    def _figures(self, groups: list[Group]) -> dict[str, float | None]:
        names = [f"pass@{k}" for k in self._run.eval.k]
        sums = [0.0] * (2 * len(names) + 4)
        for group in groups:
            grades = [sample.grade for sample in group.samples if sample.grade and sample.grade.reward is not None]
            right = sum(int(grade.score == 1) for grade in grades)
            for place, k in enumerate(self._run.eval.k):
                if len(grades) >= k:
                    sums[2 * place] += pass_at_k(len(grades), right, k)
                    sums[2 * place + 1] += 1
            sums[-4] += sum(grade.reward for grade in grades if grade.reward is not None)
            sums[-3] += len(grades)
            sums[-2] += len(group.samples)
            sums[-1] += sum(sample.tokens for sample in group.samples)
        whole = self._ranks.sum(torch.tensor(sums, dtype=torch.float64)).tolist()
        figures = {name: share(whole[2 * at], whole[2 * at + 1]) for at, name in enumerate(names)}
        reward, graded, asked, tokens = whole[-4:]
        more = {
            "reward_mean": share(reward, graded),
            "graded": share(graded, asked),
            "length_mean": share(tokens, asked),
        }
        return {**figures, **more, "samples": graded}


@dataclass
class Alarm:
    """Detects reward hacking: the training reward rises while the held-out evaluation falls.

    Both are compared with the best evaluation so far. The alarm is raised if the evaluation is below the best one by
    more than `drop` and by more than three standard errors of the two proportions, while the training reward is above
    the one at the best evaluation. The training reward at an evaluation is the mean over the last steps before it; for
    an evaluation before the first step, over the first steps after it.
    """

    drop: float
    best: float | None = None
    best_reward: float | None = None
    best_samples: float = 0.0

    def look(self, evaluation: float, *, samples: float, first: float | None, last: float | None) -> bool:
        """Record an evaluation and return whether the alarm is raised.

        `first`, `last`: mean training reward of the first and last steps since the previous evaluation, or None.
        """
        if self.best is not None and self.best_reward is None:
            self.best_reward = first
        if self.best is None or evaluation >= self.best:
            self.best, self.best_reward, self.best_samples = evaluation, last, samples
            return False
        noise = sum(p * (1 - p) / max(n, 1.0) for p, n in ((self.best, self.best_samples), (evaluation, samples)))
        fell = self.best - evaluation
        rose = last is not None and self.best_reward is not None and last > self.best_reward
        return rose and fell > self.drop and fell > 3 * math.sqrt(noise)
