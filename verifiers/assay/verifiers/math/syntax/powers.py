"""An atom with what follows it: exponents, factorials, percent and degree signs, the base of a numeral."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.atoms import decoration
from assay.verifiers.math.syntax.cursor import Cursor
from assay.verifiers.math.syntax.exponents import read_raised
from assay.verifiers.math.syntax.nodes import Const, Node, Num, Op, Sym, Unparsed, power


def read_power(cursor: Cursor) -> Node:
    """An atom with what is attached to it."""
    start = cursor.position
    node = _mixed(cursor, cursor.grammar.atom(cursor))
    while True:
        if cursor.at_op("^"):
            cursor.position += 1
            node = read_raised(cursor, node)
        elif cursor.at_op("!"):
            node = _factorial(cursor, node)
        elif cursor.at_op("%"):
            cursor.position += 1
            node = Op("pct", (node,))
        elif cursor.at_op("deg"):
            cursor.position += 1
            node = Op("deg", (node,))
        elif cursor.at_op("_") and isinstance(node, Num):
            node = _based(cursor, start)
        elif cursor.at_op("_") and isinstance(node, (Sym, Const)):
            node = Sym(node.name + decoration(cursor))
        elif cursor.at_op("_") and isinstance(node, Op) and node.head == "pow" and isinstance(node.args[0], Sym):
            node = power(Sym(node.args[0].name + decoration(cursor)), node.args[1])
        else:
            return node


def _mixed(cursor: Cursor, node: Node) -> Node:
    r"""`6\frac56`: a whole number before a proper fraction of digits is a mixed number."""
    before, token = cursor.tokens[cursor.position - 1], cursor.peek()
    if before.kind != "num" or token.kind != "cmd" or token.value != "frac" or "." in str(before.value):
        return node
    if not isinstance(node, Num):
        return node
    start = cursor.position
    part = cursor.grammar.atom(cursor)
    if isinstance(part, Op) and part.head == "div":
        proper = _proper_fraction(*part.args)
        if proper is not None:
            return Num(node.value + proper)
    cursor.position = start
    return node


def _factorial(cursor: Cursor, node: Node) -> Node:
    cursor.position += 1
    if cursor.at_op("!") and not cursor.peek().spaced:
        cursor.position += 1
        return Op("fact2", (node,))
    return Op("fact", (node,))


def _based(cursor: Cursor, start: int) -> Node:
    """Digits with a base: `204_5`, `(204)_{5}`, `204_{five}`."""
    cursor.position += 1
    inner = [token for token in cursor.group_tokens() if token.value not in ("(", ")")]
    cursor.skip_argument()
    digits = [token for token in cursor.tokens[start : cursor.position] if token.kind == "num"][:1]
    if len(inner) != 1 or not digits or not str(digits[0].value).isdigit() or len(str(digits[0].value)) > 1_000:
        raise Unparsed("no base")
    word = str(inner[0].value)
    base = int(word) if word.isdigit() and len(word) < 3 else tables.BASE_WORDS.get(word.lower(), 0)
    if not 2 <= base <= 36:
        raise Unparsed("no base")
    text = str(digits[0].value)
    if any(int(digit) >= base for digit in text):
        raise Unparsed("digit beyond the base")
    return Num(Fraction(int(text, base)))


def _proper_fraction(top: Node, bottom: Node) -> Fraction | None:
    """The value of a quotient of whole numbers that is between 0 and 1."""
    if not isinstance(top, Num) or not isinstance(bottom, Num) or not 0 < top.value < bottom.value:
        return None
    return top.value / bottom.value if top.value.denominator == bottom.value.denominator == 1 else None
