"""Exceptions of the engine as a whole; the fault of a single item is that item's result.

EngineError
├── EnvelopeFault      the batch as a whole is unusable: a 4xx that names the field and the limit
├── Overloaded         the queue is full: 429 with the queue's depth; nothing was accepted
├── QuotaExceeded      the quota of a key is used up: 429 with its name; nothing was accepted
├── ItemsRefused       some items are faulty and the request has `?strict=1`: 422 that names them
├── EngineClosed       the engine is draining or closed: 503
└── EngineUnavailable  the engine or its sandbox cannot be started
    └── PluginRefused  a plugin that settings name cannot be loaded
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class FaultyItem:
    """The id and error code of a faulty item, and its faulty field, if there is one."""

    id: str
    code: str
    field: str | None


class ItemsRefused(EngineError):
    """Some items are faulty, and the request has `?strict=1`."""

    def __init__(self, faults: Sequence[FaultyItem]) -> None:
        super().__init__(f"{len(faults)} items are faulty")
        self.faults = faults


class EngineClosed(EngineError):
    """The engine is closed or draining and accepts nothing."""


class EngineUnavailable(EngineError):
    """The engine or its sandbox cannot be started."""


class PluginRefused(EngineUnavailable):
    """A plugin that settings name cannot be loaded."""
