"""The batches of a run, in order: collected by the coordinator, or replayed as the buffer recorded them.

In the `sync` regime the trainer pumps the coordinator while it waits for a batch. In the others a thread does, so that
generation goes on while the trainer computes; the trainer publishes its weights between updates, or while it waits
where nothing may start without them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from assay.buffer import Buffer, BufferFailed, Pacing
from assay.client import AssayError
from assay.trainer_adapter.grpo.pool.base import Pool
from assay.trainer_adapter.grpo.regime.coordinator import Coordinator, Exchange, Rules
from assay.trainer_adapter.grpo.regime.measured import Measured
from assay.trainer_adapter.grpo.regime.stored import restored, stored
from assay.trainer_adapter.grpo.rollout.data import Prompts
from assay.trainer_adapter.grpo.rollout.outcome import Collected, gate_of
from assay.trainer_adapter.grpo.rollout.samples import Group
from assay.trainer_adapter.grpo.rollout.scoring import Scoring
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.ranks import Ranks

WAIT_S = 0.05
"""Longest wait for a sample or a verdict in one turn of the coordinator."""
TURN_S = 0.01
"""Pause between two turns of the thread, in which the trainer may take a batch."""
FILE = "buffer.sqlite"
CAPACITY = 4
"""Batches that the buffer holds in `fully_async`, if `regime.capacity` does not say."""


class RolloutsFailed(AssayError):
    """The rollout buffer cannot be read or written."""


def make_buffer(run: Run, path: Path | None, *, fingerprint: str = "", cursor: int = 0) -> Buffer:
    """Return the buffer of a run's regime; `path` None keeps it in memory. Raises `BufferFailed`."""
    regime, batch = run.regime, run.rollout.prompts
    dynamic = run.algorithm.preset().dynamic_sampling
    return Buffer(
        path,
        pacing=Pacing(
            batch=batch,
            lag=regime.lag,
            over_sampling=run.algorithm.over_sampling if dynamic else 1.0,
            waits=regime.kind != "fully_async",
        ),
        fingerprint=fingerprint,
        order="finished" if regime.kind == "fully_async" else "draw",
        max_draws=batch * run.algorithm.max_rounds if dynamic else None,
        first=cursor,
    )


def capacity_of(run: Run) -> int | None:
    """Return how many groups the buffer holds in `fully_async`; None where pacing bounds it."""
    if run.regime.kind != "fully_async":
        return None
    return run.regime.capacity or CAPACITY * run.rollout.prompts


def open_buffer(run: Run, out: Path, *, fingerprint: str, cursor: int, ranks: Ranks) -> Buffer:
    """Return the buffer of a run in its folder. Raises `RolloutsFailed`."""
    path = out / (FILE if ranks.first else f"buffer-{ranks.rank}.sqlite")
    try:
        return make_buffer(run, path, fingerprint=fingerprint, cursor=cursor)
    except BufferFailed as error:
        raise RolloutsFailed(str(error)) from None


def _mastered(run: Run) -> Callable[[Group], bool]:
    bound = run.regime.mastered

    def reached(group: Group) -> bool:
        scores = [sample.grade.score for sample in group.samples if sample.grade and sample.grade.score is not None]
        return bound is not None and bool(scores) and sum(score == 1 for score in scores) / len(scores) >= bound

    return reached


