"""Kinds of lanes. An item starts in the kind that its verifier declares, and moves if it turns out to need another."""

from __future__ import annotations

from enum import Enum


class LaneKind(Enum):
    """What a lane has in addition to the verifiers."""

    TEXT = "text"
    """Nothing more: it scores chunks of items whose verifiers only read text."""
    SANDBOX = "sandbox"
    """A channel to one sandbox slot: it scores items that run programs, one at a time."""
    ALGEBRA = "algebra"
    """sympy: it scores mathematics that a text lane cannot decide (sums, limits, integrals), one item at a time.
    A lane that overruns is replaced.
    """


FIRST_COST_US = {LaneKind.TEXT: 200.0, LaneKind.SANDBOX: 20_000.0, LaneKind.ALGEBRA: 100_000.0}
"""Cost of an item, in CPU microseconds, assumed until one of its verifier has been measured."""
EXCLUSIVE = frozenset({LaneKind.SANDBOX, LaneKind.ALGEBRA})
"""Kinds whose lanes take one item at a time."""
