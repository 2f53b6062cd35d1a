"""Named functions and their arguments: `sin^2 x`, `log_2 8`, `gcd(4, 6)`."""

from __future__ import annotations

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.brackets import read_argument
from assay.verifiers.math.syntax.cursor import Cursor
from assay.verifiers.math.syntax.exponents import read_exponent
from assay.verifiers.math.syntax.nodes import MINUS_ONE, Bare, Node, Op, Unparsed, mul, neg, power
from assay.verifiers.math.syntax.tokens import Token

_UNORDERED = frozenset(("min", "max", "gcd", "lcm"))
_BRACKETS_NEEDED = frozenset(("min", "max", "gcd", "lcm", "det"))


def read_function(cursor: Cursor, token: Token) -> Node:
    """A function with its exponent, base and arguments."""
    cursor.position += 1
    head = str(token.value)
    exponent: Node | None = None
    base: Node | None = None
    while cursor.at_op("^", "_"):
        if cursor.at_op("_"):
            cursor.position += 1
            base = read_argument(cursor)
        else:
            cursor.position += 1
            exponent = read_exponent(cursor)
    if exponent == MINUS_ONE and head in tables.INVERSES:
        head, exponent = tables.INVERSES[head], None
    if base is not None and head != "log":
        raise Unparsed("function with a subscript")
    node = Op(head, _arguments(cursor, head) + (() if base is None else (base,)))
    return node if exponent is None else power(node, exponent)


def _arguments(cursor: Cursor, head: str) -> tuple[Node, ...]:
    if cursor.at_op("(", "{", "[") and cursor.position in cursor.pairs:
        start, close = cursor.position, cursor.pairs[cursor.position]
        inner = cursor.within(start + 1, close, cursor.grammar.members)
        cursor.position = close + 1
        if isinstance(inner, Bare):
            return tuple(sorted(inner.items, key=repr)) if head in _UNORDERED else inner.items
        return (inner,)
    if head in ("sqrt", "cbrt"):
        return (cursor.grammar.atom(cursor),)
    if head in _BRACKETS_NEEDED:
        raise Unparsed("function without arguments")
    return (_implicit_argument(cursor),)


def _implicit_argument(cursor: Cursor) -> Node:
    """`\\sin 2x`: factors side by side, up to a sign or the next function."""
    if cursor.at_op("-"):
        cursor.position += 1
        return neg(_implicit_argument(cursor))
    node = cursor.grammar.power(cursor)
    while cursor.grammar.starts_factor(cursor) and cursor.peek().kind != "func" and not cursor.at_op("(", "[", "|"):
        node = mul(node, cursor.grammar.power(cursor))
    return node
