"""Sums and products."""

from __future__ import annotations

from assay.verifiers.math.syntax import tables, units
from assay.verifiers.math.syntax.cursor import OPENING, Cursor
from assay.verifiers.math.syntax.nodes import Node, Op, Unparsed, add, mul, neg
from assay.verifiers.math.syntax.phrases import MAX_TOKENS, unit_phrase
from assay.verifiers.math.syntax.tokens import Token

_PER = frozenset(("per", "por", "pour"))


def read_sum(cursor: Cursor) -> Node:
    """Terms joined by signs."""
    terms = [_term(cursor, first=True)]
    while cursor.at_op("+", "-", "pm", "mp"):
        terms.append(_term(cursor, first=False))
    return add(*terms) if len(terms) > 1 else terms[0]


def _term(cursor: Cursor, *, first: bool) -> Node:
    sign = ""
    if cursor.at_op("+", "-", "pm", "mp"):
        sign = str(cursor.peek().value)
        cursor.position += 1
        if first and cursor.at_op("+", "-"):
            raise Unparsed("two signs")
    node = read_product(cursor)
    if sign in ("pm", "mp"):
        return Op(sign, (node,))
    return neg(node) if sign == "-" else node


def read_product(cursor: Cursor) -> Node:
    """Factors joined by signs or by nothing."""
    # Collected in a list: a product is built once, however many factors it has.
    factors = [cursor.grammar.power(cursor)]
    while True:
        if cursor.at_op("*"):
            cursor.position += 1
            factors.append(_signed_factor(cursor))
        elif cursor.at_op("/", "mod"):
            if cursor.at_op("/") and cursor.level == 1 and _is_unit_ahead(cursor):
                return mul(*factors)
            head = "div" if cursor.at_op("/") else "mod"
            cursor.position += 1
            factors = [Op(head, (mul(*factors), _signed_factor(cursor)))]
        elif starts_factor(cursor) and not _is_scale(cursor, factors[-1]):
            factors.append(cursor.grammar.power(cursor))
        else:
            return mul(*factors)


def _is_unit_ahead(cursor: Cursor) -> bool:
    few = cursor.end - cursor.position <= MAX_TOKENS
    return few and unit_phrase(cursor.tokens[cursor.position : cursor.end]) is not None


def _is_scale(cursor: Cursor, node: Node) -> bool:
    """Whether the last token is the scale of a temperature: `7°C`."""
    degrees = isinstance(node, Op) and node.head == "deg" and cursor.level == 1
    return degrees and cursor.position == cursor.end - 1 and cursor.peek().value in ("C", "F")


def _signed_factor(cursor: Cursor) -> Node:
    if cursor.at_op("-"):
        cursor.position += 1
        return neg(cursor.grammar.power(cursor))
    if cursor.at_op("+"):
        cursor.position += 1
    return cursor.grammar.power(cursor)


def starts_factor(cursor: Cursor) -> bool:
    """Whether the next token continues a product by juxtaposition."""
    token = cursor.peek()
    kind, value = token.kind, token.value
    if kind in ("num", "val"):
        return cursor.tokens[cursor.position - 1].kind not in ("num", "val", "let", "run", "const")
    if kind in ("let", "const", "func", "acc", "name", "begin"):
        return True
    if kind == "run":
        return not _stops_at_unit(cursor, token)
    if kind == "cmd":
        return value != "frac" or not _stops_at_unit(cursor, token)
    if kind == "op":
        return value in OPENING or value == "|(" or value == "||(" or (value == "|" and not cursor.bars)
    return False


def _stops_at_unit(cursor: Cursor, token: Token) -> bool:
    """Whether a unit or a number word stands here, to the end of the range."""
    if token.kind == "run":
        value = str(token.value)
        if tables.multiplier(value) or value.lower() in tables.PERCENT_WORDS | tables.FRACTION_WORDS.keys() | _PER:
            return True
        if value.lower() in tables.STATEMENT_WORDS or value == "of":
            return True
        if not units.is_bare(value, spaced=token.spaced) and not (len(value) > 2 and token.spaced):
            return False
    elif cursor.end - cursor.position > MAX_TOKENS or not any(
        t.kind in ("word", "run") for t in cursor.tokens[cursor.position + 1 : cursor.end]
    ):
        return False
    return unit_phrase(cursor.tokens[cursor.position : cursor.end]) is not None
