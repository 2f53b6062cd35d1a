"""The states of a group, the transitions between them, and why a group is dropped.

    drawn -> running -> judged -> admitted -> trained
      ^         |          |         |
      +-lost----+          +-------> dropped(reason)      returned: still open when the run ended

`trained`, `returned` and `dropped` are final: each draw ends in exactly one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class GroupState(str, Enum):
    """State of a group. `judged`: its verdicts are known; `admitted`: it waits for a place in a batch."""

    DRAWN = "drawn"
    RUNNING = "running"
    JUDGED = "judged"
    ADMITTED = "admitted"
    TRAINED = "trained"
    RETURNED = "returned"
    DROPPED = "dropped"


class Reason(str, Enum):
    """Why a group was dropped.

    `zero_variance`: its scores are equal, so that it has no gradient. `no_verdict`: none of its samples has a verdict.
    `deadline`: it was not finished in time. `stale`: it would have trained at a greater lag than allowed. `overflow`:
    the buffer was full, and it was the oldest. `mastered`: its prompt is no longer drawn. `flushed`: discarded on
    request.
    """

    ZERO_VARIANCE = "zero_variance"
    NO_VERDICT = "no_verdict"
    DEADLINE = "deadline"
    STALE = "stale"
    OVERFLOW = "overflow"
    MASTERED = "mastered"
    FLUSHED = "flushed"


S = GroupState
TRANSITIONS: Mapping[GroupState, frozenset[GroupState]] = {
    S.DRAWN: frozenset({S.RUNNING, S.DROPPED, S.RETURNED}),
    S.RUNNING: frozenset({S.DRAWN, S.JUDGED, S.DROPPED, S.RETURNED}),
    S.JUDGED: frozenset({S.ADMITTED, S.DROPPED, S.RETURNED}),
    S.ADMITTED: frozenset({S.TRAINED, S.DROPPED, S.RETURNED}),
    S.TRAINED: frozenset(),
    S.RETURNED: frozenset(),
    S.DROPPED: frozenset(),
}  # fmt: skip
"""The states that may follow each state."""
FINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)
