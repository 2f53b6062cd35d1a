"""What can go wrong around the items, as exceptions; what goes wrong *in* an item is its result.

EngineError
├── EnvelopeFault      the batch as a whole is unusable: a 4xx that names the field and the limit
├── Overloaded         the queue is full: 429 with the queue's depth; nothing was taken in
├── QuotaExceeded      a key has used up what it may: 429 with the quota's name; nothing was taken in
├── EngineClosed       the engine is draining or closed: 503
└── EngineUnavailable  no lane can be started
    └── PluginRefused  a plugin that settings name cannot be loaded
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of the engine's own failures."""


class EnvelopeFault(EngineError):
    """The batch cannot be used. Messages never echo what was sent, names of fields aside."""

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
    """The engine takes nothing in any more."""


class EngineUnavailable(EngineError):
    """No lane can be started."""


class PluginRefused(EngineUnavailable):
    """A plugin that settings name cannot be loaded."""
