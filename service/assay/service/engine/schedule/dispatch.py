"""Gives tickets to lanes and carries out what `blame.decide` says of a report, a failure or a death.

Tickets wait in one fair queue for each kind of lane, or in a line for those that must run alone on a fresh lane.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable

from assay.service.engine import reports
from assay.service.engine.kinds import EXCLUSIVE, FIRST_COST_US, LaneKind
from assay.service.engine.protocol import Chunk, Job, Phase, Report, Reports
from assay.service.engine.schedule.blame import (
    Died,
    Displaced,
    Event,
    QueuePlace,
    Reported,
    Retry,
    Settle,
    Stage,
    decide,
)
from assay.service.engine.schedule.queue import FairQueue
from assay.service.engine.schedule.tickets import Ticket
from assay.service.engine.settings import EngineSettings
from assay.service.engine.workers.lane import EngineLane
from assay.service.engine.workers.lanes import Lanes
from assay.service.engine.workers.sandboxes import SandboxHost

WINDOW_CHEAP_US = 1000.0
"""Items cheaper than this on average are sent two chunks ahead, so that a lane never waits for the engine."""
REFILL = 0.3
"""A lane gets its next chunk when this share of one is left."""
UP, DOWN = 0.3, 0.05
"""Smoothing of a verifier's cost estimate: up quickly, so that expensive items shrink chunks at once."""
CANCELLED_AFTER_S = 0.1


