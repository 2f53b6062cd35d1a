"""A pool of worker processes, each with a copy of the policy; weights reach them as folders of safetensors.

A worker that ends, or is silent while it should sample, is replaced after a pause that doubles, and its groups start
again. A pool none of whose workers can start, or whose workers end again and again without a sample, has failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import torch

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.base import Offer, PoolFailed, Sink
from assay.trainer_adapter.grpo.pool.messages import receive, sample_of, send
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.pool.weights import Weights
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.run.config import Run

SILENCE_S = 300.0
"""Longest silence of a worker that loads or samples; then it counts as lost."""
DEATHS = 6
"""Deaths of workers in a row, without a sample in between, that end the run."""
PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0


@dataclass
class _Worker:
    """One process.

    `open`: samples that are expected of each group. `version`: of the weights it was told to load, which it does
    before it starts a further group; `held`: of those it said it has; `loading`: an answer is due. `due`: a newer
    version.
    """

    place: int
    process: subprocess.Popen[bytes]
    connection: Connection
    ready: bool = False
    version: int = 0
    held: int = 0
    loading: bool = False
    due: int | None = None
    open: dict[int, int] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)
    heard: float = field(default_factory=time.monotonic)

    @property
    def samples(self) -> int:
        """Samples that are expected of it."""
        return sum(self.open.values())


class ProcessPool:
    """The workers of one run."""

    def __init__(self, run: Run, policy: Policy, folder: Path, how: Sampling) -> None:
        self._run, self._how = run, how
        self._weights = Weights(policy, folder)
        self._published: int | None = None
        self._slots = max(run.generator.batch // run.regime.workers, how.samples)
        self._deaths = 0
        self._again: dict[int, float] = {}
        self._lost: list[int] = []
        self.tokens = 0
        self._spent = Timings()
        self.restarts = 0
        self._workers = {place: self._spawn(place) for place in range(run.regime.workers)}

    # --- processes ------------------------------------------------------------------------------

    def _spawn(self, place: int) -> _Worker:
        here, there = Pipe()
        with there:
            process = subprocess.Popen(
                [sys.executable, "-m", "assay.trainer_adapter.grpo.pool.worker", str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
            )
        worker = _Worker(place, process, here)
        self._tell(worker, "settings", **self._settings(place))
        worker.due = self._published
        return worker

    def _settings(self, place: int) -> dict[str, Any]:
        run, how = self._run, self._how
        thinking = None if how.thinking is None else how.thinking.model_dump()
        return {
            "model": {**run.model.model_dump(mode="json"), "device": _device(run.model.device, place)},
            "sampling": {**asdict(how), "thinking": thinking},
            "slots": self._slots,
            "threads": run.threads or max(1, (os.cpu_count() or 1) // (run.regime.workers + 1)),
        }

    def _tell(self, worker: _Worker, kind: str, **fields: Any) -> None:
        """Send a message; a worker that is gone is noticed when it is polled."""
        try:
            send(worker.connection, kind, **fields)
        except OSError:
            worker.heard = -SILENCE_S

    def _bury(self, worker: _Worker) -> None:
        """End a worker's process, note its groups as lost, and when its successor starts. Raises `PoolFailed`."""
        worker.process.kill()
        code = worker.process.wait()
        worker.connection.close()
        del self._workers[worker.place]
        self._lost += worker.open
        self._spent += worker.timings
        self._deaths += 1
        self.restarts += 1
        if self._deaths >= DEATHS:
            raise PoolFailed(
                f"workers of the generation pool ended {self._deaths} times in a row without a sample (exit status "
                f"{code}); see their messages above"
            )
        self._again[worker.place] = time.monotonic() + min(PAUSE_S * 2 ** (self._deaths - 1), LONGEST_PAUSE_S)

    def _replace(self) -> None:
        now = time.monotonic()
        for place in [place for place, at in self._again.items() if at <= now]:
            del self._again[place]
            self._workers[place] = self._spawn(place)

    # --- what the coordinator asks ----------------------------------------------------------------

    def offers(self) -> Sequence[Offer]:
        """Return the workers with a free slot, the emptiest first; with `finish`, not those that wait for weights."""
        finish = self._run.regime.in_flight == "finish"
        found = [
            Offer(one.place, one.version, -(-(self._slots - one.samples) // self._how.samples))
            for one in self._workers.values()
            if one.ready and one.samples < self._slots and not (finish and one.due is not None)
        ]
        return sorted(found, key=lambda offer: -offer.room)

    def start(self, worker: int, draw: Draw) -> None:
        """Let a worker sample a group."""
        one = self._workers[worker]
        if not one.open:
            one.heard = time.monotonic()
        one.open[draw.number] = self._how.samples
        self._tell(one, "start", number=draw.number, prompt=list(draw.prompt.ids))

    def cancel(self, number: int) -> None:
        """Stop sampling a group."""
        for one in self._workers.values():
            if one.open.pop(number, None) is not None:
                self._tell(one, "cancel", number=number)
                self._load_due(one)

    def poll(self, sink: Sink, wait_s: float) -> list[int]:
        """Deliver samples; replace workers that are gone and return their groups. Raises `PoolFailed`."""
        self._replace()
        by_connection = {one.connection: one for one in self._workers.values()}
        for connection in wait(list(by_connection), wait_s if by_connection else 0.0):
            self._read(by_connection[connection], sink)  # type: ignore[index]
        if not by_connection:
            time.sleep(wait_s)
        now = time.monotonic()
        for one in list(self._workers.values()):
            if now - one.heard > SILENCE_S and (one.open or not one.ready):
                self._bury(one)
        lost, self._lost = self._lost, []
        return lost

    def _read(self, worker: _Worker, sink: Sink) -> None:
        try:
            while worker.connection.poll(0):
                self._hear(worker, receive(worker.connection), sink)
        except (EOFError, OSError, ValueError):
            self._bury(worker)

    def _hear(self, worker: _Worker, message: dict[str, Any], sink: Sink) -> None:
        worker.heard = time.monotonic()
        if message["kind"] == "ready":
            worker.ready = True
            self._load_due(worker)
        elif message["kind"] == "loaded":
            worker.loading, worker.held = False, message["version"]
            self._load_due(worker)
        elif message["kind"] == "beat":
            worker.timings = Timings.of(message["timings"])
        elif message["kind"] == "sample":
            self._deliver(worker, message, sink)

    def _deliver(self, worker: _Worker, message: dict[str, Any], sink: Sink) -> None:
        sample = sample_of(message)
        if sample.draw not in worker.open:
            return  # cancelled meanwhile
        self._deaths = 0
        self.tokens += sample.tokens
        worker.open[sample.draw] -= 1
        if not worker.open[sample.draw]:
            del worker.open[sample.draw]
        sink.deliver(sample)
        if sample.draw in worker.open and sink.enough(sample.draw):
            self.cancel(sample.draw)
        self._load_due(worker)

    # --- weights ----------------------------------------------------------------------------------

    def publish(self, version: int) -> None:
        """Write the weights, and let every worker load them as `regime.in_flight` says."""
        start = time.monotonic()
        self._weights.write(version, keep={one.version for one in self._workers.values() if one.loading})
        self._spent.publish.add(1.0, time.monotonic() - start)
        self._published = version
        for one in self._workers.values():
            one.due = version
            self._load_due(one)

    def _load_due(self, worker: _Worker) -> None:
        """Let a worker load the newest weights, unless it still loads others, or must finish its groups first."""
        regime = self._run.regime
        waits = not worker.ready or worker.loading or (regime.in_flight == "finish" and worker.open)
        if worker.due is None or waits:
            return
        worker.version, worker.due, worker.loading = worker.due, None, True
        recompute = regime.in_flight == "abort" or regime.kv == "recompute"
        path = str(self._weights.path(worker.version).resolve())
        self._tell(worker, "load", version=worker.version, path=path, recompute=recompute)

    @property
    def versions(self) -> Sequence[int]:
        """The version that each worker holds, or will load next."""
        return [one.version if one.due is None else one.due for one in self._workers.values()] or [self._published or 0]

    @property
    def timings(self) -> Timings:
        """The sums over all workers, those that ended included."""
        whole = Timings()
        for one in (self._spent, *(worker.timings for worker in self._workers.values())):
            whole += one
        return whole

    @property
    def held(self) -> Sequence[int]:
        """The version that each worker samples with."""
        return [one.held for one in self._workers.values()] or [self._published or 0]

    @property
    def busy(self) -> float:
        """Share of the slots that are sampling."""
        whole = self._slots * self._run.regime.workers
        return min(1.0, sum(one.samples for one in self._workers.values()) / whole)

    @property
    def processes(self) -> list[int]:
        """Process ids of the workers."""
        return [one.process.pid for one in self._workers.values()]

    def close(self) -> None:
        """End the workers."""
        for one in self._workers.values():
            self._tell(one, "stop")
            one.process.terminate()
        for one in self._workers.values():
            try:
                one.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait()
            one.connection.close()
        self._workers.clear()


def _device(name: str, place: int) -> str:
    """Return the device of a worker: on a machine with several GPUs, those after the trainer's, in turn."""
    count = torch.cuda.device_count() if name == "auto" and torch.cuda.is_available() else 0
    return f"cuda:{1 + place % (count - 1)}" if count > 1 else name
