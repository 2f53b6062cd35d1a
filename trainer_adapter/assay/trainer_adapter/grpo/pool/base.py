"""What the coordinator asks of a pool, and what a pool asks of the coordinator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from assay.client import AssayError
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.rollout.samples import Sample

REFILL_SHARE = 8
"""A worker's refill waits until a slot in so many is free: each one copies the cache."""


class PoolFailed(AssayError):
    """No worker of the pool can sample: they cannot start, or end again and again."""


@dataclass(frozen=True)
class Offer:
    """A worker that can start groups. `version`: of the weights that it holds. `room`: groups that it can start now."""

    worker: int
    version: int
    room: int


class Sink(Protocol):
    """Receives what a pool samples."""

    def deliver(self, sample: Sample) -> None:
        """Take a finished sample."""
        ...

    def enough(self, draw: int) -> bool:
        """Return whether no further sample of a group is wanted."""
        ...


class Pool(Protocol):
    """Samples groups on one worker or more. Not thread-safe; `publish` is called while nothing else is."""

    tokens: int
    """Tokens sampled so far."""
    restarts: int
    """Workers that were lost and replaced so far."""

    def offers(self) -> Sequence[Offer]:
        """Return the workers that can start groups, the one with most room first."""
        ...

    def start(self, worker: int, draw: Any) -> None:
        """Let a worker sample a group: the pool's kind of `Draw`."""
        ...

    def cancel(self, number: int) -> None:
        """Stop sampling a group."""
        ...

    def poll(self, sink: Sink, wait_s: float) -> list[int]:
        """Deliver samples that are finished, waiting up to `wait_s` for one; return the groups whose worker was lost.

        Raises `PoolFailed`.
        """
        ...

    def publish(self, version: int) -> None:
        """Give the trainer's weights to the workers, as version `version`."""
        ...

    @property
    def versions(self) -> Sequence[int]:
        """The version that each worker holds, or will load next."""
        ...

    @property
    def held(self) -> Sequence[int]:
        """The version that each worker samples with."""
        ...

    @property
    def timings(self) -> Timings:
        """What generation took so far, where the pool can measure it."""
        ...

    @property
    def busy(self) -> float:
        """Share of the pool's slots that are sampling, in [0, 1]."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...
