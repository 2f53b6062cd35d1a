"""A bound on a total of which no owner can use up another's part.

While the total fits, anybody may use all of it. Beyond that an owner is still admitted who holds nothing, or no more
than an equal part: one caller's backlog never refuses another. The total then exceeds the bound by at most one request
for each owner, or the harmonic number of owners.
"""

from __future__ import annotations


def admits(limit: int, *, total: int, own: int, owners: int, amount: int) -> bool:
    """Return whether an owner that holds `own` of `total` may take `amount` more; `owners` counts it too."""
    if total + amount <= limit:
        return True
    return owners > 1 and (own == 0 or own + amount <= limit // owners)


class FairBudget:
    """An amount that owners share, such as bytes of bodies in flight."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        self._held: dict[str, int] = {}

    def take(self, owner: str, amount: int) -> bool:
        """Take an amount for an owner if it is admitted, and return whether it is."""
        own = self._held.get(owner, 0)
        owners = len(self._held) + (owner not in self._held)
        if not admits(self.limit, total=self.total, own=own, owners=owners, amount=amount):
            return False
        self._held[owner] = own + amount
        self.total += amount
        return True

    def give_back(self, owner: str, amount: int) -> None:
        """Return an amount that was taken."""
        self.total -= amount
        left = self._held.get(owner, 0) - amount
        if left > 0:
            self._held[owner] = left
        else:
            self._held.pop(owner, None)
