"""One regime as discrete events: the real buffer, pacing and coordinator, with simulated workers and verdicts.

loop:  pump the coordinator  ->  let the trainer take a batch, or publish where nothing may start  ->  next events
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from assay.trainer_adapter.grpo.regime.coordinator import Coordinator, Rules
from assay.trainer_adapter.grpo.regime.rollouts import capacity_of, make_buffer
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.simulate.clock import Clock
from assay.trainer_adapter.grpo.simulate.figures import Figures
from assay.trainer_adapter.grpo.simulate.pool import SimulatedPool
from assay.trainer_adapter.grpo.simulate.rollouts import Draws, SimulatedGroup, SimulatedVerdicts

FINEST_S = 0.01
"""The coordinator takes its turns at least so far apart, as `Rollouts` does."""
TURNS = 100
"""Turns of the coordinator in the time of one mean sample, where that is longer."""


@dataclass(frozen=True)
class Step:
    """One update. `end_s`: when it was complete. `busy`: share of the slots that sampled since the last one.

    `waited_s`: how long the trainer waited for its batch. `admitted`, `running`: groups when the batch was taken.
    """

    step: int
    end_s: float
    waited_s: float
    busy: float
    data_lag_mean: float
    data_lag_max: int
    publication_lag: int
    admitted: int
    running: int
    trained: int


@dataclass
class Forecast:
    """What a regime does.

    `tokens`: mean tokens of a sample, generated and trained: they differ where slow groups starve. `accounts`: groups
    by their last state.
    """

    kind: str
    workers: int
    slots: int
    steps: list[Step] = field(default_factory=list)
    tokens: tuple[float, float] = (0.0, 0.0)
    accounts: dict[str, int] = field(default_factory=dict)
    restarts: int = 0

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self.steps[-1].end_s

    @property
    def groups_per_s(self) -> float:
        """Trained groups a second."""
        return sum(one.trained for one in self.steps) / self.seconds

    @property
    def pool_busy(self) -> float:
        """Share of the slots that sampled."""
        starts = [0.0, *(one.end_s for one in self.steps)]
        return (
            sum(one.busy * (one.end_s - start) for one, start in zip(self.steps, starts, strict=False)) / self.seconds
        )

    @property
    def trainer_busy(self) -> float:
        """Share of the time in which the trainer updated or published."""
        return 1 - sum(one.waited_s for one in self.steps) / self.seconds

    @property
    def data_lag_mean(self) -> float:
        """Mean over the steps."""
        return fmean(one.data_lag_mean for one in self.steps)

    @property
    def data_lag_max(self) -> int:
        """Greatest lag of a trained token."""
        return max(one.data_lag_max for one in self.steps)


class Simulation:
    """A run of `run.regime.kind`."""

    def __init__(self, run: Run, figures: Figures) -> None:
        self._run, self._figures, table = run, figures, run.simulate
        self._workers, self._slots = sizes_of(run)
        inline = run.generator.kind == "local" and run.regime.workers == 0 and table.workers is None
        self._publish_s = 0.0 if inline else figures.publish_s
        self.clock = Clock()
        self.buffer = make_buffer(run, None)
        draws = Draws(run, figures)
        samples = run.rollout.group + run.rollout.extra
        self.pool = SimulatedPool(
            self._workers, self._slots, samples, run.regime, table, figures, self.clock, continuous=not inline
        )
        self._resolution = _resolution(draws, figures, self._slots)
        rules = Rules(
            draw=draws.draw,
            gate=draws.gate,
            stored=draws.stored,
            capacity=capacity_of(run),
            deadline_s=run.regime.group_deadline_s,
        )
        verdicts = SimulatedVerdicts(run, figures, self.clock)
        self.coordinator = Coordinator(self.buffer, self.pool, verdicts, rules, clock=lambda: self.clock.now)
        self.version = 0
        self._idle = True
        self._idle_since = self._last_end = self._last_slots = 0.0
        self._seen = [0, 0]
        self.forecast = Forecast(run.regime.kind, self._workers, self._slots)

    def run(self) -> Forecast:
        """Simulate all steps."""
        wanted = self._run.simulate.steps or self._run.steps
        while len(self.forecast.steps) < wanted:
            self.coordinator.pump()
            if self._idle:
                self._take_or_publish()
            self.coordinator.pump()  # what was judged or taken has made room for groups that start at once
            self._move_on()
        count, tokens = self._seen
        generated = self.pool.tokens / max(1, self.pool.samples)
        self.forecast.tokens = (generated, tokens / max(1, count))
        self.forecast.accounts, self.forecast.restarts = self.buffer.accounts(), self.pool.restarts
        self.buffer.close()
        return self.forecast

    def _move_on(self) -> None:
        following = self.clock.next
        if following is None:
            raise RuntimeError(f"nothing is left to happen after {self.clock.now:.3f} s: {self.buffer.accounts()}")
        self.clock.run_until(max(following, self.clock.now + self._resolution))

    def _take_or_publish(self) -> None:
        taken = self.coordinator.take(dict)
        if taken is not None:
            self._train(taken[0])
        elif self.coordinator.stuck() and min(self.pool.versions) < self.version:
            self._idle = False
            self.clock.after(self._publish_s, self._published)

    def _published(self) -> None:
        self.pool.publish(self.version)
        self._idle = True

    def _train(self, groups: Sequence[SimulatedGroup]) -> None:
        spans = [span for group in groups for sample in group.samples for span in sample.spans]
        tokens = sum(count for _, count in spans)
        self._seen[0] += sum(len(group.samples) for group in groups)
        self._seen[1] += tokens
        lags = [(self.version - version, count) for version, count in spans]
        about = {
            "waited_s": self.clock.now - self._idle_since,
            "data_lag_mean": sum(lag * count for lag, count in lags) / max(1, tokens),
            "data_lag_max": max((lag for lag, _ in lags), default=0),
            "publication_lag": self.version - min(self.pool.held),
            "admitted": self.buffer.admitted,
            "running": self.buffer.running,
            "trained": len(groups),
        }
        self._idle = False
        publishes = (self.version + 1) % self._run.regime.publish_every == 0
        seconds = self._figures.update_s + tokens * self._figures.update_token_s
        self.clock.after(seconds + (self._publish_s if publishes else 0.0), lambda: self._updated(about, publishes))

    def _updated(self, about: dict[str, Any], publishes: bool) -> None:
        self.version += 1
        if publishes:
            self.pool.publish(self.version)
        now, slots = self.clock.now, self.pool.slot_seconds()
        span = max(1e-9, now - self._last_end) * self._workers * self._slots
        busy = (slots - self._last_slots) / span
        self.forecast.steps.append(Step(step=self.version, end_s=now, busy=busy, **about))
        self._last_end, self._last_slots, self._idle, self._idle_since = now, slots, True, now


def sizes_of(run: Run) -> tuple[int, int]:
    """Return workers and the slots of each, as the run's own pool has them."""
    servers = run.generator.url if isinstance(run.generator.url, list) else [run.generator.url]
    workers = run.simulate.workers or (max(1, run.regime.workers) if run.generator.kind == "local" else len(servers))
    samples = run.rollout.group + run.rollout.extra
    return workers, run.simulate.slots or max(run.generator.batch // workers, samples)


def _resolution(draws: Draws, figures: Figures, slots: int) -> float:
    """Return seconds between two turns of the coordinator."""
    mean = fmean(tokens for number in range(50) for tokens in draws.draw(number).lengths)
    return max(FINEST_S, mean * (figures.step_s + figures.sequence_s * slots) / TURNS)