class Dispatcher:
    """Owns the queues and the lanes, and moves tickets between them."""

    def __init__(self, settings: EngineSettings, settle: Callable[[Ticket, Report], None]) -> None:
        self._settings = settings
        self._settle = settle
        self._costs: dict[tuple[str, LaneKind], float] = {}
        self._queues = {kind: FairQueue(self._cost) for kind in LaneKind}
        self._alone: dict[LaneKind, deque[Ticket]] = {kind: deque() for kind in LaneKind}
        self._opening: asyncio.Task[None] | None = None
        self.sandbox = SandboxHost(settings.sandbox, on_ready=self._sandbox_ready)
        self.lanes = Lanes(settings, self)

    # --- tickets in ---

    @property
    def depth(self) -> int:
        """Number of items that wait."""
        return sum(q.size for q in self._queues.values()) + sum(map(len, self._alone.values()))

    @property
    def running(self) -> int:
        """Number of items that lanes hold."""
        return sum(len(lane.assigned) for lane in self.lanes.alive)

    @property
    def waiting_bytes(self) -> int:
        """Approximate bytes that waiting items hold."""
        return sum(q.bytes for q in self._queues.values())

    def held(self, owner: str) -> tuple[int, int]:
        """Return how many items of an owner wait in the queues, and their bytes."""
        counts = [queue.held(owner) for queue in self._queues.values()]
        return sum(items for items, _ in counts), sum(size for _, size in counts)

    @property
    def owners(self) -> frozenset[str]:
        """Whose items wait or run."""
        running = {ticket.work.owner for lane in self.lanes.alive for ticket in lane.assigned}
        return frozenset(running).union(*(queue.owners for queue in self._queues.values()))

    def put(self, ticket: Ticket) -> None:
        """Queue a ticket; call `pump` after the last one."""
        if ticket.state.kind is LaneKind.SANDBOX and not self.sandbox.ready:
            self._want_sandbox()
        if ticket.state.kind is LaneKind.ALGEBRA:
            self.lanes.open(LaneKind.ALGEBRA, self._settings.algebra_lanes)
        self._queues[ticket.state.kind].put(ticket)

    def _want_sandbox(self) -> None:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open_sandbox())

    async def _open_sandbox(self) -> None:
        await self.sandbox.start()
        while not self.sandbox.possible and (waiting := self._queues[LaneKind.SANDBOX].drain()):
            for ticket in waiting:
                ticket.state = ticket.state.without_sandbox()
                self._queues[ticket.state.kind].put(ticket)
            self.pump()

    def _sandbox_ready(self) -> None:
        assert self._settings.sandbox is not None
        self.lanes.open_sandbox_lanes(self._settings.sandbox.slots, self.sandbox)
        self.pump()

    def pump(self) -> None:
        """Give waiting tickets to lanes that have room."""
        for kind in LaneKind:
            if kind is LaneKind.SANDBOX and not self.sandbox.ready:
                continue
            self._pump_alone(kind)
            ready = self.lanes.ready(kind)
            for lane in sorted(ready, key=lambda lane: len(lane.assigned)):
                self._feed(lane)

    def _feed(self, lane: EngineLane) -> None:
        queue = self._queues[lane.kind]
        while queue.size and self._has_room(lane):
            most = 1 if lane.kind in EXCLUSIVE else self._fair_count(queue, lane.kind)
            chosen = queue.take(most=most, budget_us=self._settings.chunk_cpu_ms * 1000)
            if not chosen:
                return
            self._send(lane, chosen)

    def _fair_count(self, queue: FairQueue, kind: LaneKind) -> int:
        """Return how many tickets one lane may take of a short queue, so that the others get their share."""
        lanes = max(1, len(self.lanes.ready(kind)))
        return max(1, min(self._settings.chunk_items, -(-queue.size // lanes)))

    def _has_room(self, lane: EngineLane) -> bool:
        if not lane.assigned:
            return True
        if lane.kind in EXCLUSIVE or lane.slow or lane.assigned[0].state.stage is not Stage.TOGETHER:
            return False
        if len(lane.assigned) >= self._settings.chunk_items or self._cost(lane.assigned[-1]) > WINDOW_CHEAP_US:
            return False
        return sum(map(self._cost, lane.assigned)) < self._settings.chunk_cpu_ms * 1000 * REFILL

    def _pump_alone(self, kind: LaneKind) -> None:
        waiting = self._alone[kind]
        while waiting:
            if not waiting[0].wanted:
                waiting.popleft()
                continue
            idle = [lane for lane in self.lanes.ready(kind) if not lane.assigned]
            fresh = [lane for lane in idle if lane.served == 0]
            if not fresh:
                if idle:
                    self.lanes.replace(idle[0])
                return
            self._send(fresh[0], [waiting.popleft()])

    def _send(self, lane: EngineLane, tickets: list[Ticket]) -> None:
        now = time.monotonic()
        for ticket in tickets:
            ticket.running = True
            ticket.started = ticket.started or now
        references = {t.work.reference_digest: t.work.reference for t in tickets}
        lane.give(Chunk(references, [_job(ticket) for ticket in tickets]), tickets)

    def _cost(self, ticket: Ticket) -> float:
        return self.cost_us(ticket.work.facts.name, ticket.state.kind)

    def cost_us(self, verifier: str, kind: LaneKind) -> float:
        """Return the recent cost of an item of that verifier, in microseconds."""
        return self._costs.get((verifier, kind)) or FIRST_COST_US[kind]

    # --- what lanes report ---

    def lane_ready(self, lane: EngineLane) -> None:
        """Handle a new lane that can work."""
        self.pump()

    def lane_reports(self, lane: EngineLane, reports: Reports) -> None:
        """Handle reports: each answers the ticket that the lane has held longest."""
        for report in reports.reports:
            ticket = lane.assigned.popleft()
            assert ticket.seq == report.seq
            lane.since, lane.slow = time.monotonic(), False
            self._learn(ticket, report)
            self._apply(ticket, Reported(report, not self.sandbox.ready, self.sandbox.failure))
        if reports.returned:
            self._take_back(lane, frozenset(reports.returned))
        self.pump()

    def _take_back(self, lane: EngineLane, returned: frozenset[int]) -> None:
        """Requeue the jobs that a lane returned because its current one is slow; it gets no more meanwhile."""
        lane.slow = True
        for ticket in reversed([ticket for ticket in lane.assigned if ticket.seq in returned]):
            self._apply(ticket, Displaced(counted=False))
        lane.assigned = deque(ticket for ticket in lane.assigned if ticket.seq not in returned)

    def _learn(self, ticket: Ticket, report: Report) -> None:
        name = (ticket.work.facts.name, ticket.state.kind)
        wall_us = report.run_us if ticket.state.kind is LaneKind.SANDBOX else 0  # a program runs outside the lane
        spent = float(max(report.cpu_us, wall_us, 1))
        before = self._costs.get(name, spent)
        self._costs[name] = before + (UP if spent > before else DOWN) * (spent - before)

    def _apply(self, ticket: Ticket, event: Event) -> None:
        action = decide(ticket.state, event)
        if isinstance(action, Settle):
            self._settle(ticket, action.report)
        else:
            self._retry(ticket, action)

    def _retry(self, ticket: Ticket, action: Retry) -> None:
        ticket.state, ticket.running = action.state, False
        kind = ticket.state.kind
        if action.place is QueuePlace.QUEUE:
            self.put(ticket)
        elif action.place is QueuePlace.QUEUE_FRONT:
            self._queues[kind].put_back(ticket)
        elif action.place is QueuePlace.ALONE:
            self._alone[kind].append(ticket)
        else:
            self._alone[kind].appendleft(ticket)

    def lane_dead(self, lane: EngineLane) -> None:
        """Handle a death: one ticket may be to blame for it, the others are not."""
        tickets, lane.assigned = lane.assigned, deque()
        blamed = _blamed_ticket(lane, tickets)
        for ticket in reversed(tickets):
            if ticket is not blamed:
                self._apply(ticket, Displaced(counted=lane.status != 0))
        if blamed is not None and lane.last is not None:
            self._apply(blamed, Died(lane.last.phase, _external_kill(lane)))
        self.pump()

    def lanes_broken(self) -> None:
        """Settle everything that waits as retryable: no lane can be started."""
        waiting = [t for queue in self._queues.values() for t in queue.drain()]
        for queue in self._alone.values():
            waiting += queue
            queue.clear()
        for ticket in waiting:
            self._settle(ticket, reports.lost())

    # --- the clock ---

    def watch(self) -> None:
        """Kill lanes whose item is over its budget or stuck, or whose items nobody wants any more."""
        if self.sandbox.watch():
            self.lanes.retire_sandbox_lanes()
        self.lanes.fill()
        for lane in self.lanes.alive:
            unwanted = bool(lane.assigned) and not any(t.wanted for t in lane.assigned)
            if lane.overrun() or (unwanted and time.monotonic() - lane.since > CANCELLED_AFTER_S):
                lane.kill()
        self.pump()


def _job(ticket: Ticket) -> Job:
    """Return the order that a lane gets for a ticket."""
    work = ticket.work
    text, messages = (work.completion, None) if isinstance(work.completion, str) else (None, work.completion)
    return Job(
        seq=ticket.seq,
        verifier=work.facts.name,
        reference_digest=work.reference_digest,
        text=text,
        messages=messages,
        fields=work.fields,
        budget_s=work.budget_s,
        cpu_s=work.options.cpu_s,
        timeout_s=work.options.timeout_s,
        owner=work.owner,
        explain=work.options.explain,
        canary=ticket.state.stage is Stage.CANARY,
        algebra=ticket.state.kind is not LaneKind.TEXT,
    )


def _blamed_ticket(lane: EngineLane, tickets: deque[Ticket]) -> Ticket | None:
    """Return the ticket that a lane was running when it died, or None.

    A ticket that was scored but not yet reported is blamed too, unless the lane was killed from outside the engine.
    """
    moment = lane.last
    if moment is None or (moment.phase is Phase.IDLE and _external_kill(lane)):
        return None
    return next((ticket for ticket in tickets if ticket.seq == moment.seq), None)


def _external_kill(lane: EngineLane) -> bool:
    """Return whether the lane ended by a SIGKILL that the engine did not send, or together with the forkserver."""
    if lane.killed_by_engine:
        return False
    return lane.status is None or (os.WIFSIGNALED(lane.status) and os.WTERMSIG(lane.status) == signal.SIGKILL)
