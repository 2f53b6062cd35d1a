"""A simulated pool: what `ProcessPool` does with processes, under the virtual clock."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from assay.trainer_adapter.grpo.pool.base import Offer, Sink
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.run.config import Regime
from assay.trainer_adapter.grpo.simulate.clock import Clock
from assay.trainer_adapter.grpo.simulate.figures import Figures
from assay.trainer_adapter.grpo.simulate.rollouts import SimulatedDraw
from assay.trainer_adapter.grpo.simulate.settings import Simulate
from assay.trainer_adapter.grpo.simulate.worker import Sequence as Running
from assay.trainer_adapter.grpo.simulate.worker import Worker


class SimulatedPool:
    """Workers of equal size. See `assay.trainer_adapter.grpo.pool.base.Pool`."""

    def __init__(
        self, workers: int, slots: int, samples: int, regime: Regime, table: Simulate, figures: Figures, clock: Clock,
        *, continuous: bool,
    ) -> None:  # fmt: skip
        """`slots`: of each worker. `samples`: of a group."""
        self._group, self._regime, self._table, self._clock = samples, regime, table, clock
        self._continuous = continuous
        self._dice = random.Random(1)
        self._workers = [
            Worker(place, slots, figures, clock, self._finish, continuous=continuous) for place in range(workers)
        ]
        self._slots = workers * slots
        self._published = 0
        self._held = Counter({0: workers})
        self._finished: list[Sample] = []
        self._lost: list[int] = []
        self._place: dict[int, Worker] = {}
        self.tokens = self.samples = 0
        self.timings = Timings()
        self.restarts = 0
        for one in self._workers:
            self._plan_failure(one)

    # --- what the coordinator asks ----------------------------------------------------------------

    def offers(self) -> Sequence[Offer]:
        """Return the workers with a free slot, the emptiest first; with `finish`, not those that wait for weights."""
        if not self._continuous:
            return [Offer(0, self._published, 1 << 30)]
        finish = self._regime.in_flight == "finish"
        found = [
            Offer(one.place, one.version, -(-(one.slots - one.samples) // self._group))
            for one in self._workers
            if one.alive and one.samples < one.slots and not (finish and one.due is not None)
        ]
        return sorted(found, key=lambda offer: -offer.room)

    def start(self, worker: int, draw: SimulatedDraw) -> None:
        """Let a worker sample a group."""
        one = self._workers[worker]
        self._place[draw.number] = one
        one.add([Running(0.0, draw.number, index, tokens) for index, tokens in enumerate(draw.lengths)])

    def cancel(self, number: int) -> None:
        """Stop sampling a group."""
        one = self._place.pop(number, None)
        if one is not None and number in one.open:
            one.cancel(number)
            self._load_due(one)

    def poll(self, sink: Sink, wait_s: float) -> list[int]:
        """Deliver the samples that are finished; return the groups whose worker was lost."""
        finished, self._finished = self._finished, []
        for sample in finished:
            sink.deliver(sample)
            if sink.enough(sample.draw):
                self.cancel(sample.draw)
        lost, self._lost = self._lost, []
        return lost

    def _finish(self, worker: Worker, one: Running) -> None:
        self.tokens += one.tokens
        self.samples += 1
        self._finished.append(Sample(one.number, one.index, [], [], [], "", False, spans=one.spans()))
        self._load_due(worker)

    # --- weights ----------------------------------------------------------------------------------

    def publish(self, version: int) -> None:
        """Let every worker load the weights of a version as `regime.in_flight` says."""
        self._published = version
        for one in self._workers:
            self._set_due(one, version)
            self._load_due(one)

    def _set_due(self, worker: Worker, version: int) -> None:
        self._held[worker.version if worker.due is None else worker.due] -= 1
        self._held[version] += 1
        self._held += Counter()
        worker.due = version

    def _load_due(self, worker: Worker) -> None:
        finish = self._regime.in_flight == "finish"
        if worker.due is None or not worker.alive or (finish and worker.open):
            return
        worker.load(worker.due, recompute=self._regime.in_flight == "abort" or self._regime.kv == "recompute")

    @property
    def versions(self) -> Sequence[int]:
        """The versions that workers hold, or will load next; each once."""
        return list(self._held)

    @property
    def held(self) -> Sequence[int]:
        """The version that each worker samples with."""
        return [one.version for one in self._workers]

    @property
    def busy(self) -> float:
        """Share of the slots that are sampling."""
        return min(1.0, sum(one.active for one in self._workers) / self._slots)

    def slot_seconds(self) -> float:
        """Return the seconds that slots were sampling so far, added up."""
        return sum(one.steps_s for one in self._workers)

    # --- failures ---------------------------------------------------------------------------------

    def _plan_failure(self, worker: Worker) -> None:
        if self._table.failure_every_s is not None:
            self._clock.after(self._dice.expovariate(1 / self._table.failure_every_s), lambda: self._fail(worker))

    def _fail(self, worker: Worker) -> None:
        self._lost += worker.stop()
        self.restarts += 1
        self._clock.after(self._table.restart_s, lambda: self._restart(worker))

    def _restart(self, worker: Worker) -> None:
        worker.alive = True
        self._set_due(worker, self._published)
        self._load_due(worker)
        self._plan_failure(worker)

    def close(self) -> None:
        """Nothing is held."""
