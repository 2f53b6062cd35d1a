"""Simulated draws and verdicts: a group's lengths and outcome are functions of the seed and its number."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.buffer import Reason, StoredSample
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.simulate.clock import Clock
from assay.trainer_adapter.grpo.simulate.figures import Figures


@dataclass(frozen=True)
class SimulatedDraw:
    """A draw: the tokens of its samples, and whether they get equal scores."""

    number: int
    lengths: Sequence[int]
    flat: bool


@dataclass
class SimulatedGroup:
    """A group and those of its samples that are finished."""

    draw: SimulatedDraw
    samples: list[Sample] = field(default_factory=list)
    graded: int = 0


class Draws:
    """The draws of a run."""

    def __init__(self, run: Run, figures: Figures) -> None:
        self._run, self._figures = run, figures
        self._count = run.rollout.group + run.rollout.extra

    def draw(self, number: int) -> SimulatedDraw:
        """Return draw `number`."""
        dice = random.Random(self._run.seed * 1_000_003 + number)
        flat = dice.random() < self._figures.zero_variance
        return SimulatedDraw(number, self._figures.lengths(dice, self._count), flat)

    def gate(self, group: SimulatedGroup) -> Reason | None:
        """Return why a group does not enter a batch: with dynamic sampling, equal scores."""
        drops = self._run.algorithm.preset().dynamic_sampling and group.draw.flat
        return Reason.ZERO_VARIANCE if drops else None

    @staticmethod
    def stored(group: SimulatedGroup) -> Iterable[StoredSample]:
        """Return the samples of a group as the buffer stores them."""
        return [StoredSample(index=one.index, spans=one.spans) for one in group.samples]


class SimulatedVerdicts:
    """Verdicts that arrive after a latency. See `assay.trainer_adapter.grpo.regime.coordinator.Verdicts`."""

    def __init__(self, run: Run, figures: Figures, clock: Clock) -> None:
        self._needed, self._extra = run.rollout.group, run.rollout.extra
        self._figures, self._clock = figures, clock
        self._outages = sorted(run.simulate.outages)
        self._dice = random.Random(run.seed)
        self._groups: dict[int, SimulatedGroup] = {}
        self._complete: list[int] = []
        self._open = 0
        self.step = self.cancelled = 0

    def add(self, draw: SimulatedDraw) -> None:
        """Open a group."""
        self._groups[draw.number] = SimulatedGroup(draw)

    def deliver(self, sample: Sample) -> None:
        """Send a sample: its verdict arrives after a latency, and not during an outage."""
        group = self._groups.get(sample.draw)
        if group is None:
            return
        group.samples.append(sample)
        self._open += 1
        arrival = self._clock.now + self._figures.verdict_s(self._dice)
        for start, duration in self._outages:
            if start <= arrival < start + duration:
                arrival = start + duration + self._figures.verdict_s(self._dice)
        self._clock.at(arrival, lambda: self._arrive(group))

    def _arrive(self, group: SimulatedGroup) -> None:
        self._open -= 1
        group.graded += 1
        if group.graded == self._needed and self._groups.get(group.draw.number) is group:
            self._complete.append(group.draw.number)

    def enough(self, draw: int) -> bool:
        """Return whether no further sample of a group is wanted."""
        group = self._groups.get(draw)
        return group is None or (bool(self._extra) and group.graded >= self._needed)

    def flush(self) -> None:
        """Nothing is kept back."""

    def collect(self, *, wait_s: float = 0.0) -> None:
        """Verdicts arrive as events of the clock."""

    def complete(self) -> Sequence[SimulatedGroup]:
        """Close the groups that have the verdicts that they need, and return them."""
        numbers, self._complete = self._complete, []
        return [self._groups.pop(number) for number in numbers if number in self._groups]

    def discard(self, number: int) -> None:
        """Forget a group."""
        self._groups.pop(number, None)

    @property
    def waiting(self) -> bool:
        """Whether a verdict is to come."""
        return self._open > 0
