"""One table from a problem document to the exception that a caller sees, for every transport."""

from __future__ import annotations

from assay.client.errors import AssayError, Overloaded, ProtocolError, RequestRefused, ServiceUnavailable
from assay.contract.envelope import Problem

_TIMEOUT, _TOO_MANY, _UNAVAILABLE = 408, 429, 503


def error_of(problem: Problem, *, retry_after_s: float | None = None) -> AssayError:
    """Return the exception for a problem; `retry_after_s` is the transport's own advice, in seconds.

    429, and 503 with advice when to come back     Overloaded
    408, and any other 5xx                         ServiceUnavailable
    any other 4xx                                  RequestRefused
    anything else                                  ProtocolError
    """
    status = problem.status
    wait = problem.retry_after_s if retry_after_s is None else retry_after_s
    if status == _TOO_MANY or (status == _UNAVAILABLE and wait is not None):
        message = f"{status} {problem.detail or problem.title}"
        return Overloaded(message, queue_depth=problem.queue_depth, retry_after_s=wait)
    if status >= 500 or status == _TIMEOUT:
        return ServiceUnavailable(f"{status} {problem.title}")
    if status >= 400:
        return RequestRefused(problem)
    return ProtocolError(f"unexpected status {status}")
