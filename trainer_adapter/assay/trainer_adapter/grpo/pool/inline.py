"""A pool of one worker in the trainer's process: all groups that were started are sampled in one go, in chunks.

The weights are the trainer's own, or those of a server that is synchronised with it. Generation and training alternate,
so only `regime.kind = "sync"` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.trainer_adapter.grpo.pool.base import Offer, Sink
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.generate import Deliver, Enough
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sequence import Sampling

UNBOUNDED = 1 << 30


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


class InlinePool:
    """One worker in this process."""

    def __init__(self, generator: Generator, how: Sampling, *, version: int = 0) -> None:
        """`version`: that the generator holds; -1: weights that are not the trainer's."""
        self._generator, self._how = generator, how
        self._version = version
        self._queued: dict[int, Draw] = {}
        self.timings = Timings()
        self.restarts = 0
        self.tokens = 0
        """Tokens sampled so far for training: the evaluation uses the same generator."""

    @property
    def versions(self) -> Sequence[int]:
        """The trainer's version: the weights are the same."""
        return [self._version]

    @property
    def held(self) -> Sequence[int]:
        """The same."""
        return self.versions

    @property
    def busy(self) -> float:
        """0: nothing is sampled between calls."""
        return 0.0

    def offers(self) -> Sequence[Offer]:
        """Return an offer without bound: what is started is sampled in the next `poll`."""
        return [Offer(0, self._version, UNBOUNDED)]

    def start(self, worker: int, draw: Draw) -> None:
        """Queue a group."""
        self._queued[draw.number] = draw

    def cancel(self, number: int) -> None:
        """Remove a group from the queue."""
        self._queued.pop(number, None)

    def poll(self, sink: Sink, wait_s: float) -> list[int]:
        """Sample all queued groups. No group is ever lost; a generator's failure is raised."""
        draws, self._queued = list(self._queued.values()), {}

        def deliver(sample: Sample) -> None:
            sample.spans = [(self._version, sample.tokens)]
            sink.deliver(sample)

        before = self._generator.tokens
        if draws:
            self._generator.run(draws, self._how, deliver, sink.enough)
        self.tokens += self._generator.tokens - before
        return []

    def publish(self, version: int) -> None:
        """Synchronise the generator with the trainer."""
        self._generator.sync(version)
        self._version = version

    def close(self) -> None:
        """Release the generator."""
        self._generator.close()
