"""The readings of a tree with plus-minus signs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from assay.verifiers.math.syntax.nodes import MINUS_ONE, Node, Op, Quantity, Tup, Unparsed, mul


def signed(node: Node) -> list[Node]:
    """The two readings of a tree with plus-minus; several signs are independent unless one is minus-plus."""
    heads = node.heads
    if "pm" not in heads and "mp" not in heads:
        return [node]
    count = _count(node)
    if "mp" in heads:
        choices = [(True,) * count, (False,) * count]
    elif count <= 4:
        choices = list(itertools.product((True, False), repeat=count))
    else:
        raise Unparsed("too many signs")
    return [_choose(node, iter(choice)) for choice in choices]


def _count(node: Node) -> int:
    own = isinstance(node, Op) and node.head in ("pm", "mp")
    return own + sum(_count(child) for child in node.children())


def _choose(node: Node, picks: Iterator[bool]) -> Node:
    if isinstance(node, Op):
        if node.head in ("pm", "mp"):
            plus = next(picks)
            inner = _choose(node.args[0], picks)
            return inner if plus is (node.head == "pm") else mul(MINUS_ONE, inner)
        return replace(node, args=tuple(_choose(arg, picks) for arg in node.args))
    if isinstance(node, Tup):
        return replace(node, items=tuple(_choose(item, picks) for item in node.items))
    if isinstance(node, Quantity):
        return replace(node, value=_choose(node.value, picks))
    if node.children() and ("pm" in node.heads or "mp" in node.heads):
        raise Unparsed("sign out of place")
    return node