class Rollouts:
    """Gives the trainer its batches."""

    def __init__(
        self, run: Run, buffer: Buffer, pool: Pool, scoring: Scoring, prompts: Prompts, ranks: Ranks, *, step: int
    ) -> None:
        """`step`: the last step whose update is in the trainer's weights."""
        self._run, self.buffer, self.pool, self.scoring = run, buffer, pool, scoring
        self._prompts, self._ranks = prompts, ranks
        self.version = step
        self._replays = buffer.recorded(after=step)
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._ended = False
        self._cancelled = self._tokens = 0
        self._collects = False
        self._busy: list[float] = []
        self._publications = 0
        self._counted: dict[str, int] = {}
        self._measured = Measured()
        self._first = buffer.taken + 1
        self.coordinator = self._make_coordinator()

    def _make_coordinator(self) -> Coordinator:
        wanted = {one.number for one in self.buffer.open.values() if one.state.value == "admitted"}
        wanted |= set(self.buffer.ended_in(self.buffer.taken + 1))
        rules = Rules(
            draw=self._prompts.draw,
            row=self._prompts.row_of,
            gate=gate_of(self._run),
            stored=stored,
            mastered=_mastered(self._run),
            capacity=capacity_of(self._run),
            deadline_s=self._run.regime.group_deadline_s,
            rows=len(self._prompts),
        )
        return Coordinator(
            self.buffer, self.pool, self.scoring, rules, clock=time.monotonic,
            exchange=Exchange(self._ranks.rank, self._ranks.size, self._ranks.gather),
            restored={number: self._restored(number) for number in wanted},
        )  # fmt: skip

    def _restored(self, number: int) -> Group:
        return restored(self._prompts.draw(number), self.buffer.samples(number))

    # --- batches --------------------------------------------------------------------------------

    def collect(self, step: int) -> Collected:
        """Return the batch of step `step`. Raises `RolloutsFailed`, `PoolFailed` and what the scoring raises."""
        try:
            if step in self._replays:
                return self._replay(step)
            return self._collect()
        except BufferFailed as error:
            raise RolloutsFailed(str(error)) from None

    def _replay(self, step: int) -> Collected:
        figures = self._replays.pop(step)
        train, every = self.buffer.trained_in(step), self.buffer.ended_in(step)
        groups = {number: self._restored(number) for number in {*train, *every}}
        return Collected(
            [groups[number] for number in train], [groups[number] for number in every], figures,
            int(figures["cursor"]),
        )  # fmt: skip

    def _collect(self) -> Collected:
        if not self._collects:
            self._collects = True
            self.publish_now()
            self._start_thread()
        start = time.monotonic()
        while (taken := self._taken()) is None:
            self._wait()
            self._publish_if_stuck()
        train, every = taken
        figures = self._figures
        latencies, self.scoring.latencies_s = self.scoring.latencies_s, []
        if self.buffer.taken > self._first:  # the first verdicts wait for a cold engine
            self._measured.add_verdicts(latencies)
        return Collected(
            train, every, figures, int(figures["cursor"]), generate_s=time.monotonic() - start, latencies_s=latencies
        )

    def _start_thread(self) -> None:
        if self._run.regime.kind != "sync":
            self._thread = threading.Thread(target=self._pump_always, name="assay-rollouts", daemon=True)
            self._thread.start()

    def _taken(self) -> tuple[list[Group], list[Group]] | None:
        with self._lock:
            self._raise_failure()
            return self.coordinator.take(self._batch_figures)

    def _batch_figures(self) -> dict[str, float]:
        cancelled, tokens = self.scoring.cancelled, self.pool.tokens
        self._figures: dict[str, float] = {
            "rounds": self.coordinator.rounds,
            "cancelled": cancelled - self._cancelled,
            "tokens": tokens - self._tokens,
            "cursor": self.buffer.next_number,
            "publication_lag": self.version - min(self.pool.held),
            **self._state(),
        }
        self._cancelled, self._tokens = cancelled, tokens
        return self._figures

    def _state(self) -> dict[str, float]:
        """Return the state of buffer and pool, for the metrics."""
        dropped = {
            name.replace(":", "_"): count
            for name, count in self.buffer.accounts().items()
            if name.startswith("dropped")
        }
        busy, self._busy = self._busy, []
        inline = self._run.regime.workers == 0 and self._run.generator.kind == "local"
        return {
            "buffer_admitted": self.buffer.admitted, "buffer_running": self.buffer.running, **dropped,
            **({"pool_busy": sum(busy) / len(busy)} if busy and not inline else {}),
            **self._since_last(),
        }  # fmt: skip

    def _since_last(self) -> dict[str, float]:
        """Return the publications and restarts since the last batch."""
        counts = {"publications": self._publications, "pool_restarts": self.pool.restarts}
        found = {name: count - self._counted.get(name, 0) for name, count in counts.items()}
        self._counted = counts
        return dict(found)

    def _pump(self, wait_s: float) -> None:
        self.coordinator.pump(wait_s)
        self._busy.append(self.pool.busy)

    def _publish(self) -> None:
        self.pool.publish(self.version)
        self._publications += 1

    def _wait(self) -> None:
        """Pump, or let the thread pump, until something may have changed."""
        if self._thread is None:
            self._pump(WAIT_S)
            return
        with self._lock:
            self._lock.wait(WAIT_S)

    def _publish_if_stuck(self) -> None:
        with self._lock:
            if self.coordinator.stuck() and min(self.pool.versions) < self.version:
                self._publish()

    def _pump_always(self) -> None:
        try:
            while not self._ended:
                with self._lock:
                    if self._ended:
                        return
                    self._pump(0.0)
                    self._lock.notify_all()
                time.sleep(TURN_S)
        except BaseException as error:
            with self._lock:
                self._failed = error
                self._lock.notify_all()

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._failed

    # --- weights and the end -----------------------------------------------------------------------

    def publish(self, step: int) -> None:
        """Record that the trainer's weights are those after step `step`, and publish them where they are due."""
        with self._lock:
            self.version = step
            if step % self._run.regime.publish_every == 0 and step not in self._replays and not self._replays:
                self._publish()

    def publish_now(self, *, wait: bool = False) -> None:
        """Publish the trainer's weights where workers hold older ones. `wait`: until all have loaded them."""
        with self._lock:
            if min(self.pool.versions) < self.version:
                self._publish()
        while wait and min(self.pool.held) < self.version:
            self._raise_failure()
            self._wait()

    def write_timings(self, out: Path) -> None:
        """Write what generation and verdicts took so far into the folder of the run."""
        with self._lock:
            self._measured.write(out, self.pool.timings)

    def prune(self, step: int) -> None:
        """Delete stored tokens that no checkpoint can need: those of batches up to `step`."""
        with self._lock:
            self.buffer.prune(step)

    def close(self, *, ended: bool) -> None:
        """End the pool and close the buffer; what is open is returned to the data set if the run has `ended`."""
        self._ended = True
        if self._thread is not None:
            self._thread.join(timeout=60)
        self.scoring.abandon()
        self.pool.close()
        if ended:
            self.buffer.end()
        self.buffer.close()
