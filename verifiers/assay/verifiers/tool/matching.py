"""Match expected calls with made calls, each expected call with a different one.

`any`: maximum matching, so that a lenient expectation cannot take the only call of a strict one. `strict`: the expected
calls are an ordered subsequence. Unmatched calls: none are allowed, all, or those of read-only tools. The last two need
no search over all matchings: if all expected calls can be matched, and all calls that may not remain unmatched can be,
then one matching does both (Mendelsohn and Dulmage, 1958).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.verifiers.matchers import Matcher, maximum_matching
from assay.verifiers.tool.attempts import Attempt


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A call that a row expects."""

    name: str
    args: Matcher
    only: frozenset[str] | None = None
    """The arguments that are compared, or None for all: then a call may have no others."""

    def accepts(self, call: Attempt) -> bool:
        """Return whether a call meets the expectation."""
        return call.name == self.name and self.args(self._compared(call.args))

    def _compared(self, args: dict[str, Any]) -> dict[str, Any]:
        return args if self.only is None else {key: args[key] for key in self.only & args.keys()}


Spare = Callable[[Attempt], bool]
"""A predicate: whether a call may remain unmatched."""


def edges_of(wanted: Sequence[Wanted], calls: Sequence[Attempt]) -> list[list[int]]:
    """Return for each expected call the indices of the calls that meet it."""
    return [[index for index, call in enumerate(calls) if want.accepts(call)] for want in wanted]


def all_matched(wanted: Sequence[Wanted], calls: Sequence[Attempt]) -> bool:
    """Return whether every expected call can be matched with a different call."""
    return -1 not in maximum_matching(edges_of(wanted, calls), len(calls))


def matches_any_order(wanted: Sequence[Wanted], calls: Sequence[Attempt], spare: Spare) -> bool:
    """Return whether all expected calls can be matched and only calls that may remain unmatched are left."""
    edges = edges_of(wanted, calls)
    if -1 in maximum_matching(edges, len(calls)):
        return False
    if len(calls) == len(wanted):
        return True
    needed = [index for index, call in enumerate(calls) if not spare(call)]
    if len(needed) > len(wanted):
        return False
    back: list[list[int]] = [[] for _ in calls]
    for want, accepted in enumerate(edges):
        for index in accepted:
            back[index].append(want)
    return -1 not in maximum_matching([back[index] for index in needed], len(wanted))


def matches_in_order(wanted: Sequence[Wanted], calls: Sequence[Attempt], spare: Spare) -> bool:
    """Return whether the expected calls are a subsequence of the calls, and the others may remain unmatched."""
    reached = {0}
    for call in calls:
        free = spare(call)
        after = set(reached) if free else set()
        after |= {count + 1 for count in reached if count < len(wanted) and wanted[count].accepts(call)}
        reached = after
    return len(wanted) in reached


def most_matched(wanted: Sequence[Wanted], calls: Sequence[Attempt], *, ordered: bool) -> int:
    """Return the maximum number of expected calls matched at once (in order: the longest common subsequence)."""
    if not ordered:
        return sum(node >= 0 for node in maximum_matching(edges_of(wanted, calls), len(calls)))
    row = [0] * (len(wanted) + 1)
    for call in calls:
        before = row[:]
        for index, want in enumerate(wanted):
            row[index + 1] = max(row[index], before[index + 1], before[index] + want.accepts(call))
    return row[-1]
