"""What a ticket amounts to where no lane can say it: orders to lanes, and the reports that the engine makes itself."""

from __future__ import annotations

from assay.service.engine.schedule.tickets import Stage, Ticket
from assay.service.engine.workers.protocol import Job, Kind, Report


def job(ticket: Ticket) -> Job:
    """The order that a lane gets for a ticket."""
    work = ticket.work
    text, messages = (work.completion, None) if isinstance(work.completion, str) else (None, work.completion)
    return Job(
        ticket.seq, work.facts.name, work.reference_digest, text, messages, work.fields, work.budget_s,
        work.options.cpu_s, work.options.timeout_s, work.owner, work.options.explain, ticket.stage is Stage.CANARY,
    )  # fmt: skip


def blamed(ticket: Ticket) -> Report:
    """The completion is to blame: reward 0."""
    return Report(ticket.seq, Kind.VERDICT, reward=0.0, score=0.0, reason=ticket.reason)


def no_sandbox(ticket: Ticket, why: str) -> Report:
    """No sandbox on this host."""
    return Report(ticket.seq, Kind.NO_VERDICT, error="sandbox_unavailable", detail=why[:500], retryable=True)


def broken(ticket: Ticket) -> Report:
    """The verifier fails whatever the completion: no verdict."""
    code = "verifier_error" if ticket.reason == "verifier_error" else "worker_lost"
    detail = f"the verifier fails on this reference whatever the completion: {ticket.detail or 'its lane dies'}"
    return Report(ticket.seq, Kind.NO_VERDICT, error=code, detail=detail, retryable=code == "worker_lost")


def refused(ticket: Ticket) -> Report:
    """The reference breaks lanes: no verdict."""
    detail = "reference: a lane died twice in prepare"
    return Report(ticket.seq, Kind.NO_VERDICT, error="invalid_reference", detail=detail, field="reference")


def lost(ticket: Ticket) -> Report:
    """Lanes died before they came to it: no verdict, to be sent again."""
    detail = "lanes died before they came to this item"
    return Report(ticket.seq, Kind.NO_VERDICT, error="worker_lost", detail=detail, retryable=True)
