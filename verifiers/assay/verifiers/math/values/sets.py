"""Sets: membership, set-builder notation, unions, intersections and differences.

What reads a tree as a value is handed in as `value_of`: sets hold values, and values may be sets.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.verifiers.math.syntax.nodes import Bare, Builder, Chain, Node, Op, Quantity, Sym, Unparsed
from assay.verifiers.math.values import reals
from assay.verifiers.math.values.kinds import Measured, Members, Named, One, Ordered, Ranges, Reals, Text, Value
from assay.verifiers.math.values.relations import as_ranges, as_reals

ValueOf = Callable[[Node], Value]


def membership(node: Chain, value_of: ValueOf) -> Value:
    """`x in S`, `x notin {1, 2}`."""
    if node.signs == ("in",) and isinstance(node.sides[0], Sym):
        name, value = node.sides[0].name, value_of(node.sides[1])
        if isinstance(value, Reals):
            return Reals(value.line, name)
        if isinstance(value, Members):
            return Named(name, Members(value.items))
        line = as_reals(value)
        if line is not None:
            return Reals(line, name)
        ranges = as_ranges(value)
        if ranges is not None:
            return Ranges(ranges.pieces, name)
        if isinstance(value, Text):
            return Text(f"{name} in {value.text}")
    if node.signs == ("notin",) and isinstance(node.sides[0], Sym):
        line = as_reals(value_of(node.sides[1]))
        if line is not None:
            return Reals(reals.complement(line), node.sides[0].name)
    raise Unparsed("membership that is not read")


def builder(node: Builder, value_of: ValueOf) -> Value:
    """`{x | x > 3}`, `{x in R : x != 1}`: the set that the condition describes."""
    member, universe = node.member, None
    if isinstance(node.member, Chain) and node.member.signs == ("in",):
        member, universe = node.member.sides[0], as_reals(value_of(node.member.sides[1]))
        if universe is None:
            raise Unparsed("set-builder over a set that is not read")
    condition = value_of(node.condition)
    if isinstance(condition, Measured):
        bare = Builder(node.member, _without_units(node.condition))
        return Measured(builder(bare, value_of), condition.unit)
    if isinstance(node.condition, Bare) and isinstance(condition, Members):
        lines = [as_reals(item) for item in condition.items]
        if any(line is None for line in lines):
            raise Unparsed("condition that is not read")
        condition = Reals(reals.intersection(line for line in lines if line is not None), getattr(member, "name", ""))
    if not isinstance(member, Sym) or not isinstance(condition, (Reals, Ranges)):
        raise Unparsed("set-builder that is not read")
    if condition.variable not in ("", member.name):
        raise Unparsed("condition on another variable")
    if isinstance(condition, Ranges):
        return Ranges(condition.pieces)
    line = condition.line if universe is None else reals.intersection((universe, condition.line))
    return Reals(line)


def joined(node: Bare, value_of: ValueOf) -> Value | None:
    """Relations or intervals joined by `or` (a union) or `and` (an intersection)."""
    lines, variables, units = [], set(), set()
    for item in node.items:
        value = value_of(item)
        if isinstance(value, Measured) and isinstance(value.value, Reals):
            units.add(value.unit)
            value = value.value
        if not isinstance(value, Reals) and not (isinstance(value, Ordered) and _surely_interval(value)):
            return None
        line = as_reals(value)
        if line is None:
            return None
        lines.append(line)
        variables.add(value.variable if isinstance(value, Reals) else "")
    if len(variables) != 1 or len(units) > 1:
        return None
    line = reals.union(lines) if node.joint == "or" else reals.intersection(lines)
    joint = Reals(line, variables.pop())
    return Measured(joint, units.pop()) if units else joint


def _without_units(node: Node) -> Node:
    if not isinstance(node, Chain):
        raise Unparsed("condition that is not read")
    return Chain(node.signs, tuple(side.value if isinstance(side, Quantity) else side for side in node.sides))


def _surely_interval(value: Ordered) -> bool:
    """Brackets that no pair has, or an infinite end."""
    infinite = any(isinstance(item, One) and item.scalar.infinite for item in value.items)
    return len(value.items) == 2 and (infinite or value.form in ("[)", "(]"))


def set_operation(node: Op, value_of: ValueOf) -> Value:
    """Unions, intersections and differences."""
    values = [value_of(arg) for arg in node.args]
    if node.head == "cup" and all(isinstance(value, Members) for value in values):
        return Members(
            tuple(item for value in values if isinstance(value, Members) for item in value.items), braced=True
        )
    lines = [as_reals(value) for value in values]
    if any(line is None for line in lines):
        return _ranges(node, values)
    known = [line for line in lines if line is not None]
    if node.head == "cup":
        return Reals(reals.union(known))
    if node.head == "cap":
        return Reals(reals.intersection(known))
    return Reals(reals.intersection((known[0], *(reals.complement(line) for line in known[1:]))))


def _ranges(node: Op, values: list[Value]) -> Value:
    """A union whose ends hold symbols, as it is written."""
    pieces = [as_ranges(value) for value in values]
    if node.head != "cup" or any(piece is None for piece in pieces):
        raise Unparsed("operation on sets that are not read")
    return Ranges(tuple(p for piece in pieces if piece is not None for p in piece.pieces))
