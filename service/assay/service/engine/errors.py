"""Exceptions of the engine as a whole; the fault of a single item is that item's result.

EngineError
├── EnvelopeFault      the batch as a whole is unusable: a 4xx that names the field and the limit
├── Overloaded         the queue is full: 429 with the queue's depth; nothing was accepted
├── QuotaExceeded      the quota of a key is used up: 429 with its name; nothing was accepted
├── EngineClosed       the engine is draining or closed: 503
└── EngineUnavailable  no lane can be started
    └── PluginRefused  a plugin that settings name cannot be loaded
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of the engine's own failures."""


class EnvelopeFault(EngineError):
    """The batch cannot be used. Messages never echo what was sent, except names of fields."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int = 422,
        field: str | None = None,
        limit: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status
        self.field = field
        self.limit = limit


class Overloaded(EngineError):
    """The queue has no room for the batch; `retry_after_s` is when there may be."""

    def __init__(self, *, queue_depth: int, limit: int, retry_after_s: float) -> None:
        super().__init__(f"{queue_depth} items are waiting, the limit is {limit}")
        self.queue_depth = queue_depth
        self.limit = limit
        self.retry_after_s = retry_after_s


class QuotaExceeded(EngineError):
    """A key has used up its quota; `retry_after_s` is when the next window begins."""

    def __init__(self, quota: str, *, limit: float, retry_after_s: float) -> None:
        super().__init__(f"the quota {quota} of {limit:g} is used up")
        self.quota = quota
        self.limit = limit
        self.retry_after_s = retry_after_s


class EngineClosed(EngineError):
    """The engine is closed or draining and accepts nothing."""


class EngineUnavailable(EngineError):
    """No lane can be started."""


class PluginRefused(EngineUnavailable):
    """A plugin that settings name cannot be loaded."""
