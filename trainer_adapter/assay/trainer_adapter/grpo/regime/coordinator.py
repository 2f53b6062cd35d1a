"""The coordinator: it starts groups as pacing allows, collects their samples and verdicts, and fills the buffer.

    pump:  start groups on workers  ->  poll the pool  ->  collect verdicts  ->  admit, drop or restart groups

It has no thread and no clock of its own: the trainer's process pumps it, and so does the simulator, under a virtual
clock and with a simulated pool. Under several ranks (`Exchange`), every rank holds the same states, samples its share
of the groups, and learns the outcome of the others' when its own are judged.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assay.buffer import Buffer, GroupState, Reason, StoredSample
from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.pool.base import Offer, Pool, Sink

LINGER_S = 0.05
"""Samples wait so long at most for others of the same request: each request costs the trainer's process time."""


class Verdicts(Sink, Protocol):
    """Collects samples and verdicts of open groups: `Scoring`."""

    step: int
    cancelled: int

    def add(self, draw: Any) -> None:
        """Open a group."""
        ...

    def flush(self) -> None:
        """Send what was kept."""
        ...

    def collect(self, *, wait_s: float = 0.0) -> None:
        """Collect the verdicts that have arrived."""
        ...

    def complete(self) -> Sequence[Any]:
        """Close the groups that have what they need, and return them."""
        ...

    def discard(self, number: int) -> None:
        """Forget a group."""
        ...

    @property
    def waiting(self) -> bool:
        """Whether a request is open."""
        ...


