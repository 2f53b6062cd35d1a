"""The smallest pieces: numbers, letters with their subscripts and primes, accented and named symbols."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.cursor import END, Cursor
from assay.verifiers.math.syntax.exponents import read_raised
from assay.verifiers.math.syntax.nodes import Bare, Const, Fset, Node, Num, Op, Sym, Unparsed, mul
from assay.verifiers.math.syntax.numerals import decimal
from assay.verifiers.math.syntax.tokens import Token

_NAMED_FUNCTIONS = {"Gamma": "gamma", "zeta": "zeta"}
_FUNCTION_LETTERS = frozenset("fghFGH")


def read_number(cursor: Cursor, token: Token) -> Node:
    """A plain decimal number."""
    cursor.position += 1
    return Num(decimal(str(token.value)))


def read_exact(cursor: Cursor, token: Token) -> Node:
    """A number in another notation, whose value the tokeniser computed."""
    cursor.position += 1
    assert isinstance(token.value, Fraction)
    return Num(token.value)


def read_constant(cursor: Cursor, token: Token) -> Node:
    """A constant, or the empty set."""
    cursor.position += 1
    return Fset(()) if token.value == "empty" else Const(str(token.value))


def read_word(cursor: Cursor, token: Token) -> Node:
    """Upright letters that are no unit are one name: `x_{\\text{max}}` aside, `\\text{Area}`."""
    word = str(token.value)
    if len(word) < 3 and word.isascii():
        return read_letters(cursor, token)
    cursor.position += 1
    return Sym(f"{word}{_subscript(cursor)}")


def read_letters(cursor: Cursor, token: Token) -> Node:
    """Letters side by side are a product."""
    cursor.position += 1
    run = str(token.value)
    if len(run) > 4 or run.lower() in tables.STATEMENT_WORDS:
        raise Unparsed("words")
    letters = [_letter(letter) for letter in run[:-1]]
    if run[-2:] == "pi" and len(run) > 2:
        letters[-1:] = [Const("pi")]
        return mul(*letters)
    last = Sym(run[-1] + mark) if (mark := decoration(cursor)) else _letter(run[-1])
    while cursor.at_op("^"):
        cursor.position += 1
        last = read_raised(cursor, last)
    return mul(*letters, last)


def read_letter(cursor: Cursor, token: Token) -> Node:
    """One letter; `f(x)` is the value of an unnamed function."""
    cursor.position += 1
    name = str(token.value)
    decorated = name + decoration(cursor)
    if name in _FUNCTION_LETTERS and (node := _applied(cursor, decorated)) is not None:
        return node
    if decorated in _NAMED_FUNCTIONS and (node := _applied(cursor, decorated)) is not None:
        return Op(_NAMED_FUNCTIONS[decorated], node.children())
    return _letter(name) if decorated == name else Sym(decorated)


def decoration(cursor: Cursor) -> str:
    """Primes and a subscript."""
    mark = ""
    while True:
        if cursor.at_op("'"):
            cursor.position += 1
            mark += "'"
        elif cursor.at_op("_"):
            mark += _subscript(cursor)
        else:
            return mark


def _subscript(cursor: Cursor) -> str:
    if not cursor.at_op("_"):
        return ""
    cursor.position += 1
    if cursor.peek() is END:
        raise Unparsed("no subscript")
    inner = cursor.group_tokens()
    cursor.skip_argument()
    return "_" + "".join(str(token.value) for token in inner if token.value not in ("{", "}"))


def _applied(cursor: Cursor, name: str) -> Node | None:
    """`f(x)`, `f^{-1}(x)`: the value of an unnamed function."""
    start = cursor.position
    if cursor.at_op("^") and [t.value for t in cursor.tokens[start + 1 : start + 5]] == ["{", "-", "1", "}"]:
        name, cursor.position = name + "^-1", start + 5
    if not cursor.at_op("(") or cursor.position not in cursor.pairs:
        cursor.position = start
        return None
    close = cursor.pairs[cursor.position]
    inner = cursor.within(cursor.position + 1, close, cursor.grammar.members)
    cursor.position = close + 1
    return Op(f"app:{name}", inner.items if isinstance(inner, Bare) else (inner,))


def read_accented(cursor: Cursor, token: Token) -> Node:
    """A letter under an accent: `\\vec v`, `\\overline{AB}`."""
    cursor.position += 1
    inner = cursor.group_tokens()
    if not token.value or not inner or inner[0].kind not in ("let", "run", "word", "const"):
        raise Unparsed("accent")
    cursor.skip_argument()
    text = "".join(str(t.value) for t in inner if t.value not in ("{", "}"))
    return Sym(f"{token.value}:{text}{decoration(cursor)}")


def read_named(cursor: Cursor, token: Token) -> Node:
    """What a sign names: `\\angle ABC`."""
    cursor.position += 1
    text = ""
    while cursor.peek().kind in ("let", "run", "word"):
        text += str(cursor.peek().value)
        cursor.position += 1
        text += decoration(cursor)
    if not text:
        raise Unparsed("name")
    return Sym(f"{token.value}:{text}")


def _letter(name: str) -> Node:
    return Const(name) if name in ("i", "e") else Sym(name)
