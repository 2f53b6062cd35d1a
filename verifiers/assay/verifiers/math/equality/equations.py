"""Whether two equations have the same solutions: rearranged, scaled, cleared of fractions, or solved for a name.

Not covered: equations whose solutions agree for another reason (`x = 0` and `x^2 = 0`).
"""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.equality.scalar import Scalar, equal, proportional
from assay.verifiers.math.syntax.nodes import MINUS_ONE, Node, Num, Op, Sym, add, mul


def same_solutions(one: tuple[Node, Node], other: tuple[Node, Node]) -> bool:
    """Whether two equations have the same solutions: rearranged, scaled, cleared of fractions, or solved."""
    first, second = moved(one), moved(other)
    if proportional(Scalar(first), Scalar(second)):
        return True
    cleared = proportional(Scalar(numerator(first)), Scalar(numerator(second)))
    return cleared or _solved_alike(one, second, other, first)


def moved(sides: tuple[Node, Node]) -> Node:
    """Everything on one side."""
    return add(sides[0], mul(MINUS_ONE, sides[1]))


def _solved_alike(one: tuple[Node, Node], second: Node, other: tuple[Node, Node], first: Node) -> bool:
    """`y = e^x` and `x = ln y`: each solution put into the other equation leaves nothing."""
    zero = Scalar(Num(Fraction(0)))
    for sides, equation in ((one, second), (other, first)):
        name, value = sides if isinstance(sides[0], Sym) else sides[::-1]
        if not isinstance(name, Sym) or name.name in value.free or not value.free:
            return False
        difference = Scalar(substituted(equation, name.name, value))
        if not _vanishes(difference, zero):
            return False
    return True


def _vanishes(scalar: Scalar, zero: Scalar) -> bool:
    return equal(scalar, zero)


def substituted(node: Node, name: str, value: Node) -> Node:
    """`node` with `value` for the symbol `name`."""
    if isinstance(node, Sym):
        return value if node.name == name else node
    if isinstance(node, Op):
        return Op(node.head, tuple(substituted(arg, name, value) for arg in node.args), node.bound)
    return node


def numerator(node: Node) -> Node:
    """The numerator of a sum of fractions, over the product of their denominators."""
    top, _ = _over(node, 0)
    return top


_ONE = Num(Fraction(1))


def _over(node: Node, depth: int) -> tuple[Node, Node]:
    if isinstance(node, Op) and depth < 20 and node.size < 200:
        if node.head == "div":
            (a, b), (c, d) = (_over(arg, depth + 1) for arg in node.args)
            return mul(a, d), mul(b, c)
        if node.head == "mul":
            parts = [_over(arg, depth + 1) for arg in node.args]
            return mul(*(top for top, _ in parts)), mul(*(bottom for _, bottom in parts))
        if node.head == "add":
            return _common([_over(arg, depth + 1) for arg in node.args])
        if node.head == "pow" and isinstance(node.args[1], Num) and node.args[1].value < 0:
            return _ONE, Op("pow", (node.args[0], Num(-node.args[1].value)))
    return node, _ONE


def _common(parts: list[tuple[Node, Node]]) -> tuple[Node, Node]:
    """Over the product of the different denominators."""
    bottoms: list[Node] = []
    for _, bottom in parts:
        if not isinstance(bottom, Num) and bottom not in bottoms:
            bottoms.append(bottom)
    terms = []
    for top, bottom in parts:
        others = [b for b in bottoms if b != bottom]
        term = mul(top, *others) if others else top
        terms.append(Op("div", (term, bottom)) if isinstance(bottom, Num) and bottom != _ONE else term)
    return add(*terms), mul(*bottoms) if bottoms else _ONE
