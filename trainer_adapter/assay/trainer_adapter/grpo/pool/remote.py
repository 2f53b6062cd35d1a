"""A pool of servers (vLLM, SGLang): each one samples groups while its slots last, and loads weights on request.

Requests run on an event loop in a thread. A server that fails loses its groups, which start again on another, and is
asked again after a pause; the pool has failed when no server has answered for `generator.timeout_s`.

Which weights sampled a token is known by request: those that the server held when it began. A request that weights
overtake (`in_flight = "swap"`) counts under the older version, which makes its lag an upper bound; `piece_tokens` cuts
requests shorter. With `abort` the unfinished requests are cancelled and go on from their prefix under the new weights.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.pool.base import Offer, PoolFailed, Sink
from assay.trainer_adapter.grpo.pool.timings import Timings
from assay.trainer_adapter.grpo.pool.weights import Weights
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.rollout.server_client import (
    GeneratorFailed,
    GeneratorRefused,
    ServerClient,
    clients_of,
)
from assay.trainer_adapter.grpo.rollout.servers import check_lora
from assay.trainer_adapter.grpo.run.config import Run

PAUSE_S = 1.0
"""Pause before a server that failed is asked again."""


@dataclass
class _Server:
    """One server.

    `open`: the tasks of each group. `version`: of the weights that it holds; -1: those of its start, or of a run
    before. `loading`: of those that it was told to load. `due`: of newer ones, which it is not told yet. `restored`: it
    has loaded weights and not failed since. `asked`: the version that it held when each open request began.
    """

    place: int
    client: ServerClient
    http: httpx.AsyncClient
    version: int = -1
    due: int | None = None
    loading: int | None = None
    restored: bool = False
    down_until: float = 0.0
    asked: list[int] = field(default_factory=list)
    open: dict[int, set[asyncio.Task[None]]] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        """Samples that it is asked for."""
        return sum(map(len, self.open.values()))


class ServerPool:
    """The servers of one run. Its methods run on the coordinator's thread, what they start on the loop's."""

    def __init__(self, run: Run, policy: Policy, folder: Path, how: Sampling) -> None:
        check_lora(run.generator, policy)
        self._run, self._how = run, how
        self._weights = Weights(policy, folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="assay-servers", daemon=True)
        self._thread.start()
        self._servers = [
            _Server(place, client, client.http())
            for place, client in enumerate(clients_of(run.generator, policy.tokenizer, tries=2))
        ]
        self._events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._published: int | None = None
        self._fault, self._fault_since = "", 0.0
        self.tokens = 0
        self.restarts = 0
        self.timings = Timings()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # --- sampling, on the loop's thread -------------------------------------------------------------

    async def _start(self, server: _Server, draw: Draw) -> None:
        tasks = {asyncio.create_task(self._sample(server, draw, index)) for index in range(self._how.samples)}
        server.open[draw.number] = tasks
        for task in tasks:
            task.add_done_callback(tasks.discard)

    async def _sample(self, server: _Server, draw: Draw, index: int) -> None:
        sample = Sample(draw.number, index, [], [], [], "", truncated=True)
        while True:
            asked = asyncio.create_task(
                server.client.sample(
                    server.http, draw, index, self._how, version=lambda: server.version,
                    piece_tokens=self._run.generator.piece_tokens, sample=sample,
                )
            )  # fmt: skip
            aborted = await self._until_done_or_aborted(server, asked)
            if not aborted:
                break
        self._say(server, "sample", asked)

    def _say(self, server: _Server, kind: str, done: asyncio.Task[Any]) -> None:
        """Report the outcome of a finished task of a server."""
        error = done.exception()
        if error is None:
            self._events.put((kind, done.result()))
        elif isinstance(error, GeneratorFailed) and not isinstance(error, GeneratorRefused):
            self._events.put(("down", (server.place, str(error))))
        else:
            self._events.put(("failed", error))

    async def _until_done_or_aborted(self, server: _Server, asked: asyncio.Task[Sample]) -> bool:
        """Wait for a request; return whether weights that came meanwhile have cancelled it."""
        held = server.version
        server.asked.append(held)
        try:
            while True:
                await asyncio.wait({asked}, timeout=0.02 if self._run.regime.in_flight == "abort" else None)
                if asked.done():
                    return False
                if server.version != held:
                    asked.cancel()
                    await asyncio.wait({asked})
                    return asked.cancelled()
        except asyncio.CancelledError:
            asked.cancel()
            raise
        finally:
            server.asked.remove(held)

    async def _cancel(self, server: _Server, number: int) -> None:
        tasks = server.open.pop(number, set())
        for task in list(tasks):
            task.cancel()

    async def _load(self, server: _Server, version: int) -> None:
        async def work() -> tuple[int, int]:
            await server.client.load(server.http, self._weights.path(version), version)
            return server.place, version

        task = asyncio.create_task(work())
        await asyncio.wait({task})
        self._say(server, "loaded", task)

    # --- what the coordinator asks --------------------------------------------------------------------

    def offers(self) -> Sequence[Offer]:
        """Return the servers with a free slot that hold the weights they should, the emptiest first."""
        slots, now = self._run.generator.batch, time.monotonic()
        found = [
            Offer(one.place, one.version, -(-(slots - one.samples) // self._how.samples))
            for one in self._servers
            if one.down_until <= now and self._usable(one) and one.samples < slots
        ]
        return sorted(found, key=lambda offer: -offer.room)

    def _usable(self, server: _Server) -> bool:
        """Return whether a server holds the weights that it should, and may start a group."""
        return server.restored and server.loading is None and not self._must_finish(server)

    def _must_finish(self, server: _Server) -> bool:
        return server.due is not None and self._run.regime.in_flight == "finish"

    def start(self, worker: int, draw: Draw) -> None:
        """Ask a server for the samples of a group."""
        self._do(self._start(self._servers[worker], draw))

    def cancel(self, number: int) -> None:
        """Cancel the requests of a group."""
        for one in self._servers:
            if number in one.open:
                self._do(self._cancel(one, number))

    def poll(self, sink: Sink, wait_s: float) -> list[int]:
        """Deliver samples; return the groups of servers that failed. Raises `PoolFailed`."""
        lost: list[int] = []
        while (event := self._event(wait_s)) is not None:
            wait_s = 0.0
            kind, value = event
            if kind == "sample":
                self._deliver(value, sink)
            elif kind == "down":
                lost += self._down(*value)
            elif kind == "failed":
                raise value
            else:
                self._loaded(*value)
        for one in self._servers:
            self._load_due(one)
        if self._fault and time.monotonic() - self._fault_since > self._run.generator.timeout_s:
            raise PoolFailed(f"no generator server has answered since: {self._fault}")
        return lost

    def _event(self, wait_s: float) -> tuple[str, Any] | None:
        try:
            return self._events.get(timeout=wait_s) if wait_s else self._events.get_nowait()
        except queue.Empty:
            return None

    def _deliver(self, sample: Sample, sink: Sink) -> None:
        self._fault = ""
        if not any(sample.draw in one.open for one in self._servers):
            return  # cancelled meanwhile
        self.tokens += sample.tokens
        sink.deliver(sample)
        if sink.enough(sample.draw):
            self.cancel(sample.draw)

    def _down(self, place: int, fault: str) -> list[int]:
        server = self._servers[place]
        lost = list(server.open)
        for number in lost:
            self._do(self._cancel(server, number))
        now = time.monotonic()
        if not self._fault:
            self._fault, self._fault_since = fault, now
        server.down_until, server.loading = now + PAUSE_S, None
        if self._published is not None:
            server.restored, server.due = False, self._published
        return lost

    # --- weights ---------------------------------------------------------------------------------------

    def publish(self, version: int) -> None:
        """Write the weights, and let every server load them as `regime.in_flight` says."""
        self._weights.write(version, keep=self._in_use(version))
        self._published = version
        for one in self._servers:
            one.due = version
            self._load_due(one)

    def _in_use(self, version: int) -> set[int]:
        """Return the older versions whose files a server may still read: what it loads, and adapters of open requests.

        vLLM keeps a few adapters in memory, and reads one again when a request needs it.
        """
        used = {one.loading for one in self._servers if one.loading is not None}
        if self._run.generator.sync == "vllm_lora":
            used |= set(
                range(min([held for one in self._servers for held in list(one.asked)], default=version), version)
            )
        return used

    def _load_due(self, server: _Server) -> None:
        away = server.loading is not None or server.down_until > time.monotonic()
        if server.due is None or away or (self._must_finish(server) and server.open):
            return
        server.loading = server.due
        asyncio.run_coroutine_threadsafe(self._load(server, server.due), self._loop)

    def _loaded(self, place: int, version: int) -> None:
        server = self._servers[place]
        self._fault = ""
        server.version, server.loading, server.restored = version, None, True
        if server.due == version:
            server.due = None

    @property
    def versions(self) -> Sequence[int]:
        """The version that each server holds, or will load next."""
        return [one.version if one.due is None else one.due for one in self._servers]

    @property
    def held(self) -> Sequence[int]:
        """The version that each server samples with."""
        return [one.version for one in self._servers]

    @property
    def busy(self) -> float:
        """Share of the slots that are sampling."""
        whole = self._run.generator.batch * len(self._servers)
        return min(1.0, sum(one.samples for one in self._servers) / whole)

    def close(self) -> None:
        """Cancel what runs and end the thread; the servers belong to somebody else."""
        for one in self._servers:
            for number in list(one.open):
                self._do(self._cancel(one, number))
            self._do(one.http.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()
