"""The trainer's loop: batch, advantages, update; publication of weights, evaluation, checkpoints, records.

    for step:  collect a batch  ->  update  ->  publish the weights  ->  record  ->  evaluate, checkpoint

The same for every regime: `Rollouts` says how generation and training take turns. In the sync regime a run is a
function of its file and seed. Killed and resumed from a checkpoint, every run trains the batches that its buffer has
recorded as they were. A step without a verdict does not update; several in a row end the run, because an outage must
not look like learning.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from assay.client import AssayError, ConfigurationError
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.regime.lags import lags_of
from assay.trainer_adapter.grpo.regime.rollouts import Rollouts, open_buffer
from assay.trainer_adapter.grpo.rollout.data import Prompts, load_prompts
from assay.trainer_adapter.grpo.rollout.outcome import Collected, live_draws
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer, Scoring
from assay.trainer_adapter.grpo.run import checkpoint
from assay.trainer_adapter.grpo.run.assemble import make_evaluator, make_generator, make_pool
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.disk import writing
from assay.trainer_adapter.grpo.run.evaluation import Alarm
from assay.trainer_adapter.grpo.run.identity import fingerprint, public
from assay.trainer_adapter.grpo.run.ranks import Ranks
from assay.trainer_adapter.grpo.run.records import (
    EVALS,
    METRICS,
    Records,
    counts_of,
    distribution_line,
    finite,
    metrics_of,
    read_lines,
    rollout_lines,
)  # fmt: skip
from assay.trainer_adapter.grpo.run.report import write_report
from assay.trainer_adapter.grpo.run.tracking import Trackers
from assay.trainer_adapter.grpo.run.update import Learner, Updated, learning_rate
from assay.trainer_adapter.grpo.run.watch import Watch
from assay.trainer_adapter.missing import Ungraded

WINDOW = 10
"""Number of steps whose mean reward an evaluation is compared with."""


class OffPolicy(AssayError):
    """The samples come from another policy than the one that trains."""


class Training:
    """One run, from its start or its last checkpoint to its last step."""

    def __init__(
        self, run: Run, out: Path, *, resume: bool = False, quiet: bool = False, ranks: Ranks | None = None
    ) -> None:
        if run.threads is not None:
            torch.set_num_threads(run.threads)
        torch.manual_seed(run.seed)
        self.run, self.out, self._ranks = run, out, ranks or Ranks()
        self.policy = Policy.load(run.model)
        self.learner = Learner(self.policy, run, self._ranks)
        scorer = SampleScorer(run.reward, run=run.name)
        train = load_prompts(run.data.train, run.data, self.policy.tokenizer, seed=run.seed)
        self._generator = make_generator(run, self.policy, out, self._ranks)
        self._evaluator = make_evaluator(run, self.policy, scorer, self._ranks, self._generator)
        self._alarm = Alarm(run.eval.alarm_drop)
        self._since: list[float] = []
        self._position = self._start(resume)
        self._spent = self._position.seconds
        self.rollouts = self._open_rollouts(train, scorer)
        self._ungraded = 0
        self._low_ess = 0
        self._watch = Watch(steps=run.steps, name=run.name, quiet=quiet or not self._ranks.first)
        after = self._position.step or -1
        self._records = Records(out, after=after) if self._ranks.first else None
        self._trackers = Trackers(run, out, after=after, note=self._watch.note) if self._ranks.first else None
        if train.skipped:
            self._watch.note(
                f"{train.skipped} prompts are longer than {run.data.max_prompt_tokens} tokens and left out"
            )
        if train.faults:
            self._watch.note(f"{train.faults} rows give no prompt (empty, no text, or no Unicode) and are left out")

    def _open_rollouts(self, train: Prompts, scorer: SampleScorer) -> Rollouts:
        run, position, ranks = self.run, self._position, self._ranks
        buffer = open_buffer(run, self.out, fingerprint=position.fingerprint, cursor=position.cursor, ranks=ranks)
        buffer.skip_to(position.step)
        # ranks were killed at different places, and what is pruned cannot be replayed: sample these batches again
        if ranks.size > 1 or buffer.pruned > position.step:
            buffer.rewind(step=position.step, first=position.cursor)
        pool = make_pool(run, self.policy, self.out, ranks, self._generator)
        scoring = Scoring(scorer, needed=run.rollout.group, extra=run.rollout.extra)
        return Rollouts(run, buffer, pool, scoring, train, ranks, step=position.step)

    def _start(self, resume: bool) -> checkpoint.Position:
        """Return the position to continue from. Create the folder; refuse one that holds another run."""
        found = checkpoint.list_all(self.out)
        if resume and found:
            position = checkpoint.restore(
                found[-1], self.policy, self.learner.optimizer, fingerprint=fingerprint(self.run)
            )
            self._replay(position.step)
            self._ranks.barrier()  # the first rank cuts the files that all have read
            return position
        if not resume and (self.out / METRICS).exists():
            raise ConfigurationError(f"{self.out} holds a run: --resume goes on with it, another --out starts anew")
        if self._ranks.first:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / "config.json").write_text(public(self.run))
        self._ranks.barrier()
        return checkpoint.Position(0, 0, fingerprint(self.run))

    def _replay(self, step: int) -> None:
        """Restore the alarm's state after `step` steps: the evaluations, and the rewards since the last one."""
        seen = 0
        for line in read_lines(self.out / EVALS):
            if line["step"] <= step:
                seen = line["step"]
                self._update_alarm(line)
        rewards = [line["reward_mean"] for line in read_lines(self.out / METRICS) if seen < line["step"] <= step]
        self._since = [reward for reward in rewards if reward is not None]

    def _update_alarm(self, line: Mapping[str, Any]) -> bool:
        """Pass an evaluation to the alarm and return whether it is raised; one without verdicts is ignored."""
        value = line[self._judged]
        return value is not None and self._alarm.look(
            value, samples=line["samples"], first=line["reward_first"], last=line["reward_last"]
        )

    @property
    def _judged(self) -> str:
        """The figure of an evaluation that the alarm watches."""
        return f"pass@{min(self.run.eval.k)}"

    def train(self) -> Path:
        """Run the remaining steps; return the folder of the run."""
        ended = False
        try:
            with writing(self.out):
                if self._position.step == 0:
                    self._evaluate(0)
                for step in range(self._position.step + 1, self.run.steps + 1):
                    self._step(step)
                if self._ranks.first:
                    write_report(self.out)
            ended = True
        finally:
            self._watch.close()
            self.rollouts.close(ended=ended)
            if self._trackers is not None:
                self._trackers.close()
        return self.out

    def _step(self, step: int) -> None:
        start = time.monotonic()
        done = self.rollouts.collect(step)
        collected = time.monotonic()
        updated = self._update(done, step)
        self.rollouts.publish(step)
        end = time.monotonic()
        self._spent += end - start
        self._position = checkpoint.Position(step, done.cursor, self._position.fingerprint, self._spent)
        self._record(step, done, updated, {"update_s": end - collected, "step_s": end - start})
        last = step == self.run.steps
        if self._evaluator is not None and (step % self.run.eval.every == 0 or last):
            self._evaluate(step)
        every = self.run.checkpoint.every
        if last or (every and step % every == 0):
            self._save()

    def _update(self, done: Collected, step: int) -> Updated:
        graded = sum(
            sample.grade is not None and sample.grade.reward is not None
            for group in done.every
            for sample in group.samples
        )
        if self._ranks.sum(torch.tensor(float(graded))) > 0:
            self._ungraded = 0
            return self.learner.update(done.train, step=step - 1)
        self._ungraded += 1
        self._watch.note(f"step {step}: no completion has a verdict, no update is made")
        if self._ungraded >= self.run.max_ungraded_steps:
            raise Ungraded(f"no verdict in {self._ungraded} steps in a row; the last checkpoint is complete")
        return Updated()

    def _record(self, step: int, done: Collected, updated: Updated, times: dict[str, float]) -> None:
        local = counts_of(done, live_draws(done.every, self.run))
        whole = self._ranks.sum(torch.tensor(list(local.values()), dtype=torch.float64)).tolist()
        line = metrics_of(step, dict(zip(local, whole, strict=True)), done, updated)
        generated = float(self._ranks.sum(torch.tensor(float(done.figures["tokens"]))))
        latencies = sorted(done.latencies_s) or [math.nan]
        line |= {
            "lr": learning_rate(self.run.optimizer, step - 1, self.run.steps),
            "tokens_generated": generated,
            "distributions": distribution_line(done.every),
            **lags_of(done, step),
            "generate_s": done.generate_s, "verify_wait_s": done.verify_wait_s, **times,
            "tokens_per_s": generated / max(done.generate_s, 1e-9),
            "verify_p50_ms": 1e3 * latencies[len(latencies) // 2], "verify_max_ms": 1e3 * latencies[-1],
        }  # fmt: skip
        line = finite(line)
        if line["reward_mean"] is not None:
            self._since.append(line["reward_mean"])
        if self._records is not None:
            self._records.step(line, rollout_lines(step, done.every, self.run.samples_kept))
        if self._trackers is not None:
            self._trackers.log("train", line)
        self._watch.step(line)
        self._stop_off_policy(line["ess_token"])

    def _stop_off_policy(self, ess: float | None) -> None:
        """Count the steps in a row whose samples hardly weigh. Raises `OffPolicy` after too many."""
        bound = self.run.algorithm.min_ess
        self._low_ess = self._low_ess + 1 if ess is not None and ess < bound else 0
        if self._low_ess >= self.run.max_low_ess_steps:
            raise OffPolicy(
                f"the effective sample size was under {bound:g} of the tokens in {self._low_ess} steps in a row (last: "
                f"{ess:.2g}): the generator samples another policy than the one that trains. See generator.sync and "
                "algorithm.correction; the last checkpoint is complete"
            )

    def _evaluate(self, step: int) -> None:
        if self._evaluator is None:
            return
        if self.run.generator.kind != "local":
            self.rollouts.publish_now(wait=True)
        figures = self._evaluator.evaluate(step)
        ends = (self._since[:WINDOW], self._since[-WINDOW:])
        first, last = (sum(end) / len(end) if end else None for end in ends)
        self._since = []
        line = finite({"step": step, **figures, "reward_first": first, "reward_last": last})
        alarm = line["alarm"] = self._update_alarm(line)
        if self._records is not None:
            self._records.evaluation(line)
        if self._trackers is not None:
            self._trackers.log("eval", line)
        self._watch.evaluation(line)
        if alarm:
            self._watch.note(f"ALARM at step {step}: reward rises while {self._judged} falls; the reward may be gamed")

    def _save(self) -> None:
        if self._ranks.first:
            checkpoint.save(
                self.out, self._position, self.policy, self.learner.optimizer, keep=self.run.checkpoint.keep
            )
            write_report(self.out)
            self.rollouts.write_timings(self.out)
        self.rollouts.prune(checkpoint.oldest_step(self.out))
        self._ranks.barrier()
