"""A simulated worker: sequences share its decode steps, each takes its own number of them.

A step of k sequences takes `step_s + k * sequence_s`. Progress is counted in steps since the worker began, so that only
the next end of a sequence is an event, however long the sequences are.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.trainer_adapter.grpo.pool.base import REFILL_SHARE
from assay.trainer_adapter.grpo.simulate.clock import Clock
from assay.trainer_adapter.grpo.simulate.figures import Figures


@dataclass(order=True)
class Sequence:
    """One sample.

    `end`: the worker's progress at which it is complete. `marks`: versions, and the progress from which on they sample.
    """

    end: float
    number: int = field(compare=False)
    index: int = field(compare=False)
    tokens: int = field(compare=False)
    marks: list[tuple[int, float]] = field(compare=False, default_factory=list)

    def spans(self) -> list[tuple[int, int]]:
        """Return which versions sampled how many of its tokens."""
        ends = [since for _, since in self.marks[1:]] + [self.end]
        counts = [max(0, round(end - since)) for (_, since), end in zip(self.marks, ends, strict=True)]
        counts[-1] += self.tokens - sum(counts)
        return [(version, count) for (version, _), count in zip(self.marks, counts, strict=True) if count > 0]


class Worker:
    """One worker. `continuous`: a slot refills as its sequence ends; else all slots refill once all are free."""

    def __init__(
        self, place: int, slots: int, figures: Figures, clock: Clock, finished: Callable[[Worker, Sequence], None],
        *, continuous: bool,
    ) -> None:  # fmt: skip
        self.place, self.slots = place, slots
        self.version = 0
        self.due: int | None = None
        self.open: dict[int, int] = {}
        self.alive = True
        self._figures, self._clock, self._finished, self._continuous = figures, clock, finished, continuous
        self._queue: deque[Sequence] = deque()
        self._active: list[Sequence] = []
        self._progress = 0.0
        self._since = 0.0
        self._turn = 0
        self.busy_s = 0.0
        self.steps_s = 0.0

    @property
    def samples(self) -> int:
        """Samples that are expected of it."""
        return len(self._active) + len(self._queue)

    @property
    def active(self) -> int:
        """Sequences that are running."""
        return len(self._active)

    def add(self, sequences: list[Sequence]) -> None:
        """Queue the samples of a group."""
        self._queue.extend(sequences)
        self.open[sequences[0].number] = len(sequences)
        self._advance()
        self._refill()

    def cancel(self, number: int) -> None:
        """Stop the samples of a group."""
        self._advance()
        self.open.pop(number, None)
        self._queue = deque(one for one in self._queue if one.number != number)
        self._active = [one for one in self._active if one.number != number]
        heapq.heapify(self._active)
        self._refill()

    def stop(self) -> list[int]:
        """Lose everything, and return the groups that were open."""
        self._advance()
        lost, self.open, self.alive = list(self.open), {}, False
        self._queue.clear()
        self._active.clear()
        self._turn += 1
        return lost

    def load(self, version: int, *, recompute: bool) -> None:
        """Go on with the weights of a version. `recompute`: the prefixes run through the model again."""
        self._advance()
        self.version, self.due = version, None
        groups = {one.number for one in self._active}
        for one in self._active:
            one.marks.append((version, self._progress))
        self._stall(self._figures.load_s + (self._figures.prefill_s * len(groups) if recompute else 0.0))
        self._plan()

    # --- time -----------------------------------------------------------------------------------

    def _step_s(self) -> float:
        return max(1e-9, self._figures.step_s + self._figures.sequence_s * len(self._active))

    def _stall(self, seconds: float) -> None:
        self._since = max(self._since, self._clock.now) + seconds

    def _advance(self) -> None:
        """Bring the progress up to now."""
        spent = self._clock.now - self._since
        if spent > 0:
            if self._active:
                self._progress += spent / self._step_s()
                self.busy_s += spent
                self.steps_s += spent * len(self._active)
            self._since = self._clock.now

    def _refill(self) -> None:
        free = self.slots - len(self._active)
        wanted = min(free, len(self._queue))
        few = wanted * REFILL_SHARE < self.slots and wanted < len(self._queue)
        if wanted and not (self._active and (few or not self._continuous)):
            taken = [self._queue.popleft() for _ in range(wanted)]
            for one in taken:
                one.marks, one.end = [(self.version, self._progress)], self._progress + one.tokens - 1
                heapq.heappush(self._active, one)
            self._stall(self._figures.prefill_s * len({one.number for one in taken}))
        self._plan()

    def _plan(self) -> None:
        """Let the next end of a sequence be an event; earlier plans no longer count."""
        self._turn += 1
        if self._active:
            turn, start = self._turn, max(self._since, self._clock.now)
            steps = max(0.0, self._active[0].end - self._progress)
            self._clock.at(start + steps * self._step_s(), lambda: self._end_first(turn))

    def _end_first(self, turn: int) -> None:
        if turn != self._turn:
            return
        self._advance()
        self._progress = max(self._progress, self._active[0].end)
        while self._active and self._active[0].end <= self._progress + 1e-6:
            one = heapq.heappop(self._active)
            self.open[one.number] -= 1
            if not self.open[one.number]:
                del self.open[one.number]
            self._finished(self, one)
        self._refill()
