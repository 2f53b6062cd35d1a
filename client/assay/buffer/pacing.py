"""When a further group may start: admission by count, which bounds the lag of what trains.

A group starts on a worker that holds version g only while

    accepted + running < (lag + g + 1) * B

with B groups a batch, `accepted` the groups that batches took or may take since the run began, and `running` all that
have started and are not judged. Batches follow the order of draws, so a group's place among the accepted ones is at
most `accepted + running` at its start, and the batch of place p is trained by version p // B: at most `lag` versions
after g. Slow groups are never discarded for being slow (AReaL, arXiv:2505.24298, has the same count with the trainer's
version for g, which does not bound the lag while workers hold older weights).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

UNBOUNDED = 1 << 30


@dataclass(frozen=True)
class Pacing:
    """The rule. `batch`: groups a batch. `lag`: in versions. `waits`: whether generators wait; if not, the lag is only
    a bound above which groups are dropped when a batch is taken.

    `over_sampling`: groups that may run, over those that are missing. Above 1 the bound no longer holds by itself; what
    would exceed it is dropped as stale when a batch is taken.
    """

    batch: int
    lag: int
    over_sampling: float = 1.0
    waits: bool = True

    def room(self, *, accepted: int, running: int, version: int) -> int:
        """Return how many further groups may start on a worker that holds `version`."""
        if not self.waits:
            return UNBOUNDED
        missing = (self.lag + version + 1) * self.batch - accepted
        return max(0, math.ceil(missing * self.over_sampling) - running) if missing > 0 else 0

    def stale(self, *, version: int, step: int) -> bool:
        """Return whether a group that started at `version` exceeds the lag in batch `step` (counted from 1)."""
        return step - 1 - version > self.lag