@dataclass(frozen=True)
class Exchange:
    """The ranks that share the groups of a round: this one samples every `size`-th, from the `rank`-th on."""

    rank: int = 0
    size: int = 1
    gather: Callable[[list[int]], list[int]] = field(default=lambda values: values)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the coordinator does with groups.

    `draw`: returns the prompt of a draw's number. `row`: returns the row of a draw's number. `gate`: returns why a
    judged group does not enter a batch, or None. `stored`: returns the samples of a group as the buffer stores them.
    `mastered`: returns whether a judged group's row need not be drawn again. `capacity`: admitted groups that are kept.
    `deadline_s`: from a group's start to its last verdict. `rows`: number of rows that can be drawn.
    """

    draw: Callable[[int], Any]
    gate: Callable[[Any], Reason | None]
    stored: Callable[[Any], Iterable[StoredSample]]
    row: Callable[[int], int] = lambda number: number
    mastered: Callable[[Any], bool] = lambda group: False
    capacity: int | None = None
    deadline_s: float | None = None
    rows: int = 1


class Coordinator:
    """Moves the groups of a run from their draw to the buffer."""

    def __init__(
        self, buffer: Buffer, pool: Pool, verdicts: Verdicts, rules: Rules, *, clock: Callable[[], float],
        exchange: Exchange | None = None, restored: Mapping[int, Any] | None = None,
    ) -> None:  # fmt: skip
        """`restored`: the groups of a resumed run that are admitted, or were dropped since its last batch."""
        self.buffer, self.pool = buffer, pool
        self._verdicts, self._rules, self._clock = verdicts, rules, clock
        self._exchange = exchange or Exchange()
        self._waiting = deque(one.number for one in buffer.open.values() if one.state is GroupState.DRAWN)
        self._deadlines: deque[tuple[float, int, int]] = deque()
        self._remote: set[int] = set()
        known = restored or {}
        self._kept = {number: group for number, group in known.items() if number in buffer.open}
        self._dropped = [known[number] for number in buffer.ended_in(buffer.taken + 1) if number in known]
        self.rounds = 0
        self._flushed = -math.inf

    # --- one turn -------------------------------------------------------------------------------

    def pump(self, wait_s: float = 0.0) -> None:
        """Do what can be done now; wait up to `wait_s` for a sample or a verdict if there is nothing."""
        self._verdicts.step = self.buffer.taken + 1
        with self.buffer.changes():
            self._start()
        lost = self.pool.poll(self._verdicts, wait_s)
        self._flush()
        self._verdicts.collect(wait_s=wait_s if self._idle() else 0.0)
        with self.buffer.changes():
            for number in lost:
                self._restart(number)
            self._settle()
            self._expire()
            self._bound()

    def _flush(self) -> None:
        """Send what was kept, unless further samples are about to come that can go with it."""
        now = self._clock()
        if now - self._flushed >= LINGER_S or self.pool.busy == 0.0:
            self._flushed = now
            self._verdicts.flush()

    def _idle(self) -> bool:
        return self._verdicts.waiting and self.pool.busy == 0.0

    def _start(self) -> None:
        started = 0
        if not self._waiting and not any(self.buffer.room(version=version) for version in set(self.pool.versions)):
            return
        for offer in self.pool.offers():
            started += self._fill(offer)
        self.rounds += started > 0

    def _fill(self, offer: Offer) -> int:
        """Start groups on one worker, and return how many."""
        again = len(self._waiting)  # these had their place when they first started
        room = min(offer.room, max(self.buffer.room(version=offer.version), again))
        numbers = [self._next() for _ in range(room)]
        for place, number in enumerate(numbers):
            self.buffer.start(number, version=offer.version)
            if place % self._exchange.size == self._exchange.rank:
                self._sample(offer.worker, number)
            else:
                self._remote.add(number)
        return len(numbers)

    def _sample(self, worker: int, number: int) -> None:
        draw = self._rules.draw(number)
        self._verdicts.add(draw)
        if self._rules.deadline_s is not None:
            attempt = self.buffer.open[number].attempts
            self._deadlines.append((self._clock() + self._rules.deadline_s, number, attempt))
        self.pool.start(worker, draw)

    def _next(self) -> int:
        """Return the group to start: one that must start again, or a new draw whose row is not mastered."""
        while self._waiting:
            number = self._waiting.popleft()
            if number in self.buffer.open:
                return number
        for _ in range(self._rules.rows):
            number = self.buffer.draw()
            if not self.buffer.is_mastered(self._rules.row(number)):
                return number
            self.buffer.drop(number, Reason.MASTERED)
        raise ConfigurationError("every prompt is mastered (regime.mastered): nothing is left to train on")

    # --- outcomes -------------------------------------------------------------------------------

    def _settle(self) -> None:
        for group in self._verdicts.complete():
            self._judge(group)
        if self._remote and not self._running():
            self._learn_of_others()

    def _running(self) -> bool:
        """Whether a group of this rank is running."""
        return any(
            one.state is GroupState.RUNNING and one.number not in self._remote for one in self.buffer.open.values()
        )

    def _judge(self, group: Any) -> None:
        number = group.draw.number
        self.pool.cancel(number)
        self.buffer.judge(number, self._rules.stored(group))
        if self._rules.mastered(group):
            self.buffer.master(self._rules.row(number))
        if self._exchange.size > 1:
            self._kept[number] = group
            return  # its place among the admitted is known once the other ranks are
        self._enter(number, group, self._rules.gate(group))

    def _enter(self, number: int, group: Any, reason: Reason | None) -> None:
        if reason is None:
            self._kept[number] = group
            self.buffer.admit(number)
        else:
            self._dropped.append(group)
            self.buffer.drop(number, reason)

    def _learn_of_others(self) -> None:
        """Exchange the outcomes of a round with the other ranks, and apply all in the order of draws."""
        mine = {
            number: self._rules.gate(group)
            for number, group in self._kept.items()
            if self.buffer.open[number].state is GroupState.JUDGED
        }
        admitted = set(self._exchange.gather([number for number, reason in mine.items() if reason is None]))
        for number in sorted({*mine, *self._remote}):
            if number in self._remote:
                self.buffer.judge(number, ())
            reason = None if number in admitted else mine.get(number) or Reason.ZERO_VARIANCE
            if reason is None:
                self.buffer.admit(number)
            else:
                self._dropped += [self._kept.pop(number)] if number in self._kept else []
                self.buffer.drop(number, reason)
        self._remote.clear()

    def _restart(self, number: int) -> None:
        """Let a group whose worker was lost start again."""
        if number in self.buffer.open and self.buffer.open[number].state is GroupState.RUNNING:
            self._verdicts.discard(number)
            self.buffer.restart(number)
            self._waiting.append(number)

    def _expire(self) -> None:
        """Drop the groups whose deadline is over."""
        while self._deadlines and self._deadlines[0][0] <= self._clock():
            _, number, attempt = self._deadlines.popleft()
            group = self.buffer.open.get(number)
            if group is not None and group.state is GroupState.RUNNING and group.attempts == attempt:
                self.pool.cancel(number)
                self._verdicts.discard(number)
                self.buffer.drop(number, Reason.DEADLINE)

    def _bound(self) -> None:
        """Drop the oldest admitted groups of a full buffer."""
        while self._rules.capacity is not None and self.buffer.admitted > self._rules.capacity:
            oldest = self.buffer.oldest_admitted()
            assert oldest is not None
            self._dropped += [self._kept.pop(oldest)] if oldest in self._kept else []
            self.buffer.drop(oldest, Reason.OVERFLOW)

    # --- batches --------------------------------------------------------------------------------

    def stuck(self) -> bool:
        """Return whether nothing runs, and no worker may start a group at the version that it holds."""
        if self.buffer.running or self._verdicts.waiting:
            return False
        return all(self.buffer.room(version=version) == 0 for version in self.pool.versions)

    def take(self, figures: Callable[[], dict[str, float]]) -> tuple[list[Any], list[Any]] | None:
        """Take the next batch if there is one: its groups, and all that ended since the last, of this rank."""
        chosen = self.buffer.take(figures=lambda _: figures()) if self.buffer.ready() else None
        if chosen is None:
            return None
        train = [self._kept[number] for number in chosen if number in self._kept]
        ended = [group for number, group in self._kept.items() if number not in self.buffer.open]
        every = sorted([*self._dropped, *ended], key=lambda group: group.draw.number)
        self._kept = {number: group for number, group in self._kept.items() if number in self.buffer.open}
        self._dropped, self.rounds = [], 0
        return train, every
