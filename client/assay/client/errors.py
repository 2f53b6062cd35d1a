"""Errors between a caller and a verdict. A failing *completion* is a `Result`, never one of these.

    AssayError
    ├── RequestRefused       4xx, or the same fault found before sending: the request must change
    ├── Overloaded           429 or 503 for longer than the client retries: try again later
    ├── ServiceUnavailable   no connection, or 5xx, from every URL for longer than the client retries
    ├── DeadlineExceeded     the caller's own deadline passed
    ├── ProtocolError        an answer that breaks the contract: cut, not JSON, an id missing or repeated
    └── ConfigurationError   the client's options cannot work

No message ever contains a completion, a program or an expected value.
"""

from __future__ import annotations

from assay.contract.envelope import Problem


class AssayError(Exception):
    """Base class of the client's errors."""


class RequestRefused(AssayError):
    """The request itself is at fault; sending it again cannot help."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        where = f" (field {problem.field})" if problem.field else ""
        super().__init__(f"{problem.status} {problem.title}: {problem.detail or problem.type}{where}")


class Overloaded(AssayError):
    """The service has no capacity now. `retry_after_s` is its own advice, in seconds."""

    def __init__(self, message: str, *, queue_depth: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.queue_depth = queue_depth
        self.retry_after_s = retry_after_s


class ServiceUnavailable(AssayError):
    """No URL answers: connection refused or cut, or 5xx."""


class DeadlineExceeded(AssayError):
    """The caller's deadline passed before all results arrived."""


class ProtocolError(AssayError):
    """The answer breaks the contract."""


class ConfigurationError(AssayError):
    """An unknown URL scheme, a missing extra, or incompatible options."""


def refused(detail: str, *, field: str | None = None, code: str = "bad_request") -> RequestRefused:
    """Return the error for a request that the client refuses before sending it."""
    return RequestRefused(
        Problem(type=f"urn:assay:problem:{code}", title="Bad request", status=400, detail=detail, field=field)
    )
