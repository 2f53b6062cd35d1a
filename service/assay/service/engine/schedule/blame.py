"""Who is to blame when an item has no plain verdict: one pure function from a ticket and an event to an action.

A completion cannot turn its own failure into *no verdict*. A ticket whose lane died or failed on it runs once
more, alone, on a fresh lane. After a second failure a canary runs: the same reference with an empty completion.
If the canary succeeds, the completion is to blame (reward 0); if it fails too, the verifier or the row is (no
verdict). A ticket that only waited behind a failure returns to the queue. A SIGKILL that the engine did not send (an
operator, the kernel's OOM killer) does not count against the ticket at first: it is retried `LOST_RETRIES` times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum

from assay.contract.codes import ErrorCode, Reason
from assay.service.engine import reports
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import Kind, Phase, Report

LOST_RETRIES = 5
"""Times that a ticket is retried after it lost its lane through no fault of its own; then it is `worker_lost`."""
_RESOURCE_ERRORS = ("MemoryError", "RecursionError")


class Stage(IntEnum):
    """How far the search for a verdict has come."""

    TOGETHER = 0
    """In a chunk with others."""
    ALONE = 1
    """Once more, alone on a fresh lane, after a death or a failure."""
    CANARY = 2
    """The same reference with an empty completion: does the verifier itself work?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What blame depends on: the history of one ticket."""

    stage: Stage = Stage.TOGETHER
    kind: LaneKind = LaneKind.TEXT
    no_sandbox: bool = False
    """It needs a sandbox on a host that has none: a lane only checks whether its row is at fault."""
    lost: int = 0
    """Times that its lane died before it reached the ticket, or was killed from outside the engine."""
    reason: Reason = Reason.RESOURCE_LIMIT
    """The reason of the reward of 0 if the canary succeeds."""
    detail: str = ""
    """What the verifier raised, and where."""

    def without_sandbox(self) -> State:
        """Return the state of a ticket that needs a sandbox on a host that has none."""
        return replace(self, kind=LaneKind.TEXT, no_sandbox=True)


@dataclass(frozen=True, slots=True)
class Reported:
    """A lane has reported on the ticket. `sandbox_lost`: the sandbox is down at this moment."""

    report: Report
    sandbox_lost: bool = False
    sandbox_failure: str = ""


@dataclass(frozen=True, slots=True)
class Died:
    """A lane died on the ticket. `external`: by a SIGKILL that the engine did not send."""

    phase: Phase
    external: bool


@dataclass(frozen=True, slots=True)
class Displaced:
    """The ticket's lane died before it reached the ticket, or returned it. `counted`: adds to `State.lost`."""

    counted: bool


Event = Reported | Died | Displaced


class QueuePlace(Enum):
    """Where a ticket waits for its next lane."""

    QUEUE = "queue"
    """Behind the others of its run: it moves to lanes of another kind."""
    QUEUE_FRONT = "queue_front"
    ALONE = "alone"
    ALONE_FRONT = "alone_front"


@dataclass(frozen=True, slots=True)
class Settle:
    """The ticket is done: this is its report."""

    report: Report


@dataclass(frozen=True, slots=True)
class Retry:
    """The ticket runs again, from this place, with this history."""

    place: QueuePlace
    state: State


Action = Settle | Retry


def decide(state: State, event: Event) -> Action:
    """Return what becomes of a ticket after an event. Pure: no clock, no queue, no lane."""
    if isinstance(event, Displaced):
        return _displaced(state, counted=event.counted)
    if isinstance(event, Died):
        return _died(state, event)
    return _reported(state, event)


def _displaced(state: State, *, counted: bool) -> Action:
    state = replace(state, lost=state.lost + counted)
    if state.lost > LOST_RETRIES:
        return Settle(reports.lost())
    return Retry(QueuePlace.QUEUE_FRONT if state.stage is Stage.TOGETHER else QueuePlace.ALONE_FRONT, state)


def _died(state: State, event: Died) -> Action:
    if state.stage is Stage.CANARY:
        return Settle(reports.broken_verifier(state.reason, state.detail))
    if event.external and state.lost < LOST_RETRIES:
        return Retry(QueuePlace.ALONE, replace(state, lost=state.lost + 1, stage=Stage.ALONE))
    if state.kind is LaneKind.ALGEBRA and event.phase is not Phase.PREPARE:
        return Settle(reports.zero(Reason.UNDECIDED))  # stuck in one call, or out of memory: unequal, and not cached
    if event.phase is Phase.PREPARE and state.stage is Stage.ALONE:
        return Settle(reports.fatal_reference())
    return _retry_alone(state, Reason.RESOURCE_LIMIT)


def _reported(state: State, event: Reported) -> Action:
    report = event.report
    if state.no_sandbox:
        refused = report.error is not None and report.error.code == ErrorCode.INVALID_REFERENCE
        return Settle(report if refused else reports.no_sandbox(event.sandbox_failure))
    if state.stage is Stage.CANARY:
        failed = report.kind in (Kind.FAILED, Kind.OVERRUN)
        return Settle(reports.broken_verifier(state.reason, state.detail) if failed else reports.zero(state.reason))
    if report.kind == Kind.FAILED:
        return _failed(state, report)
    if report.kind == Kind.NEEDS_ALGEBRA and state.kind is LaneKind.TEXT:
        return Retry(QueuePlace.QUEUE, replace(state, kind=LaneKind.ALGEBRA))
    if report.kind == Kind.OVERRUN and state.kind is LaneKind.ALGEBRA:
        return Settle(reports.zero(Reason.UNDECIDED))
    if report.kind == Kind.OVERRUN:
        return Settle(reports.zero(Reason.RESOURCE_LIMIT))
    if report.kind == Kind.NEEDS_SANDBOX and state.kind is not LaneKind.SANDBOX:
        return Retry(QueuePlace.QUEUE, replace(state, kind=LaneKind.SANDBOX))
    if event.sandbox_lost and _is_outage(report) and state.lost < LOST_RETRIES:
        return _displaced(state, counted=True)  # the supervisor died while the item ran
    return Settle(report)


def _failed(state: State, report: Report) -> Action:
    detail = report.error.message if report.error is not None else ""
    resources = detail.startswith(_RESOURCE_ERRORS)
    return _retry_alone(replace(state, detail=detail), Reason.RESOURCE_LIMIT if resources else Reason.VERIFIER_ERROR)


def _retry_alone(state: State, reason: Reason) -> Action:
    """Return the next step after a failure: a run alone after the first, the canary after the second."""
    stage = Stage.ALONE if state.stage is Stage.TOGETHER else Stage.CANARY
    return Retry(QueuePlace.ALONE, replace(state, reason=reason, stage=stage))


def _is_outage(report: Report) -> bool:
    return report.error is not None and report.error.code == ErrorCode.SANDBOX_UNAVAILABLE
