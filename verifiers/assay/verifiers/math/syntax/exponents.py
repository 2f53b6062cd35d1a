"""What stands after `^`: an exponent, a degree sign, an ordinal ending, or a mark such as a star."""

from __future__ import annotations

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.cursor import Cursor
from assay.verifiers.math.syntax.nodes import Node, Num, Op, Sym, Unparsed, neg, power
from assay.verifiers.math.syntax.numerals import decimal


def read_raised(cursor: Cursor, base: Node) -> Node:
    """What stands after `^`."""
    inner = cursor.group_tokens()
    values = [token.value for token in inner]
    if values in (["circ"], ["deg"]) or (values == ["o"] and isinstance(base, Num)):
        cursor.skip_argument()
        return Op("deg", (base,))
    if len(inner) == 1 and inner[0].value in tables.ORDINALS and isinstance(base, Num):
        cursor.skip_argument()
        return base
    if values in (["+"], ["-"]):
        cursor.skip_argument()
        return Op("above" if values == ["+"] else "below", (base,))
    if values and all(value in ("'", "*", "star") for value in values):
        cursor.skip_argument()
        return Sym(f"{_symbol_name(base)}{''.join(map(str, values))}")
    return power(base, read_exponent(cursor))


def read_exponent(cursor: Cursor) -> Node:
    """The exponent after `^`; towers associate to the right."""
    if cursor.at_op("-"):
        cursor.position += 1
        return neg(read_exponent(cursor))
    if cursor.at_op("+"):
        cursor.position += 1
    token = cursor.peek()
    if token.kind == "num":
        cursor.position += 1
        node: Node = Num(decimal(str(token.value)))
    elif token.kind == "op" and token.value not in ("{", "(", "|", "|(", "["):
        raise Unparsed("no exponent")
    else:
        node = cursor.grammar.atom(cursor)
    if cursor.at_op("^"):
        cursor.position += 1
        return power(node, read_exponent(cursor))
    return node


def _symbol_name(node: Node) -> str:
    if isinstance(node, Sym):
        return node.name
    raise Unparsed("mark on something that is no name")
