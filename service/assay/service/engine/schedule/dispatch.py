"""Gives tickets to lanes, and decides what a report, a failure or a death means for a ticket.

Nothing of a completion buys an excuse. A ticket whose lane died or failed on it is tried once more,
alone, on a fresh lane. After a second death a canary runs: the same reference with an empty answer. If
the canary lives, the completion is to blame: reward 0. If it dies too, the verifier or the row is:
no verdict. What only waited behind a death goes back to the front of the queue and is never charged.
A SIGKILL that is not ours (an operator, the kernel's OOM killer) is forgiven a few times more.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable

from assay.service.engine.schedule import outcomes
from assay.service.engine.schedule.queue import FairQueue
from assay.service.engine.schedule.tickets import Stage, Ticket
from assay.service.engine.settings import EngineSettings
from assay.service.engine.workers.lane import EngineLane
from assay.service.engine.workers.lanes import Lanes
from assay.service.engine.workers.protocol import Chunk, Kind, Phase, Report, Reports
from assay.service.engine.workers.sandboxes import SandboxHost

WINDOW_CHEAP_US = 1000.0
"""Items cheaper than this on average travel two chunks ahead, so that a lane never waits for us."""
FIRST_GUESS_US = {False: 200.0, True: 20_000.0}
REFILL = 0.3
"""A lane gets its next chunk when so much of one is left."""
UP, DOWN = 0.3, 0.05
"""How fast the estimate of a verifier's cost follows: heavy items must shrink chunks at once."""
FORGIVEN = 5
"""Times that a ticket may lose its lane without fault before it is `worker_lost`."""
CANCELLED_AFTER_S = 0.1


