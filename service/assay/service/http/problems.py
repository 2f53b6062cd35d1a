"""Errors as RFC 9457 problem documents: the single mapping from exceptions to statuses.

Details name fields and limits, never what was sent.
"""

from __future__ import annotations

import math
from typing import Any

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import (
    EngineClosed,
    EngineError,
    EngineUnavailable,
    EnvelopeFault,
    ItemsRefused,
    Overloaded,
    QuotaExceeded,
)

TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    411: "Length required",
    413: "Too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Unprocessable content",
    429: "Too many requests",
    500: "Internal error",
    503: "Service unavailable",
}
SHOWN_FAULTS = 20


def problem(status: int, code: str, detail: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a problem document without fields that are None."""
    body = {"type": f"urn:assay:problem:{code}", "title": TITLES.get(status, "Error"), "status": status}
    return body | {key: value for key, value in {"detail": detail, **more}.items() if value is not None}


def problem_of(error: EngineError) -> dict[str, Any]:
    """Return the problem document of one of the engine's errors."""
    if isinstance(error, EnvelopeFault):
        return problem(error.status, error.code, error.detail, field=error.field, limit=error.limit)
    if isinstance(error, Overloaded):
        wait = math.ceil(error.retry_after_s)
        depth = {"queue_depth": error.queue_depth, "limit": error.limit, "retry_after_s": wait}
        return problem(429, ProblemCode.OVERLOADED, "the queue is full; no item of this request was accepted", **depth)
    if isinstance(error, QuotaExceeded):
        wait = max(math.ceil(error.retry_after_s), 1)
        return problem(
            429, ProblemCode.QUOTA_EXCEEDED, str(error), quota=error.quota, limit=error.limit, retry_after_s=wait
        )
    if isinstance(error, ItemsRefused):
        return _items_refused(error)
    if isinstance(error, EngineClosed):
        return problem(503, ProblemCode.SHUTTING_DOWN, "the service is shutting down", retry_after_s=1)
    if isinstance(error, EngineUnavailable):
        return problem(503, ProblemCode.NO_LANES, "no lane can be started", retry_after_s=5)
    return problem(500, ProblemCode.INTERNAL, "internal error; see the service's log")


def _items_refused(error: ItemsRefused) -> dict[str, Any]:
    shown = [{"id": item.id, "code": item.code, "field": item.field} for item in error.faults[:SHOWN_FAULTS]]
    items = [{key: value for key, value in entry.items() if value is not None} for entry in shown]
    return problem(422, ProblemCode.INVALID_ITEMS, str(error), items=items, field="items")
