"""The blame policy as a table: what becomes of a ticket, given its history and what has happened."""

from dataclasses import replace

import pytest

from assay.contract.codes import ErrorCode, Reason
from assay.service.engine.kinds import LaneKind
from assay.service.engine.protocol import ErrorFrame, Kind, Phase, Report
from assay.service.engine.schedule.blame import (
    LOST_RETRIES,
    Action,
    Died,
    Displaced,
    Event,
    QueuePlace,
    Reported,
    Retry,
    Settle,
    Stage,
    State,
    decide,
)

NEW = State()
ALONE = State(stage=Stage.ALONE)
CANARY = State(stage=Stage.CANARY)
CRASHED = State(stage=Stage.CANARY, reason=Reason.VERIFIER_ERROR, detail="KeyError at x.py:3")
NO_SANDBOX = State(no_sandbox=True)
RIGHT = Report(1, Kind.VERDICT, reward=1.0, score=1.0, reason="equal")
FAILED = Report(1, Kind.FAILED, error=ErrorFrame("verifier_error", "KeyError at x.py:3", False))
NO_MEMORY = Report(1, Kind.FAILED, error=ErrorFrame("verifier_error", "MemoryError at x.py:3", False))
OVERRUN = Report(1, Kind.OVERRUN)
NEEDS = Report(1, Kind.NEEDS_SANDBOX, error=ErrorFrame("needs_sandbox", "", False))
NEEDS_ALGEBRA = Report(1, Kind.NEEDS_ALGEBRA)
ALGEBRA = State(kind=LaneKind.ALGEBRA)
OUTAGE = Report(1, Kind.NO_VERDICT, error=ErrorFrame("sandbox_unavailable", "gone", True))
REFUSED = Report(1, Kind.NO_VERDICT, error=ErrorFrame("invalid_reference", "reference: no", False))

TABLE: list[tuple[str, State, Event, str]] = [
    ("a verdict is final", NEW, Reported(RIGHT), "correct"),
    ("a verdict on the second try is final", ALONE, Reported(RIGHT), "correct"),
    ("a refusal is final", NEW, Reported(REFUSED), "invalid_reference"),
    ("an overrun is the completion's", NEW, Reported(OVERRUN), "0 resource_limit"),
    ("the first failure is tried alone", NEW, Reported(FAILED), "alone ALONE verifier_error"),
    ("the second failure asks the canary", ALONE, Reported(FAILED), "alone CANARY verifier_error"),
    ("memory spent in verify is a resource limit", NEW, Reported(NO_MEMORY), "alone ALONE"),
    ("a healthy canary blames the completion", CRASHED, Reported(RIGHT), "0 verifier_error"),
    ("a healthy canary after deaths, likewise", CANARY, Reported(RIGHT), "0 resource_limit"),
    ("a canary that fails clears it", CRASHED, Reported(FAILED), "verifier_error"),
    ("a canary that overruns clears it", CANARY, Reported(OVERRUN), "worker_lost retryable"),
    ("a canary that dies clears it", CANARY, Died(Phase.VERIFY, external=False), "worker_lost retryable"),
    ("the first death is tried alone", NEW, Died(Phase.VERIFY, external=False), "alone ALONE"),
    ("the second death asks the canary", ALONE, Died(Phase.VERIFY, external=False), "alone CANARY"),
    ("a reference that kills twice is refused", ALONE, Died(Phase.PREPARE, external=False), "invalid_reference"),
    ("a reference that kills once is tried alone", NEW, Died(Phase.PREPARE, external=False), "alone ALONE"),
    ("a foreign kill is forgiven", NEW, Died(Phase.VERIFY, external=True), "alone ALONE lost=1"),
    ("but not for ever", replace(ALONE, lost=LOST_RETRIES), Died(Phase.VERIFY, external=True), "alone CANARY lost=5"),
    ("who waited behind a death goes first", NEW, Displaced(counted=True), "queue_front TOGETHER lost=1"),
    ("who was returned is not charged", NEW, Displaced(counted=False), "queue_front TOGETHER"),
    ("alone it stays alone", ALONE, Displaced(counted=False), "alone_front ALONE"),
    ("who lost too many lanes", replace(NEW, lost=LOST_RETRIES), Displaced(counted=True), "worker_lost retryable"),
    ("a program moves to a sandbox lane", NEW, Reported(NEEDS), "queue TOGETHER sandbox"),
    ("an undecided item moves to an algebra lane", NEW, Reported(NEEDS_ALGEBRA), "queue TOGETHER algebra"),
    ("algebra that takes too long is undecided", ALGEBRA, Reported(OVERRUN), "0 undecided"),
    ("algebra that ends its lane is undecided", ALGEBRA, Died(Phase.VERIFY, external=False), "0 undecided"),
    ("an outage while it ran is waited for", NEW, Reported(OUTAGE, True), "queue_front TOGETHER lost=1"),
    ("an outage that stays is told", NEW, Reported(OUTAGE), "sandbox_unavailable retryable"),
    ("a good row waits for a host", NO_SANDBOX, Reported(RIGHT, True, "none"), "sandbox_unavailable retryable"),
    ("a bad row is refused without one", NO_SANDBOX, Reported(REFUSED, True, "none"), "invalid_reference"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "event", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_becomes_of_a_ticket(state: State, event: Event, expected: str) -> None:
    assert told(decide(state, event)) == expected


def told(action: Action) -> str:
    if isinstance(action, Retry):
        state = action.state
        parts = [action.place.value, state.stage.name]
        parts += [state.reason.value] if state.reason is not Reason.RESOURCE_LIMIT else []
        parts += [f"lost={state.lost}"] if state.lost else []
        return " ".join([*parts, *([state.kind.value] if state.kind is not LaneKind.TEXT else [])])
    assert isinstance(action, Settle)
    report = action.report
    if report.error is not None:
        return report.error.code + (" retryable" if report.error.retryable else "")
    return "correct" if report.reward else f"0 {report.reason}"


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("event", [Reported(FAILED), Reported(OVERRUN), Died(Phase.VERIFY, external=False)])
def test_every_chain_of_failures_ends(stage: Stage, event: Event) -> None:
    state = State(stage=stage)
    for _ in range(len(Stage)):
        action = decide(state, event)
        if isinstance(action, Settle):
            return
        state = action.state
    raise AssertionError("it is tried for ever")


def test_a_completion_alone_never_reaches_no_verdict() -> None:
    """Whatever it does to its lane, a healthy canary makes it a reward of 0."""
    for event in (Reported(FAILED), Reported(NO_MEMORY), Died(Phase.VERIFY, external=False)):
        state = NEW
        while isinstance(action := decide(state, event), Retry):
            state = action.state
            if state.stage is Stage.CANARY:
                break
        assert isinstance(action, Retry)
        final = decide(action.state, Reported(RIGHT))
        assert isinstance(final, Settle) and final.report.reward == 0.0


def test_codes_are_the_contracts() -> None:
    assert ErrorCode("worker_lost") is ErrorCode.WORKER_LOST and f"{ErrorCode.DEADLINE}" == "deadline"
    assert str(Reason.EQUAL) == "equal" and QueuePlace("alone") is QueuePlace.ALONE
