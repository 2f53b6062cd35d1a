"""What can go wrong between a caller and a verdict. A failing *completion* is a `Result`, never one of these.

    AssayError
    ├── RequestRefused       4xx, or the same fault seen before sending: the request must change
    ├── Overloaded           429 or 503 for longer than the client's patience: come back later
    ├── ServiceUnavailable   no connection, or 5xx, from every URL for longer than the client's patience
    ├── DeadlineExceeded     the caller's own deadline passed
    ├── ProtocolError        an answer that is not the contract's: cut, not JSON, an id missing or twice
    └── ConfigurationError   this client cannot work as it is set up

No message ever holds a completion, a program or an expected value.
"""

from __future__ import annotations

from assay.contract.envelope import Problem


class AssayError(Exception):
    """Base of every error of the client."""


class RequestRefused(AssayError):
    """The request itself is at fault: sending it again cannot help."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        where = f" (field {problem.field})" if problem.field else ""
        super().__init__(f"{problem.status} {problem.title}: {problem.detail or problem.type}{where}")


class Overloaded(AssayError):
    """The service has no room now. `retry_after_s` is its own advice, in seconds."""

    def __init__(self, message: str, *, queue_depth: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.queue_depth = queue_depth
        self.retry_after_s = retry_after_s


class ServiceUnavailable(AssayError):
    """No URL gives an answer: connection refused or cut, or 5xx."""


class DeadlineExceeded(AssayError):
    """The caller's deadline passed before every result was there."""


class ProtocolError(AssayError):
    """The answer is not what the contract says."""


class ConfigurationError(AssayError):
    """An unknown URL scheme, a missing extra, or options that do not go together."""


def refused(detail: str, *, field: str | None = None, code: str = "bad_request") -> RequestRefused:
    """Return the refusal of a request that need not be sent to know its fate."""
    return RequestRefused(
        Problem(type=f"urn:assay:problem:{code}", title="Bad request", status=400, detail=detail, field=field)
    )
