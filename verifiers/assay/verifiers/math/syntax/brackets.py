"""Brackets, groups, sets in braces, and bars."""

from __future__ import annotations

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.cursor import OPENING, Cursor
from assay.verifiers.math.syntax.nodes import Bare, Builder, Fset, Mat, Node, Op, Tup, Unparsed, div
from assay.verifiers.math.syntax.tokens import Token


def read_bracketed(cursor: Cursor, token: Token) -> Node:
    """What a bracket or a bar opens."""
    sign = str(token.value)
    if sign in ("|", "|(", "||", "||("):
        return _absolute(cursor, sign)
    if sign not in OPENING:
        raise Unparsed("sign out of place")
    start = cursor.position
    if start not in cursor.pairs:
        if sign == "{(" and cursor.peek(1).kind == "begin":
            cursor.position += 1
            return cursor.grammar.atom(cursor)
        raise Unparsed("bracket without its partner")
    close = cursor.pairs[start]
    if close >= cursor.end:
        raise Unparsed("bracket without its partner")
    node = _bracketed(cursor, sign, start, close)
    cursor.position = close + 1
    return node


def _bracketed(cursor: Cursor, sign: str, start: int, close: int) -> Node:
    if sign == "{":
        return _group(cursor, start + 1, close)
    if sign == "{(":
        return _braces(cursor, start + 1, close)
    if start + 1 == close:
        raise Unparsed("empty brackets")
    inner = cursor.within(start + 1, close, cursor.grammar.members)
    if sign in ("floor(", "ceil("):
        return Op(sign[:-1], (inner,))
    closing = str(cursor.tokens[close].value)
    if isinstance(inner, Bare):
        if inner.joint != ",":
            raise Unparsed("words between brackets")
        return Tup(sign[:1], closing[-1:], inner.items)
    if sign == "<(":
        return Tup("<", ">", (inner,))
    if (sign, closing) not in (("(", ")"), ("[", "]")):
        raise Unparsed("brackets that do not agree")
    return inner


def _group(cursor: Cursor, start: int, close: int) -> Node:
    """A TeX group: `{a \\over b}`, `{n \\choose k}`, or what stands in it."""
    if _is_builder(cursor, start, close):
        return _braces(cursor, start, close)
    saved = cursor.position, cursor.end
    cursor.position, cursor.end = start, close
    pieces = cursor.split(lambda token: token.kind == "op" and token.value in ("over", "choose"))
    cursor.position, cursor.end = saved
    if len(pieces) == 2:
        top, bottom = (cursor.within(*piece[:2], cursor.grammar.sum) for piece in pieces)
        return div(top, bottom) if pieces[0][2] == "over" else Op("binom", (top, bottom))
    return cursor.within(start, close, cursor.grammar.members)


def _is_builder(cursor: Cursor, start: int, close: int) -> bool:
    """Whether a plain group is a set-builder whose braces lost their backslash: `{x | x > 3}`."""
    signs = [t.value for t in cursor.tokens[start : start + 8] if t.kind == "op"][:3]
    return cursor.tokens[start].kind == "let" and "|" in signs and signs[0] in ("|", "in")


def _braces(cursor: Cursor, start: int, close: int) -> Node:
    """`\\{...\\}`: a set by its members, or by a condition."""
    if start == close:
        return Fset(())
    saved = cursor.position, cursor.end
    cursor.position, cursor.end = start, close
    pieces = cursor.split(lambda token: token.kind == "op" and token.value in ("|", ":"))
    cursor.position, cursor.end = saved
    if len(pieces) == 2 and any(t.kind == "op" and t.value in tables.RELATIONS for t in cursor.tokens[start:close]):
        member = cursor.within(*pieces[0][:2], cursor.grammar.statement)
        return Builder(member, cursor.within(*pieces[1][:2], cursor.grammar.members))
    inner = cursor.within(start, close, cursor.grammar.members)
    return Fset(inner.items if isinstance(inner, Bare) else (inner,))


def _absolute(cursor: Cursor, sign: str) -> Node:
    """`|x|`, and `\\|v\\|`."""
    cursor.position += 1
    cursor.bars += 1
    node = cursor.grammar.sum(cursor)
    cursor.bars -= 1
    if not cursor.at_op(sign.rstrip("("), sign.rstrip("(") + ")"):
        raise Unparsed("bar without its partner")
    cursor.position += 1
    if isinstance(node, Mat):
        return determinant(node)
    return Op("abs" if sign[:2] != "||" else "norm", (node,))


def read_argument(cursor: Cursor) -> Node:
    """The argument of a command: a group, or one token."""
    if cursor.at_op("{"):
        if cursor.position not in cursor.pairs:
            raise Unparsed("group without an end")
        start, close = cursor.position, cursor.pairs[cursor.position]
        node = _group(cursor, start + 1, close)
        cursor.position = close + 1
        return node
    return cursor.grammar.atom(cursor)


def determinant(matrix: Mat) -> Node:
    """The determinant of a square matrix. Raises `Unparsed` if it is not square."""
    entries = matrix.children()
    if len(matrix.rows) ** 2 != len(entries) or len(matrix.rows) > 30:
        raise Unparsed("no square")
    return Op("det", entries)
