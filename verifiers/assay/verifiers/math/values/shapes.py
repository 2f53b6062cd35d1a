"""From a tree to a typed value (`values.py`): what commas, signs and brackets mean (contract, "math").

Two-item brackets are a pair here; `compare.py` lets a pair meet an interval. Commas between relations
are not read as "and" or "or": such a list is compared member by member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assay.verifiers.math.equality.scalar import Scalar, equal
from assay.verifiers.math.syntax.nodes import (
    MINUS_ONE,
    Bare,
    Builder,
    Chain,
    Const,
    Ellipsis,
    Fset,
    Mat,
    Node,
    Op,
    Quantity,
    Ratio,
    Sym,
    Tup,
    Unparsed,
    Word,
    form,
)
from assay.verifiers.math.values import matrices, relations, sets
from assay.verifiers.math.values.kinds import (
    WORDED,
    Equation,
    Gap,
    Grid,
    Measured,
    Members,
    Named,
    Nothing,
    One,
    Ordered,
    Reals,
    Record,
    Text,
    Value,
)
from assay.verifiers.math.values.reals import EVERYTHING
from assay.verifiers.math.values.signs import signed

MAX_MEMBERS = 4_000
_ANGLE_FUNCTIONS = frozenset(("sin", "cos", "tan", "cot", "sec", "csc"))
"""Functions of an angle: `\\sin A = v` names its value."""
_ORDER = frozenset(("<", ">", "<=", ">=", "!=", "="))
_ALL_REALS = frozenset(
    (
        "all real numbers",
        "all reals",
        "the real numbers",
        "all real values",
        "real numbers",
        "the set of all real numbers",
        "the set of real numbers",
        "any real number",
        "all real number",
        "the reals",
    )
)


def value_of(node: Node) -> Value:
    """The typed value of a tree. Raises `Unparsed` where the tree has no meaning here."""
    if not isinstance(node, (Bare, Fset, Chain, Builder)):
        signs = signed(node)
        if len(signs) > 1:
            return Members(tuple(value_of(each) for each in signs))
    reader = _READERS.get(type(node), plain)
    return reader(node)


def _word(node: Word) -> Value:
    return Reals(EVERYTHING) if node.text in _ALL_REALS else Text(node.text)


def plain(node: Node) -> Value:
    """A scalar, a named set, or an operation on sets."""
    if isinstance(node, Const) and len(node.name) == 1 and node.name.isupper():
        return Reals(EVERYTHING) if node.name == "R" else Text(f"set {node.name}")
    if isinstance(node, Op) and node.head in ("cup", "cap", "setminus"):
        return sets.set_operation(node, value_of)
    if isinstance(node, Op) and node.has_shape and node.head == "add" and len(node.args) == 2:
        second = node.args[1]
        if isinstance(second, Op) and second.args[0] == MINUS_ONE and isinstance(second.args[-1], Fset):
            return sets.set_operation(Op("setminus", (node.args[0], second.args[-1])), value_of)
    if node.has_shape:
        matrix = matrices.evaluated(node)
        return Grid(matrix.kind, tuple(_values(row) for row in matrix.rows))
    return One(Scalar(node))


def _values(nodes: tuple[Node, ...]) -> tuple[Value, ...]:
    return tuple(value_of(node) for node in nodes)


def members(nodes: tuple[Node, ...], *, braced: bool) -> Value:
    """An unordered collection; with an ellipsis it is a list in order."""
    if len(nodes) > MAX_MEMBERS:
        raise Unparsed("too many members")
    if any(isinstance(node, Ellipsis) for node in nodes):
        return Ordered("...", _values(nodes))
    flat: list[Value] = []
    for node in nodes:
        value = value_of(node)
        flat.extend(value.items if isinstance(value, Members) and not isinstance(node, Fset) else (value,))
    return Members(tuple(flat), braced)


def bare(node: Bare) -> Value:
    """Items without brackets: assignments, relations, or plain values."""
    items = node.items
    if node.joint == "or" and _says_either(items):
        raise Unparsed("one statement or another")
    if any(isinstance(item, Chain) for item in items):
        if all(isinstance(item, Chain) and item.signs[0] not in ("=",) for item in items) and node.joint != ",":
            together = sets.joined(node, value_of)
            if together is not None:
                return together
        excluded = relations.excluded(items)
        if excluded is not None:
            return excluded
        if any(isinstance(item, Chain) and "=" in item.signs for item in items):
            return assignments(items)
    elif node.joint == "or":
        together = sets.joined(node, value_of)
        if together is not None:
            return together
    return members(items, braced=False)


def _says_either(items: tuple[Node, ...]) -> bool:
    """Whether `or` joins statements on different names, as in `x = 1 or y = 2`, or names themselves."""
    if all(isinstance(item, Sym) for item in items):
        return True
    names = [item.free for item in items if isinstance(item, Chain)]
    return len(names) == len(items) and sum(map(len, names)) == len(frozenset().union(*names)) and all(names)


def assignments(items: tuple[Node, ...]) -> Value:
    """`x = 1, y = 2`, `x = 1, 2`, `x = 1, y = 2 or x = 3, y = 4`, or a mixture that is only a list."""
    fields: list[tuple[str, list[Value]]] = []
    whole: list[Named] = []
    for item in items:
        value = value_of(item)
        if isinstance(value, Named):
            fields.append((value.name, _unpacked(value.value)))
            whole.append(value)
        elif fields and not isinstance(item, Chain):
            fields[-1][1].extend(_unpacked(value))
        else:
            return members(items, braced=False)
    names = [name for name, _ in fields]
    if len(set(names)) == 1:
        return _named(names[0], [value for _, values in fields for value in values])
    if len(set(names)) == len(names):
        return Record({name: _one_or_members(values) for name, values in fields})
    return _records(fields)


def _records(fields: list[tuple[str, list[Value]]]) -> Value:
    """Names that come again start the next record."""
    records: list[dict[str, Value]] = [{}]
    for name, values in fields:
        if name in records[-1]:
            records.append({})
        records[-1][name] = _one_or_members(values)
    if len({frozenset(record) for record in records}) != 1:
        return Members(tuple(Named(name, _one_or_members(values)) for name, values in fields))
    return Members(tuple(Record(record) for record in records))


def _unpacked(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, Members) and not value.braced else [value]


def _one_or_members(values: list[Value]) -> Value:
    return values[0] if len(values) == 1 else Members(tuple(values))


def _named(name: str, values: list[Value]) -> Value:
    return Named(name, _one_or_members(values))


# --- chains ------------------------------------------------------------------------------------------
def chain(node: Chain) -> Value:
    """Equalities, relations, membership, with the unit of their sides; sides in two units say nothing."""
    units = {side.unit for side in node.sides if isinstance(side, Quantity) and side.unit}
    if len(units) > 1:
        return Nothing("sides in different units")
    value = _chain(node)
    return _measured(value, units.pop()) if units else value


def _measured(value: Value, unit: str) -> Value:
    if isinstance(value, (Measured, Nothing)):
        return value
    if isinstance(value, Named):
        return value if isinstance(value.value, Measured) else replace(value, value=_measured(value.value, unit))
    if isinstance(value, Members):
        return replace(value, items=tuple(_measured(item, unit) for item in value.items))
    return Measured(value, unit)


def _chain(node: Chain) -> Value:
    if all(sign == "=" for sign in node.signs):
        return equality(node.sides)
    if "in" in node.signs or "notin" in node.signs:
        return sets.membership(node, value_of)
    if all(sign in _ORDER for sign in node.signs):
        if "pm" in node.heads:
            return relations.without_values(node)
        return relations.relation(node)
    raise Unparsed("relation without a meaning here")


def equality(sides: tuple[Node, ...]) -> Value:
    """`x = v`; an equation; a chain, which is worth its last member if it is true."""
    if len(sides) == 2:
        return _pair(*sides)
    last = sides[-1]
    if not all(_same(one, last) for one in sides[1:-1]):
        name = name_of(last)
        if name is not None and all(_same(one, sides[0]) for one in sides[1:-1]):
            return Named(name, value_of(sides[0]))
        return Nothing("a false chain of equalities")
    first = sides[0]
    name = name_of(first)
    if name is not None and name not in last.free:
        return Named(name, value_of(last))
    if first.has_shape:
        raise Unparsed("chain of things that are no scalars")
    if _same(first, last):
        return value_of(last)
    if first.free - last.free and first.heads <= {"add", "mul", "div"}:
        return Named(form(first), value_of(last))
    return Nothing("a false chain of equalities")


def _same(one: Node, other: Node) -> bool:
    one, other = _unmeasured(one), _unmeasured(other)
    if one.has_shape or other.has_shape:
        return one == other
    if signed(one) != [one] or signed(other) != [other]:
        return one == other
    return equal(Scalar(one), Scalar(other))


def _unmeasured(node: Node) -> Node:
    return node.value if isinstance(node, Quantity) else node


def _pair(left: Node, right: Node) -> Value:
    for name_side, value_side, natural in ((left, right, True), (right, left, False)):
        name = name_of(name_side)
        if name is None or (not natural and (name_of(left) is not None or left.free)):
            continue
        if not name_side.free & value_side.free or (isinstance(name_side, Op) and not isinstance(value_side, Sym)):
            sides = None if left.has_shape or right.has_shape else (left, right)
            return Named(name, value_of(value_side), sides if signed(value_side) == [value_side] else None)
    if isinstance(left, Ratio):
        return Named(form(left), value_of(right))
    one, other = _unmeasured(left), _unmeasured(right)
    if one.has_shape or other.has_shape:
        raise Unparsed("equation between things that are no scalars")
    if not one.free and not other.free:
        return value_of(right) if equal(Scalar(one), Scalar(other)) else Nothing("a false equality")
    if "pm" in one.heads | other.heads or "mp" in one.heads | other.heads:
        raise Unparsed("sign out of place")
    return value_of(right) if equal(Scalar(one), Scalar(other)) else Equation(one, other)


def _symbol(node: Node) -> str:
    return node.name if isinstance(node, Sym) else ""


def name_of(node: Node) -> str | None:
    """The name that a side of an equality is, or None: a symbol, `f(x)`, a word, two capitals."""
    if isinstance(node, Sym):
        return node.name
    if isinstance(node, Word):
        return WORDED + node.text
    if isinstance(node, Tup) and all(isinstance(item, Sym) for item in node.items):
        return f"({','.join(item.name for item in node.items if isinstance(item, Sym))})"
    if isinstance(node, Op):
        if node.head.startswith("app:"):
            return form(node)
        if node.head == "mul" and 2 <= len(node.args) <= 4 and all(_capital(arg) for arg in node.args):
            return "".join(arg.name for arg in node.args if isinstance(arg, Sym))
        if node.head in _ANGLE_FUNCTIONS and isinstance(node.args[0], Sym):
            return form(node)
        if node.head in ("abs", "norm") and isinstance(node.args[0], Op) and (inner := name_of(node.args[0])):
            return f"|{inner}|"
    return None


def _capital(node: Node) -> bool:
    return isinstance(node, Sym) and len(node.name) == 1 and node.name.isupper()


_READERS: dict[type[Node], Callable[[Any], Value]] = {
    Quantity: lambda node: Measured(value_of(node.value), node.unit, node.percent),
    Word: _word,
    Tup: lambda node: Ordered(node.opening + node.closing, _values(node.items)),
    Ratio: lambda node: Ordered(":", _values(node.items)),
    Fset: lambda node: members(node.items, braced=True),
    Bare: bare,
    Chain: chain,
    Mat: lambda node: Grid(node.kind, tuple(_values(row) for row in node.rows)),
    Builder: lambda node: sets.builder(node, value_of),
    Ellipsis: lambda node: Gap(),
}
"""Type of node -> its typed value; every other node is `plain`."""
