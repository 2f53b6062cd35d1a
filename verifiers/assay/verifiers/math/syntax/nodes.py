"""The tree that a mathematical text is read into.

Scalars are `Num`, `Sym` and `Op`; `Tup`, `Fset`, `Mat`, `Word`, `Quantity` and `Ellipsis` are shapes
that only `values.py` knows what to do with. Nodes are immutable; equality of nodes is equality of
form. Each carries its free symbols and its size, which the guards look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

MAX_DEPTH = 100
"""Nesting beyond this is not read: it is no answer that a person would write."""


class Unparsed(ValueError):
    """The text is not mathematics that this package reads. The message names what stood in the way."""


class Node:
    """Any node."""

    @cached_property
    def free(self) -> frozenset[str]:
        """Names of the free symbols."""
        return frozenset().union(*(child.free for child in self.children()))

    @cached_property
    def size(self) -> int:
        """Number of nodes."""
        return 1 + sum(child.size for child in self.children())

    @cached_property
    def depth(self) -> int:
        """Height of the tree."""
        return 1 + max((child.depth for child in self.children()), default=0)

    @cached_property
    def has_shape(self) -> bool:
        """Whether something that is not a scalar stands in it."""
        return any(child.has_shape for child in self.children())

    @cached_property
    def heads(self) -> frozenset[str]:
        """The heads of all operations in it."""
        return frozenset().union(*(child.heads for child in self.children()))

    def children(self) -> tuple[Node, ...]:
        """The direct children."""
        return ()


@dataclass(frozen=True)
class Num(Node):
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True)
class Sym(Node):
    """A variable, or something that is treated as one (`x_1`, a vector's name)."""

    name: str

    @cached_property
    def free(self) -> frozenset[str]:
        """Its own name."""
        return frozenset((self.name,))


@dataclass(frozen=True)
class Const(Node):
    """`pi`, `e`, `i`, `oo` (infinity), or a named set such as `R`."""

    name: str


@dataclass(frozen=True)
class Op(Node):
    """An operation or function. `bound` names the variable that the first argument binds, where one is."""

    head: str
    args: tuple[Node, ...]
    bound: str = ""

    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.args

    @cached_property
    def free(self) -> frozenset[str]:
        """Free symbols, without the bound one where it is bound (the first argument)."""
        if not self.bound:
            return frozenset().union(*(child.free for child in self.args))
        rest = frozenset().union(*(child.free for child in self.args[1:]))
        return (self.args[0].free - {self.bound}) | rest

    @cached_property
    def heads(self) -> frozenset[str]:
        """The heads of all operations in it, its own too."""
        return frozenset((self.head,)).union(*(child.heads for child in self.args))


@dataclass(frozen=True)
class Shape(Node):
    """What is not a scalar."""

    @cached_property
    def has_shape(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True)
class Tup(Shape):
    """Items between brackets: a tuple, a vector, or the ends of an interval."""

    opening: str
    closing: str
    items: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True)
class Fset(Shape):
    """Items between braces."""

    items: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True)
class Builder(Shape):
    """Set-builder notation: the members (with what they are taken from), and the condition."""

    member: Node
    condition: Node

    def children(self) -> tuple[Node, ...]:
        """Member and condition."""
        return (self.member, self.condition)


@dataclass(frozen=True)
class Mat(Shape):
    """Rows of a matrix, a column vector, or of `cases` and `aligned`."""

    kind: str
    rows: tuple[tuple[Node, ...], ...]

    def children(self) -> tuple[Node, ...]:
        """All entries."""
        return tuple(entry for row in self.rows for entry in row)


@dataclass(frozen=True)
class Bare(Shape):
    """Items joined by commas, `and` or `or`, without brackets. `joint` is `,`, `and` or `or`."""

    joint: str
    items: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True)
class Chain(Shape):
    """Sides joined by relation signs: `a = b`, `1 < x <= 4`, `x in S`."""

    signs: tuple[str, ...]
    sides: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The sides."""
        return self.sides


@dataclass(frozen=True)
class Quantity(Shape):
    """A value with a unit, a currency, or a count noun. `percent`: it was written with a percent sign."""

    value: Node
    unit: str
    percent: bool = False

    def children(self) -> tuple[Node, ...]:
        """The value."""
        return (self.value,)


@dataclass(frozen=True)
class Ratio(Shape):
    """Items joined by colons: a ratio or a time."""

    items: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        """The items."""
        return self.items


@dataclass(frozen=True)
class Ellipsis(Shape):
    """`...` in a list."""


@dataclass(frozen=True)
class Word(Shape):
    """Words that are not mathematics, in canonical form."""

    text: str


MAX_TREE_DEPTH = 4 * MAX_DEPTH


def is_shallow(tree: Node) -> bool:
    """Whether no path in the tree is longer than `MAX_TREE_DEPTH`; what walks trees may then recurse."""
    level: list[Node] = [tree]
    for _ in range(MAX_TREE_DEPTH):
        level = [child for node in level for child in node.children()]
        if not level:
            return True
    return False


def form(tree: Node) -> str:
    """The tree as text: equal for equal trees, cheap for numbers of any length."""
    if isinstance(tree, Num):
        return f"{tree.value.numerator:x}/{tree.value.denominator:x}"
    name = getattr(tree, "name", "") or getattr(tree, "head", "") or type(tree).__name__
    return f"{name}({','.join(map(form, tree.children()))})" if tree.children() else str(name)


ZERO, ONE, MINUS_ONE = Num(Fraction(0)), Num(Fraction(1)), Num(Fraction(-1))


def add(*args: Node) -> Node:
    """A sum, flattened."""
    flat: list[Node] = []
    for arg in args:
        flat.extend(arg.args if isinstance(arg, Op) and arg.head == "add" else (arg,))
    return flat[0] if len(flat) == 1 else Op("add", tuple(flat))


def mul(*args: Node) -> Node:
    """A product, flattened."""
    flat: list[Node] = []
    for arg in args:
        flat.extend(arg.args if isinstance(arg, Op) and arg.head == "mul" else (arg,))
    return flat[0] if len(flat) == 1 else Op("mul", tuple(flat))


def neg(arg: Node) -> Node:
    """The opposite."""
    return Num(-arg.value) if isinstance(arg, Num) else mul(MINUS_ONE, arg)


def div(top: Node, bottom: Node) -> Node:
    """A quotient."""
    return Op("div", (top, bottom))


def power(base: Node, exponent: Node) -> Node:
    """A power."""
    return Op("pow", (base, exponent))
