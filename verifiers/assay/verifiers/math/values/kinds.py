"""Typed values: what a tree means, by kind. Only values of one kind can be equal, but for listed bridges.

One         a scalar                       Members   unordered: bare lists, {...}, several roots, +-
Measured    a value with a unit            Ordered   tuples, vectors, ratios, lists with an ellipsis
Named       x = v, f(x) = v                Grid      matrices and column vectors
Record      x = 1, y = 2                   Reals     intervals, relations in one variable, unions
Equation    f(x, y) = g(x, y)              Relation  other inequalities
Text        words                          Opaque    text that is not read: equal only as text
Nothing     undefined, or a false chain of equalities: equal to nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.verifiers.math.equality.scalar import Scalar
from assay.verifiers.math.syntax.nodes import Node
from assay.verifiers.math.values.reals import Line

WORDED = "words:"
"""What the name of a `Named` begins with where it was given in words: only an announcement may be left out."""


@dataclass(frozen=True, eq=False)
class Value:
    """Any value."""

    @property
    def kind(self) -> str:
        """The kind's name, as explanations show it."""
        return type(self).__name__.lower()


@dataclass(frozen=True, eq=False)
class One(Value):
    """A scalar expression."""

    scalar: Scalar


@dataclass(frozen=True, eq=False)
class Measured(Value):
    """A value with a unit; `percent` marks one that was written with a percent sign."""

    value: Value
    unit: str
    percent: bool = False


@dataclass(frozen=True, eq=False)
class Members(Value):
    """Unordered members. Braces make it a set: there, members that repeat count once."""

    items: tuple[Value, ...]
    braced: bool = False


@dataclass(frozen=True, eq=False)
class Ordered(Value):
    """Ordered items. `form` is the brackets, `:` for a ratio, `...` for a list with an ellipsis."""

    form: str
    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Gap(Value):
    """The ellipsis in a list."""


@dataclass(frozen=True, eq=False)
class Grid(Value):
    """Rows of values."""

    form: str
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, eq=False)
class Named(Value):
    """A value with a name; `sides` is kept where it is an equation too."""

    name: str
    value: Value
    sides: tuple[Node, Node] | None = None


@dataclass(frozen=True, eq=False)
class Record(Value):
    """Values of several names."""

    fields: Mapping[str, Value]


@dataclass(frozen=True, eq=False)
class Equation(Value):
    """An equation in symbols; its solutions are what counts."""

    left: Node
    right: Node


@dataclass(frozen=True, eq=False)
class Reals(Value):
    """A set of real numbers; `variable` is the name it was given with, if any."""

    line: Line
    variable: str = ""


@dataclass(frozen=True, eq=False)
class Ranges(Value):
    """Intervals whose ends hold symbols, as written: `(a, a+1)`. Each is (brackets, low, high)."""

    pieces: tuple[tuple[str, Value, Value], ...]
    variable: str = ""


@dataclass(frozen=True, eq=False)
class Relation(Value):
    """`left sign right` with sign one of `=`, `<`, `<=`, `!=`."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, eq=False)
class Text(Value):
    """Words in canonical form."""

    text: str


@dataclass(frozen=True, eq=False)
class Opaque(Value):
    """What was not read, and why."""

    text: str
    why: str


@dataclass(frozen=True, eq=False)
class Nothing(Value):
    """Equal to nothing, and why."""

    why: str
