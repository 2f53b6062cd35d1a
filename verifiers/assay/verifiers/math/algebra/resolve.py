"""Trees without the operations that need computer algebra: each is replaced by the closed form that sympy finds.

Nothing that sympy says is believed without numerical confirmation (`confirm.py`). It may take long or much memory:
it runs in lanes of its own, under a CPU budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import sympy

from assay.verifiers.math.algebra.confirm import agrees
from assay.verifiers.math.algebra.needs import HEADS, is_undecided
from assay.verifiers.math.algebra.translate import MAX_SIZE, Undecided, from_sympy, to_sympy
from assay.verifiers.math.equality.equations import substituted
from assay.verifiers.math.syntax.nodes import Const, Node, Op, Sym

_OPEN = (sympy.Sum, sympy.Product, sympy.Integral, sympy.Limit, sympy.Derivative, sympy.AccumBounds)


def resolved(tree: Node) -> Node:
    """`tree` with a closed form for each undecided operation. Raises `Undecided`."""
    if not HEADS & tree.heads:
        return tree
    changes: dict[str, Any] = {}
    for field in fields(tree):  # type: ignore[arg-type]
        value = getattr(tree, field.name)
        changed = _resolved_field(value)
        if changed is not value:
            changes[field.name] = changed
    tree = replace(tree, **changes) if changes else tree  # type: ignore[type-var]
    return _closed(tree) if isinstance(tree, Op) and tree.head in HEADS and is_undecided(tree) else tree


def _resolved_field(value: Any) -> Any:
    if isinstance(value, Node):
        return resolved(value)
    if isinstance(value, tuple):
        changed = tuple(_resolved_field(each) for each in value)
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
    return value


def _closed(op: Op) -> Node:
    """The confirmed closed form of one operation."""
    if op.size > MAX_SIZE:
        raise Undecided("too large for sympy")
    if (bound := _finite_bound(op)) is not None:
        name = Sym("N")
        return substituted(_closed(Op(op.head, (*op.args[:2], name), op.bound)), name.name, bound)
    symbols: dict[str, Any] = {}
    if op.bound:
        kind = {"integer": True} if op.head in ("sum", "prod") else {"real": True}
        symbols[op.bound] = sympy.Symbol(f"{op.bound}*", **kind)
    try:
        result = _COMPUTED[op.head](op, symbols)
    except Undecided:
        raise
    except Exception as error:  # sympy raises many kinds of exceptions on what it cannot do
        raise Undecided(f"sympy: {type(error).__name__}") from error
    if result.has(sympy.Piecewise):
        # The first piece is the sum where the series converges; confirmation looks inside the unit circle.
        folded = sympy.piecewise_fold(result)
        result = folded.args[0][0] if isinstance(folded, sympy.Piecewise) else result
    if result.has(*_OPEN, sympy.Piecewise) or result.has(sympy.nan, sympy.zoo):
        raise Undecided("no closed form")
    names = {symbol: name for name, symbol in symbols.items() if name != op.bound}
    node = from_sympy(result, names)
    if not agrees(op, node):
        raise Undecided("not confirmed numerically")
    return node


def _finite_bound(op: Op) -> Node | None:
    """The upper bound of a sum with many terms: its closed form up to a symbol is confirmed at small bounds."""
    if op.head not in ("sum", "prod") or op.args[2].free or op.args[2] == Const("oo") or "N" in op.free:
        return None
    return op.args[2]


def _range(op: Op, symbols: dict[str, Any]) -> tuple[Any, tuple[Any, Any, Any]]:
    outer = {name: symbol for name, symbol in symbols.items() if name != op.bound}
    low, high = (to_sympy(arg, outer) for arg in op.args[1:])
    symbols.update(outer)
    return to_sympy(op.args[0], symbols), (symbols[op.bound], low, high)


def _limit(op: Op, symbols: dict[str, Any]) -> Any:
    target = op.args[1]
    side = {"above": "+", "below": "-"}.get(getattr(target, "head", ""), "+-")
    place = target.args[0] if isinstance(target, Op) and side != "+-" else target
    point = to_sympy(place, {})
    body = to_sympy(op.args[0], symbols)
    if point in (sympy.oo, -sympy.oo):
        return sympy.limit(body, symbols[op.bound], point)
    return sympy.limit(body, symbols[op.bound], point, side)


def _derivative(op: Op, symbols: dict[str, Any]) -> Any:
    body = to_sympy(op.args[0], symbols)
    name = op.args[1].name if isinstance(op.args[1], Sym) else ""
    return sympy.diff(body, symbols.setdefault(name, sympy.Symbol(name, real=True)))


_COMPUTED: dict[str, Callable[[Op, dict[str, Any]], Any]] = {
    "sum": lambda op, symbols: sympy.summation(*_range(op, symbols)),
    "prod": lambda op, symbols: sympy.product(*_range(op, symbols)),
    "int": lambda op, symbols: sympy.integrate(*_range(op, symbols)),
    "lim": _limit,
    "diff": _derivative,
}
