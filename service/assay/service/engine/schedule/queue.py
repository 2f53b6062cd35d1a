"""A bounded queue with fair shares: by owner, then by run; within a run, group after group.

Start-time fair queueing in two levels: the owner (then the run) that has used the least CPU so far is served
next; one that returns after a pause starts level with the others, so unused shares are not saved up. A group's
tickets stay together, in order, and no other ticket of that run comes between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from assay.service.engine.schedule.tickets import Ticket


class _Share:
    """The estimated CPU microseconds that an owner, or a run of an owner, has used."""

    def __init__(self, used: float) -> None:
        self.used = used


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

    @property
    def empty(self) -> bool:
        """Whether no ticket waits."""
        return not any(group.tickets for group in self.groups)


class _Owner(_Share):
    def __init__(self, used: float) -> None:
        super().__init__(used)
        self.runs: dict[str, _Run] = {}


class FairQueue:
    """Tickets that wait for a lane."""

    def __init__(self, cost_us: Callable[[Ticket], float]) -> None:
        self._cost_us = cost_us
        self._owners: dict[str, _Owner] = {}
        self._virtual_time = 0.0
        self.size = 0
        self.bytes = 0

    def put(self, ticket: Ticket) -> None:
        """Add a ticket behind those of its own group."""
        work = ticket.work
        run = self._run(work.owner, work.run)
        run.group(work.group).tickets.append(ticket)
        self._count(ticket, 1)

    def _run(self, owner_name: str, run_name: str) -> _Run:
        owner = self._owners.get(owner_name)
        if owner is None:
            owner = self._owners[owner_name] = _Owner(self._virtual_time)
        run = owner.runs.get(run_name)
        if run is None:
            level = min((other.used for other in owner.runs.values()), default=0.0)
            run = owner.runs[run_name] = _Run(level)
        return run

    def put_back(self, ticket: Ticket) -> None:
        """Add a ticket that a lane has returned: it goes first."""
        run = self._run(ticket.work.owner, ticket.work.run)
        group = _Group(None)
        group.tickets.append(ticket)
        run.groups.appendleft(group)
        self._count(ticket, 1)

    def take(self, *, most: int, budget_us: float) -> list[Ticket]:
        """Return the next wanted tickets of one run: at most `most`, of about `budget_us` CPU microseconds."""
        chosen: list[Ticket] = []
        while self._owners and not chosen:
            owner = min(self._owners.values(), key=lambda share: share.used)
            self._virtual_time = max(self._virtual_time, owner.used)
            run = min(owner.runs.values(), key=lambda share: share.used)
            spent = 0.0
            for ticket in self._pop_tickets(run):
                if ticket.wanted:
                    chosen.append(ticket)
                    spent += self._cost_us(ticket)
                if len(chosen) >= most or spent >= budget_us:
                    break
            owner.used += spent
            run.used += spent
            self._drop_empty()
        return chosen

    def _pop_tickets(self, run: _Run) -> Iterator[Ticket]:
        while run.groups:
            tickets = run.groups[0].tickets
            while tickets:
                ticket = tickets.popleft()
                self._count(ticket, -1)
                yield ticket
            run.drop_first()

    def _drop_empty(self) -> None:
        for name, owner in list(self._owners.items()):
            for label, run in list(owner.runs.items()):
                if run.empty:
                    del owner.runs[label]
            if not owner.runs:
                del self._owners[name]

    def _count(self, ticket: Ticket, sign: int) -> None:
        self.size += sign
        self.bytes += sign * ticket.work.size

    def drain(self) -> list[Ticket]:
        """Return every waiting ticket; the queue is empty afterwards."""
        out: list[Ticket] = []
        while taken := self.take(most=1 << 30, budget_us=float("inf")):
            out += taken
        return out
