"""Bytes of bodies in flight: one bound over all connections, shared by owners (`schedule.shares`).

A body counts from its first byte, or its Content-Length, until its request is answered. Whoever would exceed the bound
is refused (429) before more is read.
"""

from __future__ import annotations

from assay.contract.codes import ProblemCode
from assay.service.engine.schedule.shares import FairBudget
from assay.service.http.problems import problem

RETRY_AFTER_S = 1


class NoRoom(Exception):
    """There is no room for a body; `document` is the problem document."""

    def __init__(self, limit: int) -> None:
        super().__init__("bodies in flight")
        detail = "too many bytes of requests are in flight; send the request again, or a smaller one"
        self.document = problem(429, ProblemCode.OVERLOADED, detail, limit=limit, retry_after_s=RETRY_AFTER_S)


class Held:
    """What one request holds of the budget; give it back with `release`."""

    def __init__(self, budget: FairBudget, owner: str) -> None:
        self._budget, self._owner = budget, owner
        self._bytes = 0

    def grow(self, size: int) -> None:
        """Hold at least `size` bytes. Raises `NoRoom`."""
        more = size - self._bytes
        if more > 0:
            if not self._budget.take(self._owner, more):
                raise NoRoom(self._budget.limit)
            self._bytes = size

    def release(self) -> None:
        """Give everything back."""
        self._budget.give_back(self._owner, self._bytes)
        self._bytes = 0
