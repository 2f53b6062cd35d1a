"""A bounded queue with fair shares: by owner, then by run; within a run, group after group.

Start-time fair queueing in two levels: the owner (then the run) that has used the least CPU so far is served
next; one that returns after a pause starts level with the others, so unused shares are not saved up. A group's
tickets stay together, in order, and no other ticket of that run comes between them. Each step costs the logarithm of
the number of owners and runs, however many labels a caller makes up.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from assay.service.engine.schedule.tickets import Ticket


class _Share:
    """The estimated CPU microseconds that an owner, or a run of an owner, has used."""

    def __init__(self, used: float) -> None:
        self.used = used


S = TypeVar("S", bound=_Share)


class _Ranking(Generic[S]):
    """Shares by name, and which of them has used least. The use of a share may change only while it is taken out."""

    def __init__(self) -> None:
        self.by_name: dict[str, S] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = itertools.count()

    def add(self, name: str, share: S) -> None:
        """Add a share, or put one back that was taken out."""
        self.by_name[name] = share
        heapq.heappush(self._heap, (share.used, next(self._order), name))

    def take_out(self) -> tuple[str, S]:
        """Take out the share that has used least."""
        _, _, name = heapq.heappop(self._heap)
        return name, self.by_name.pop(name)

    @property
    def least(self) -> float:
        """What the share that has used least has used; 0 if there is none."""
        return self._heap[0][0] if self._heap else 0.0


class _Group:
    """Tickets of one prompt, or one ticket that has no group."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.tickets: deque[Ticket] = deque()


class _Run(_Share):
    def __init__(self, used: float) -> None:
        super().__init__(used)
        self.groups: deque[_Group] = deque()
        self.by_name: dict[str, _Group] = {}

    def group(self, name: str | None) -> _Group:
        """Return the waiting group of that name, or a new one at the end."""
        group = self.by_name.get(name) if name is not None else None
        if group is None:
            group = _Group(name)
            self.groups.append(group)
            if name is not None:
                self.by_name[name] = group
        return group

    def drop_first(self) -> None:
        """Remove the first group, which is empty."""
        name = self.groups.popleft().name
        if name is not None:
            self.by_name.pop(name, None)


class _Owner(_Share):
    def __init__(self, used: float) -> None:
        super().__init__(used)
        self.runs: _Ranking[_Run] = _Ranking()
        self.size = 0
        self.bytes = 0


class FairQueue:
    """Tickets that wait for a lane."""

    def __init__(self, cost_us: Callable[[Ticket], float]) -> None:
        self._cost_us = cost_us
        self._owners: _Ranking[_Owner] = _Ranking()
        self._virtual_time = 0.0
        self.size = 0
        self.bytes = 0

    @property
    def owners(self) -> frozenset[str]:
        """Whose tickets wait."""
        return frozenset(self._owners.by_name)

    def held(self, owner: str) -> tuple[int, int]:
        """Return how many tickets of an owner wait, and their bytes."""
        found = self._owners.by_name.get(owner)
        return (found.size, found.bytes) if found is not None else (0, 0)

    def put(self, ticket: Ticket) -> None:
        """Add a ticket behind those of its own group."""
        owner, run = self._places(ticket)
        run.group(ticket.work.group).tickets.append(ticket)
        self._count(owner, ticket, 1)

    def put_back(self, ticket: Ticket) -> None:
        """Add a ticket that a lane has returned: it goes first."""
        owner, run = self._places(ticket)
        group = _Group(None)
        group.tickets.append(ticket)
        run.groups.appendleft(group)
        self._count(owner, ticket, 1)

    def _places(self, ticket: Ticket) -> tuple[_Owner, _Run]:
        work = ticket.work
        owner = self._owners.by_name.get(work.owner)
        if owner is None:
            owner = _Owner(self._virtual_time)
            self._owners.add(work.owner, owner)
        run = owner.runs.by_name.get(work.run)
        if run is None:
            run = _Run(owner.runs.least)
            owner.runs.add(work.run, run)
        return owner, run

    def take(self, *, most: int, budget_us: float) -> list[Ticket]:
        """Return the next wanted tickets of one run: at most `most`, of about `budget_us` CPU microseconds."""
        chosen: list[Ticket] = []
        while self.size and not chosen:
            name, owner = self._owners.take_out()
            self._virtual_time = max(self._virtual_time, owner.used)
            label, run = owner.runs.take_out()
            spent = self._choose(chosen, owner, run, most, budget_us)
            owner.used += spent
            run.used += spent
            if run.groups:
                owner.runs.add(label, run)
            if owner.size:
                self._owners.add(name, owner)
        return chosen

    def _choose(self, chosen: list[Ticket], owner: _Owner, run: _Run, most: int, budget_us: float) -> float:
        """Move tickets of a run to `chosen`; return what they cost."""
        spent = 0.0
        for ticket in _tickets(run):
            self._count(owner, ticket, -1)
            if ticket.wanted:
                chosen.append(ticket)
                spent += self._cost_us(ticket)
            if len(chosen) >= most or spent >= budget_us:
                break
        while run.groups and not run.groups[0].tickets:
            run.drop_first()
        return spent

    def _count(self, owner: _Owner, ticket: Ticket, sign: int) -> None:
        size = sign * ticket.work.size
        self.size, self.bytes = self.size + sign, self.bytes + size
        owner.size, owner.bytes = owner.size + sign, owner.bytes + size

    def drain(self) -> list[Ticket]:
        """Return every waiting ticket; the queue is empty afterwards."""
        out: list[Ticket] = []
        while taken := self.take(most=1 << 30, budget_us=float("inf")):
            out += taken
        return out


def _tickets(run: _Run) -> Iterator[Ticket]:
    """Take the tickets out of a run, one by one."""
    while run.groups:
        tickets = run.groups[0].tickets
        while tickets:
            yield tickets.popleft()
        run.drop_first()
