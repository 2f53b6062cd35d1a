"""Kinds of lanes. A lane of each kind runs the verifiers that need what the kind has."""

from __future__ import annotations

from enum import Enum


class LaneKind(Enum):
    """What a lane has beside the verifiers."""

    TEXT = "text"
    """Nothing: it judges text, in chunks."""
    SANDBOX = "sandbox"
    """A channel to one sandbox slot: it runs programs, one item at a time."""

    ALGEBRA = "algebra"
    """sympy: it decides sums, limits and integrals that a text lane cannot, one item at a time. Replaced on overrun."""


FIRST_COST_US = {LaneKind.TEXT: 200.0, LaneKind.SANDBOX: 20_000.0, LaneKind.ALGEBRA: 100_000.0}
"""Cost of an item, in CPU microseconds, assumed until one of its verifier has been measured."""
EXCLUSIVE = frozenset({LaneKind.SANDBOX, LaneKind.ALGEBRA})
"""Kinds whose lanes take one item at a time."""
