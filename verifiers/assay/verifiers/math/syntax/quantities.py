"""A value with what stands beside it: currency, percent, a number word, a unit."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax import tables, units
from assay.verifiers.math.syntax.cursor import Cursor
from assay.verifiers.math.syntax.nodes import Ellipsis, Node, Num, Op, Quantity, Unparsed, Word, div, mul, neg
from assay.verifiers.math.syntax.phrases import is_date, is_words, unit_phrase, word_text

_PERCENT = Num(Fraction(1, 100))


def read_quantity(cursor: Cursor) -> Node:
    """A value with what may stand beside it: currency, percent, number word, unit."""
    if cursor.position >= cursor.end:
        raise Unparsed("nothing there")
    here = cursor.tokens[cursor.position : cursor.end]
    if len(here) == 1 and here[0].value == "...":
        cursor.position = cursor.end
        return Ellipsis()
    if is_date(here):
        cursor.position = cursor.end
        return Word("".join(str(token.value) for token in here))
    if is_words(here):
        cursor.position = cursor.end
        return Word(word_text(here))
    if here[0].value == "百分之" and len(here) > 1:
        cursor.position += 1
        return Quantity(mul(cursor.grammar.sum(cursor), _PERCENT), "", percent=True)
    sign = _minus_before_currency(cursor)
    money = _currency(cursor)
    node = cursor.grammar.sum(cursor)
    node = neg(node) if sign else node
    return _with_suffix(cursor, node, money)


def _minus_before_currency(cursor: Cursor) -> bool:
    """`-$5`: the sign before a currency."""
    if cursor.at_op("-") and cursor.peek(1).kind == "money":
        cursor.position += 1
        return True
    return False


def _currency(cursor: Cursor) -> str:
    token, following = cursor.peek(), cursor.peek(1)
    if token.kind == "money":
        cursor.position += 1
        return units.CANONICAL[str(token.value)]
    if token.kind in ("word", "run") and token.value in units.CURRENCY_CODES and following.kind == "num":
        cursor.position += 1
        return units.CANONICAL[str(token.value)]
    if token.value in ("US", "USD", "A", "C") and following.kind == "money" and not following.spaced:
        cursor.position += 2
        return "dollar"
    return ""


def _with_suffix(cursor: Cursor, node: Node, money: str) -> Node:
    percent = isinstance(node, Op) and node.head == "pct" and cursor.level == 1
    if percent:
        node = mul(node.children()[0], _PERCENT)
    while cursor.peek().kind in ("word", "run") and (times := tables.multiplier(cursor.peek().value)):
        node = mul(node, Num(Fraction(times)))
        cursor.position += 1
    if cursor.peek().kind in ("word", "run") and (
        bottom := tables.FRACTION_WORDS.get(str(cursor.peek().value).lower())
    ):
        node = div(node, Num(Fraction(bottom)))
        cursor.position += 1
    taken = _percent_words(cursor)
    if taken:
        cursor.position += taken
        node, percent = mul(node, _PERCENT), cursor.level == 1
    if isinstance(node, Op) and node.head == "deg":
        node, money = node.args[0], "degree"
        if cursor.end - cursor.position == 1 and cursor.peek().value in ("C", "F"):
            money = f"degree {cursor.peek().value}"
            cursor.position += 1
    unit = money
    if cursor.position < cursor.end:
        phrase = unit_phrase(cursor.tokens[cursor.position : cursor.end])
        if phrase is None or (money and phrase not in (money, "")):
            raise Unparsed("words that are no unit")
        unit, cursor.position = phrase or money, cursor.end
    return Quantity(node, unit, percent) if unit or percent else node


def _percent_words(cursor: Cursor) -> int:
    """How many words say `percent` here."""
    here, following = (str(cursor.peek(i).value).lower() for i in (0, 1))
    if here in tables.PERCENT_WORDS and cursor.peek().kind in ("word", "run"):
        return 1
    return 2 if (here, following) in (("per", "cent"), ("por", "ciento"), ("pour", "cent")) else 0
