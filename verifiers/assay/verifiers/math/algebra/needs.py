"""Which operations only computer algebra can evaluate. Imports no sympy: every comparison asks."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.equality.exact import NoValue, rational
from assay.verifiers.math.equality.numeric import MAX_FOLD, NotNumeric
from assay.verifiers.math.equality.places import ANYWHERE
from assay.verifiers.math.equality.scalar import Scalar
from assay.verifiers.math.syntax.nodes import Node, Op

HEADS = frozenset(("lim", "diff", "sum", "prod", "int"))
"""Heads of the operations that may need it."""


def needs_algebra(tree: Node | None) -> bool:
    """Whether an operation in the tree is left undecided by exact and numeric evaluation."""
    if tree is None or not HEADS & tree.heads:
        return False
    return any(is_undecided(op) for op in _operations(tree))


def _operations(tree: Node) -> list[Op]:
    found = [tree] if isinstance(tree, Op) and tree.head in HEADS else []
    for child in tree.children():
        if HEADS & child.heads:
            found += _operations(child)
    return found


def is_undecided(op: Op) -> bool:
    """Whether one operation is beyond the package's own evaluation."""
    if op.head in ("lim", "diff"):
        return True
    if op.head == "int":
        return not _has_value(op)
    low, high = (_number(arg) for arg in op.args[1:])
    return low is None or high is None or high - low >= MAX_FOLD


def _number(node: Node) -> Fraction | None:
    try:
        return rational(node) if not node.free else None
    except NoValue:
        return None


def _has_value(op: Op) -> bool:
    if op.free:
        return False
    try:
        return Scalar(op).number(ANYWHERE, 200, log_base=10, real=False) is not None
    except (NoValue, NotNumeric):
        return False