class Dispatcher:
    """The lanes' user: queues, chunks, reports and deaths."""

    def __init__(self, settings: EngineSettings, settle: Callable[[Ticket, Report], None]) -> None:
        self._settings = settings
        self._settle = settle
        self._costs: dict[str, float] = {}
        self._queues = {kind: FairQueue(self._cost) for kind in (False, True)}
        self._opening: asyncio.Task[None] | None = None
        self._alone: dict[bool, deque[Ticket]] = {False: deque(), True: deque()}
        self.sandbox = SandboxHost(settings.sandbox, on_ready=self._sandbox_ready)
        self.lanes = Lanes(settings, self)

    # --- tickets in ---

    @property
    def depth(self) -> int:
        """Items that wait."""
        return sum(q.size for q in self._queues.values()) + sum(map(len, self._alone.values()))

    @property
    def running(self) -> int:
        """Items that lanes have."""
        return sum(len(lane.assigned) for lane in self.lanes.alive)

    @property
    def waiting_bytes(self) -> int:
        """Bytes, about, that waiting items hold."""
        return sum(q.bytes for q in self._queues.values())

    def put(self, ticket: Ticket) -> None:
        """Take a ticket in; call `pump` after the last one."""
        if ticket.sandboxed and not self.sandbox.ready:
            self._want_sandbox()
        self._queues[ticket.sandboxed].put(ticket)

    def _want_sandbox(self) -> None:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open_sandbox())

    async def _open_sandbox(self) -> None:
        await self.sandbox.start()
        while not self.sandbox.possible and (waiting := self._queues[True].drain()):
            for ticket in waiting:
                ticket.hostless, ticket.sandboxed = True, False
                self._queues[False].put(ticket)
            self.pump()

    def _sandbox_ready(self) -> None:
        assert self._settings.sandbox is not None
        self.lanes.open_sandbox_lanes(self._settings.sandbox.slots, self.sandbox)
        self.pump()

    def pump(self) -> None:
        """Give waiting tickets to lanes that have room."""
        for kind in (False, True):
            if kind and not self.sandbox.ready:
                continue
            self._pump_alone(kind)
            if self._alone[kind] and not self.lanes.ready(sandboxed=kind):
                continue
            for lane in sorted(self.lanes.ready(sandboxed=kind), key=lambda lane: len(lane.assigned)):
                self._feed(lane)

    def _feed(self, lane: EngineLane) -> None:
        queue = self._queues[lane.sandboxed]
        while queue.size and self._has_room(lane):
            most = 1 if lane.sandboxed else self._fair_count(queue)
            chosen = queue.take(most=most, budget_us=self._settings.chunk_cpu_ms * 1000)
            if not chosen:
                return
            self._send(lane, chosen)

    def _fair_count(self, queue: FairQueue) -> int:
        """No lane takes more than its share of a short queue."""
        lanes = max(1, len(self.lanes.ready(sandboxed=False)))
        return max(1, min(self._settings.chunk_items, -(-queue.size // lanes)))

    def _has_room(self, lane: EngineLane) -> bool:
        if not lane.assigned:
            return True
        if lane.sandboxed or lane.slow or lane.assigned[0].stage is not Stage.TOGETHER:
            return False
        if len(lane.assigned) >= self._settings.chunk_items or self._cost(lane.assigned[-1]) > WINDOW_CHEAP_US:
            return False
        return sum(map(self._cost, lane.assigned)) < self._settings.chunk_cpu_ms * 1000 * REFILL

    def _pump_alone(self, kind: bool) -> None:
        waiting = self._alone[kind]
        while waiting:
            if not waiting[0].wanted:
                waiting.popleft()
                continue
            idle = [lane for lane in self.lanes.ready(sandboxed=kind) if not lane.assigned]
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
        lane.give(Chunk(references, [outcomes.job(ticket) for ticket in tickets]), tickets)

    def _cost(self, ticket: Ticket) -> float:
        return self.cost_us(ticket.work.facts.name, sandboxed=ticket.sandboxed)

    def cost_us(self, verifier: str, *, sandboxed: bool) -> float:
        """What an item of that verifier has cost of late, in microseconds."""
        return self._costs.get(verifier) or FIRST_GUESS_US[sandboxed]

    # --- what lanes say ---

    def lane_ready(self, lane: EngineLane) -> None:
        """A new lane can work."""
        self.pump()

    def lane_reports(self, lane: EngineLane, reports: Reports) -> None:
        """Each report answers the ticket that the lane has had longest."""
        for report in reports.reports:
            ticket = lane.assigned.popleft()
            assert ticket.seq == report.seq
            lane.since, lane.slow = time.monotonic(), False
            self._learn(ticket, report)
            self._judge(ticket, report)
        if reports.returned:
            self._take_back(lane, frozenset(reports.returned))
        self.pump()

    def _take_back(self, lane: EngineLane, returned: frozenset[int]) -> None:
        """A slow item is at hand: others shall not wait for it, and none is added."""
        lane.slow = True
        for ticket in reversed([ticket for ticket in lane.assigned if ticket.seq in returned]):
            self._again(ticket, charged=False)
        lane.assigned = deque(ticket for ticket in lane.assigned if ticket.seq not in returned)

    def _learn(self, ticket: Ticket, report: Report) -> None:
        name = ticket.work.facts.name
        spent = float(max(report.cpu_us, report.run_us if ticket.sandboxed else 0, 1))
        before = self._costs.get(name, spent)
        self._costs[name] = before + (UP if spent > before else DOWN) * (spent - before)

    def _judge(self, ticket: Ticket, report: Report) -> None:
        """What a report means at the ticket's stage."""
        if ticket.hostless:
            at_fault = report.error == "invalid_reference"
            self._settle(ticket, report if at_fault else outcomes.no_sandbox(ticket, self.sandbox.failure))
        elif ticket.stage is Stage.CANARY:
            broken = report.kind in (Kind.FAILED, Kind.OVERRUN)
            self._settle(ticket, outcomes.broken(ticket) if broken else outcomes.blamed(ticket))
        elif report.kind == Kind.FAILED:
            ticket.detail = report.detail
            resources = report.detail.startswith(("MemoryError", "RecursionError"))
            self._suspect(ticket, "resource_limit" if resources else "verifier_error")
        elif report.kind == Kind.OVERRUN:
            ticket.reason = "resource_limit"
            self._settle(ticket, outcomes.blamed(ticket))
        elif report.kind == Kind.NEEDS_SANDBOX and not ticket.sandboxed:
            ticket.sandboxed, ticket.running = True, False
            self.put(ticket)
        elif report.error == "sandbox_unavailable" and not self.sandbox.ready and ticket.lost < FORGIVEN:
            self._again(ticket, charged=True)  # the supervisor died under it
        else:
            self._settle(ticket, report)

    def lane_dead(self, lane: EngineLane) -> None:
        """What a dead lane had: one ticket may be to blame, the others are not."""
        tickets, lane.assigned = lane.assigned, deque()
        blamed = self._culprit(lane, tickets)
        for ticket in reversed(tickets):
            if ticket is not blamed:
                self._again(ticket, charged=lane.status != 0)
        if blamed is not None:
            self._charge(blamed, lane)
        self.pump()

    def _culprit(self, lane: EngineLane, tickets: deque[Ticket]) -> Ticket | None:
        """The ticket at which it died. One that was judged but not yet reported answers for all but a foreign kill."""
        moment = lane.last
        if moment is None or (moment.phase is Phase.IDLE and _foreign_kill(lane)):
            return None
        return next((ticket for ticket in tickets if ticket.seq == moment.seq), None)

    def _charge(self, ticket: Ticket, lane: EngineLane) -> None:
        """The lane died on this ticket."""
        assert lane.last is not None
        if ticket.stage is Stage.CANARY:
            self._settle(ticket, outcomes.broken(ticket))
        elif _foreign_kill(lane) and ticket.lost < FORGIVEN:
            ticket.lost += 1
            self._alone_again(ticket)
        elif lane.last.phase is Phase.PREPARE and ticket.stage is Stage.ALONE:
            self._settle(ticket, outcomes.refused(ticket))
        else:
            self._suspect(ticket, "resource_limit")

    def _suspect(self, ticket: Ticket, reason: str) -> None:
        """First failure: once more, alone. Second: the canary."""
        ticket.reason = reason
        ticket.stage = Stage.ALONE if ticket.stage is Stage.TOGETHER else Stage.CANARY
        self._alone_again(ticket)

    def _alone_again(self, ticket: Ticket) -> None:
        ticket.stage = max(ticket.stage, Stage.ALONE)
        ticket.running = False
        self._alone[ticket.sandboxed].append(ticket)

    def _again(self, ticket: Ticket, *, charged: bool) -> None:
        """It only waited behind a death."""
        ticket.lost += charged
        ticket.running = False
        if ticket.lost > FORGIVEN:
            self._settle(ticket, outcomes.lost(ticket))
        elif ticket.stage is Stage.TOGETHER:
            self._queues[ticket.sandboxed].put_back(ticket)
        else:
            self._alone[ticket.sandboxed].appendleft(ticket)

    def lanes_broken(self) -> None:
        """No lane can be started: what waits gets no verdict, to be sent again."""
        waiting = [t for queue in self._queues.values() for t in queue.drain()]
        for queue in self._alone.values():
            waiting += queue
            queue.clear()
        for ticket in waiting:
            self._settle(ticket, outcomes.lost(ticket))

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


def _foreign_kill(lane: EngineLane) -> bool:
    """Killed by a SIGKILL that we did not send, or together with the forkserver."""
    if lane.killed_by_us:
        return False
    return lane.status is None or (os.WIFSIGNALED(lane.status) and os.WTERMSIG(lane.status) == signal.SIGKILL)
