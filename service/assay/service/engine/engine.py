"""The engine: batches in, results out. One asyncio loop owns it; lanes run the verifiers.

    admission (queue bound) -> verdict cache -> single flight by item key -> fair queue -> lane -> settle

Cancelling a submission cancels the items that no other submission waits for, down to the lane. The deadline of a
submission bounds the *start* of an item: an item that has not started by then is `deadline` (null); one that has
started is bounded by its own limits, so that a slow completion cannot turn itself into a null.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from assay.contract.codes import ProblemCode
from assay.service.engine import reports
from assay.service.engine.background import Background
from assay.service.engine.errors import EngineClosed, EngineUnavailable, EnvelopeFault, Overloaded
from assay.service.engine.intake.keys import item_key
from assay.service.engine.intake.validate import Intake
from assay.service.engine.intake.work import Batch, Refused, VerifierFacts, Work
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import Report
from assay.service.engine.schedule.blame import State
from assay.service.engine.schedule.cache import ReferenceStore, VerdictCache
from assay.service.engine.schedule.dispatch import Dispatcher
from assay.service.engine.schedule.invalidation import Made, Rule
from assay.service.engine.schedule.shares import admits
from assay.service.engine.schedule.tickets import Scored, Submission, Ticket, Waiter, works
from assay.service.engine.settings import EngineSettings
from assay.service.engine.workers.lanes import Lanes
from assay.service.engine.workers.sandboxes import SandboxHost

WATCH_S = 0.05
RATE_MEMORY = 0.9
_FIRST = {kind: State(kind=kind) for kind in LaneKind}
"""The history of a ticket that has not run yet, shared by all of its kind."""


class Engine:
    """Scores batches. Make it and use it on one event loop."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.references = ReferenceStore(
            self.settings.limits.uploaded_bytes, entry_bytes=self.settings.limits.reference_bytes
        )
        self.catalogue: dict[str, VerifierFacts] = {}
        """Verifiers by name; filled by `start`."""
        self.intake = Intake(catalogue=self.catalogue, limits=self.settings.limits, resolve=self.references.get)
        self.descriptions: Sequence[Mapping[str, object]] = ()
        self.on_report: Callable[[bytes, Work, Report], None] | None = None
        """Called with key, work and report for every report of a lane."""
        self._cache = VerdictCache(self.settings.cache_bytes)
        self._tickets_by_key: dict[bytes, Ticket] = {}
        self._seq = itertools.count()
        self._submissions: set[Submission] = set()
        self._leaving = self._closing = False
        self._finished = 0
        self._rate = 100.0  # items a second, smoothed
        self.watch = Background("watch", self._keep_watch)
        """The task that replaces lanes and supervisor, and finds items that are stuck."""
        self._dispatch = Dispatcher(self.settings, self._settle)

    async def start(self) -> None:
        """Start the lanes. Raises EngineUnavailable if none comes up or a plugin cannot be loaded."""
        try:
            raw = await self.lanes.start()
        except BaseException:
            await self.lanes.close()
            raise
        self.descriptions = msgspec.json.decode(raw)
        self.catalogue.update({str(entry["name"]): _facts(entry) for entry in self.descriptions})
        self.watch.start()

    @property
    def lanes(self) -> Lanes:
        """The worker processes."""
        return self._dispatch.lanes

    @property
    def sandbox(self) -> SandboxHost:
        """The sandbox's supervisor, as the engine holds it."""
        return self._dispatch.sandbox

    @property
    def started(self) -> bool:
        """Whether the engine has been started."""
        return bool(self.catalogue)

    @property
    def lane_count(self) -> int:
        """Lanes that can work."""
        return len(self.lanes.alive)

    @property
    def depth(self) -> int:
        """Items that wait for a lane."""
        return self._dispatch.depth

    @property
    def ready(self) -> bool:
        """Whether a batch would be accepted now."""
        return not self.unready

    @property
    def unready(self) -> str:
        """Why no batch would be accepted, or not be scored, now; empty if one would be."""
        causes = {
            "shutting down": self._leaving or self._closing,
            "no lane can be started": self.lanes.broken,
            "the queue is full": self.depth >= self.settings.limits.queue_items and self._dispatch.owners <= {""},
            "the watch over lanes is down": self.watch.down,
            "the forkserver is being restarted": self.started and self.lanes.forkserver_pid is None,
            "the sandbox is being restarted": self.sandbox.lost,
        }
        return next((cause for cause, holds in causes.items() if holds), "")

    # --- batches ---

    def submit(self, batch: Batch) -> Submission:
        """Accept a batch. Raises Overloaded (nothing was accepted), EngineClosed, EnvelopeFault."""
        if self._closing:
            raise EngineClosed("the engine is shutting down")
        self._admit(batch)
        submission = Submission(batch)
        self._submissions.add(submission)
        for index, entry in enumerate(batch.entries):
            if isinstance(entry, Refused):
                self._settle_item(submission, index, Scored(entry.report))
        for index, work in works(batch):
            self._enqueue(submission, index, work)
        if batch.deadline_s is not None and submission.open:
            submission.timer = asyncio.get_running_loop().call_later(batch.deadline_s, self._expire, submission)
        self._dispatch.pump()
        return submission

    def cancel(self, submission: Submission) -> None:
        """Drop the items of a submission that no other submission waits for."""
        for waiter in list(submission.waiters):
            self._drop_waiter(waiter)
        self._discard(submission)

    def _admit(self, batch: Batch) -> None:
        """Raise Overloaded if the queue has no room for a batch; another owner's backlog is no reason."""
        limits, depth, waiting = self.settings.limits, self.depth + self._dispatch.running, self._dispatch.waiting_bytes
        entering = len(batch.entries)
        size = sum(work.size for _, work in works(batch))
        if entering > limits.queue_items or size > limits.queue_bytes:
            raise EnvelopeFault(ProblemCode.TOO_LARGE, "items: more than the queue holds", status=413, field="items")
        if depth + entering <= limits.queue_items and waiting + size <= limits.queue_bytes:
            return
        own, own_bytes = self._dispatch.held(batch.owner)
        owners = len(self._dispatch.owners | {batch.owner})
        if not (
            admits(limits.queue_items, total=depth, own=own, owners=owners, amount=entering)
            and admits(limits.queue_bytes, total=waiting, own=own_bytes, owners=owners, amount=size)
        ):
            wait = min(max(depth / max(self._rate, 1.0), 1.0), 30.0)
            raise Overloaded(queue_depth=depth, limit=limits.queue_items, retry_after_s=wait)

    def key(self, work: Work) -> bytes:
        """Return the item key of a work item; that of a sandboxed verifier changes with the sandbox."""
        changing = work.facts.repeatable and (work.facts.sandboxed or work.facts.may_sandbox)
        if not work.key or (changing and work.fingerprint != self.sandbox.fingerprint):
            work.fingerprint = self.sandbox.fingerprint
            work.key = item_key(work, fingerprint=work.fingerprint)
        return work.key

    def knows(self, key: bytes) -> bool:
        """Return whether a verdict is cached or being computed."""
        return key in self._tickets_by_key or key in self._cache

    def cost_us(self, work: Work) -> float:
        """Return the expected cost of a verdict, in CPU microseconds."""
        return self._dispatch.cost_us(work.facts.name, work.facts.kind)

    def learn(self, key: bytes, report: Report, made: Made) -> None:
        """Cache a verdict that another replica computed."""
        self._cache.put(key, report, made)

    def invalidate(self, rule: Rule) -> int:
        """Drop the cached verdicts that a rule covers; return how many there were."""
        return self._cache.drop(rule)

    def _enqueue(self, submission: Submission, index: int, work: Work) -> None:
        key = self.key(work)
        report = self._cache.get(key)
        if report is not None:
            self._settle_item(submission, index, Scored(report, key, cached=True))
            return
        ticket = self._tickets_by_key.get(key)
        if ticket is None:
            ticket = Ticket(next(self._seq), key, work, _FIRST[work.facts.kind])
            self._tickets_by_key[key] = ticket
            self._dispatch.put(ticket)
        waiter = Waiter(submission, index, ticket)
        ticket.waiters[waiter] = None
        submission.waiters.add(waiter)

    # --- results ---

    def _settle(self, ticket: Ticket, report: Report) -> None:
        """Deliver the report of a ticket: a verdict to all waiters, a null to the first only."""
        self._finished += 1
        if self.on_report is not None:
            self.on_report(ticket.key, ticket.work, report)
        if report.reward is None:
            first = [*itertools.islice(ticket.waiters, 1)]
            for waiter in first:
                del ticket.waiters[waiter]
        else:
            if ticket.work.facts.repeatable and report.lasting:
                self._cache.put(ticket.key, report, Made.now(ticket.work.owner, ticket.work.facts.label))
            first, ticket.waiters = [*ticket.waiters], {}
        for waiter in first:
            self._answer(waiter, ticket, report)
        if ticket.waiters:
            self._run_again(ticket)
        elif self._tickets_by_key.get(ticket.key) is ticket:
            del self._tickets_by_key[ticket.key]

    def _answer(self, waiter: Waiter, ticket: Ticket, report: Report) -> None:
        waiter.submission.waiters.discard(waiter)
        queued = max(ticket.started - waiter.submission.received, 0.0) * 1000
        self._settle_item(waiter.submission, waiter.index, Scored(report, ticket.key, queue_ms=queued))

    def _run_again(self, ticket: Ticket) -> None:
        """Queue a settled ticket anew, for those who still wait for it."""
        kind = LaneKind.SANDBOX if ticket.state.no_sandbox else ticket.state.kind
        ticket.seq, ticket.state, ticket.started, ticket.running = next(self._seq), _FIRST[kind], 0.0, False
        self._tickets_by_key[ticket.key] = ticket
        self._dispatch.put(ticket)

    def _settle_item(self, submission: Submission, index: int, scored: Scored) -> None:
        submission.settle(index, scored)
        if not submission.open:
            self._discard(submission)

    def _discard(self, submission: Submission) -> None:
        """Forget a submission, and its deadline: a timer would keep an answered request alive until then."""
        self._submissions.discard(submission)
        if submission.timer is not None:
            submission.timer.cancel()
            submission.timer = None

    def _drop_waiter(self, waiter: Waiter) -> None:
        ticket = waiter.ticket
        waiter.submission.waiters.discard(waiter)
        ticket.waiters.pop(waiter, None)
        if not ticket.waiters and self._tickets_by_key.get(ticket.key) is ticket:
            del self._tickets_by_key[ticket.key]

    def _expire(self, submission: Submission) -> None:
        for waiter in list(submission.waiters):
            if waiter.ticket.started == 0.0:
                self._drop_waiter(waiter)
                self._settle_item(submission, waiter.index, Scored(reports.late(), waiter.ticket.key))

    # --- life ---

    async def _keep_watch(self) -> None:
        before = self._finished
        while True:
            await asyncio.sleep(WATCH_S)
            self._dispatch.watch()
            rate = (self._finished - before) / WATCH_S
            before = self._finished
            if self.depth:
                self._rate = RATE_MEMORY * self._rate + (1 - RATE_MEMORY) * rate

    async def open_sandbox(self) -> None:
        """Start the sandbox now rather than with the first item that needs it. Raises EngineUnavailable."""
        await self.sandbox.start()
        if not self.sandbox.ready:
            raise EngineUnavailable(f"no sandbox: {self.sandbox.failure or 'the supervisor cannot be started now'}")

    def isolation(self) -> dict[str, object]:
        """Return the report on what isolates programs on this host."""
        return self.sandbox.isolation()

    def leave(self) -> None:
        """Say that this engine is not ready, and still accept batches: a balancer then sends no more."""
        self._leaving = True

    async def drain(self, drain_s: float) -> None:
        """Refuse new batches and let running ones finish for at most `drain_s` seconds.

        What is not finished then gets a retryable result, so that its request is still answered.
        """
        self._closing = True
        until = time.monotonic() + drain_s
        while self._submissions and time.monotonic() < until:
            await asyncio.sleep(0.02)
        for submission in list(self._submissions):
            self._abandon(submission)

    async def close(self, *, drain_s: float = 0.0) -> None:
        """Drain, then end the lanes and the sandbox."""
        await self.drain(drain_s)
        self.watch.cancel()
        await self.lanes.close()
        await self.sandbox.close()

    def _abandon(self, submission: Submission) -> None:
        for waiter in list(submission.waiters):
            self._drop_waiter(waiter)
            self._settle_item(submission, waiter.index, Scored(reports.closing(), waiter.ticket.key))


class _Described(msgspec.Struct):
    name: str
    version: int
    reads: frozenset[str]
    sandboxed: bool
    cpu_s: float
    may_sandbox: bool
    repeatable: bool


def _facts(entry: Mapping[str, object]) -> VerifierFacts:
    told = msgspec.convert(entry, _Described)
    return VerifierFacts(**{name: getattr(told, name) for name in told.__struct_fields__})
