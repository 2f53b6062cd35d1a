"""Reports that the engine makes itself, where no lane can: at intake, after deaths, at deadlines."""

from __future__ import annotations

from assay.contract.codes import ErrorCode, Reason
from assay.service.engine.protocol import ErrorFrame, Kind, Report

DETAIL_CHARS = 500


def no_verdict(code: ErrorCode, message: str, *, field: str | None = None, retryable: bool = False) -> Report:
    """Return the report of an item without a verdict. `message` must not echo what was sent."""
    return Report(0, Kind.NO_VERDICT, error=ErrorFrame(code.value, message[:DETAIL_CHARS], retryable, field))


def zero(reason: Reason) -> Report:
    """Return a reward of 0: the completion is at fault."""
    return Report(0, Kind.VERDICT, reward=0.0, score=0.0, reason=reason.value)


def no_sandbox(why: str) -> Report:
    """Return the report of an item that needs a sandbox on a host that has none."""
    return no_verdict(ErrorCode.SANDBOX_UNAVAILABLE, why, retryable=True)


def broken_verifier(reason: Reason, detail: str) -> Report:
    """Return the report of an item on whose reference the verifier fails whatever the completion."""
    message = f"the verifier fails on this reference whatever the completion: {detail or 'its lane dies'}"
    if reason is Reason.VERIFIER_ERROR:
        return no_verdict(ErrorCode.VERIFIER_ERROR, message)
    return no_verdict(ErrorCode.WORKER_LOST, message, retryable=True)


def fatal_reference() -> Report:
    """Return the report of an item whose reference alone kills lanes."""
    return no_verdict(ErrorCode.INVALID_REFERENCE, "reference: a lane died twice while preparing it", field="reference")


def lost() -> Report:
    """Return the report of an item that no lane came to."""
    return no_verdict(ErrorCode.WORKER_LOST, "lanes died before they came to this item", retryable=True)


def late() -> Report:
    """Return the report of an item that did not start before the deadline of its request."""
    return no_verdict(ErrorCode.DEADLINE, "not started within deadline_s", retryable=True)


def closing() -> Report:
    """Return the report of an item that the service drops because it shuts down."""
    return no_verdict(ErrorCode.WORKER_LOST, "the service is shutting down", retryable=True)
