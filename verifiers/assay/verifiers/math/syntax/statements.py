"""Lists, relations, set operations and ratios: the loosest layers of the grammar."""

from __future__ import annotations

from assay.verifiers.math.syntax.cursor import Cursor, is_relation
from assay.verifiers.math.syntax.labels import read_label
from assay.verifiers.math.syntax.nodes import Bare, Chain, Node, Op, Ratio, Sym, Unparsed, Word, div
from assay.verifiers.math.syntax.phrases import MAX_TOKENS, is_clock
from assay.verifiers.math.syntax.quantities import read_quantity
from assay.verifiers.math.syntax.tokens import Token

_DIVIDING = frozenset(("cup", "cap", "setminus", "over", "choose", ":"))


def read_members(cursor: Cursor) -> Node:
    """The whole range as a list, or as its only member."""
    start = cursor.position
    if cursor.end - start == 1:
        return read_quantity(cursor)
    pieces = cursor.split(_is_list_separator)
    if len(pieces) == 1:
        cursor.position = start
        return read_statement(cursor)
    joints = {sign for _, _, sign in pieces if sign}
    items: list[Node] = []
    for index, (start, end, _) in enumerate(pieces):
        if start == end:
            if _may_be_empty(pieces, index):
                continue
            raise Unparsed("empty member of a list")
        items.append(cursor.within(start, end, read_statement))
    joint = "or" if "or" in joints else "and" if "and" in joints else ","
    return items[0] if len(items) == 1 else Bare(joint, tuple(items))


def read_statement(cursor: Cursor) -> Node:
    """Sides joined by relation signs, or one side."""
    start = cursor.position
    pieces = cursor.split(is_relation)
    if len(pieces) == 1:
        cursor.position = start
        return _side(cursor)
    signs = tuple(sign for _, _, sign in pieces[:-1])
    sides = [cursor.within(start, end, _label if not i else _side) for i, (start, end, _) in enumerate(pieces)]
    return Chain(signs, tuple(sides))


def _label(cursor: Cursor) -> Node:
    """The first side of a relation: there `p(t)` is a function's name, whatever the letter."""
    label = (
        read_label(cursor.tokens[cursor.position : cursor.end]) if cursor.end - cursor.position <= MAX_TOKENS else ""
    )
    if label:
        cursor.position = cursor.end
        return Op(f"app:{label}", (Sym(""),))
    token = cursor.peek()
    if (
        token.kind in ("let", "word", "run")
        and cursor.end - cursor.position >= 4
        and cursor.tokens[cursor.end - 1].value == ")"
    ):
        name, after = _name_before_bracket(cursor)
        if (
            name
            and cursor.pairs.get(after) == cursor.end - 1
            and _plain_arguments(cursor.tokens[after + 1 : cursor.end - 1])
        ):
            arguments = cursor.within(after + 1, cursor.end - 1, read_members)
            cursor.position = cursor.end
            return Op(f"app:{name}", arguments.items if isinstance(arguments, Bare) else (arguments,))
    return _side(cursor)


def _name_before_bracket(cursor: Cursor) -> tuple[str, int]:
    index, parts = cursor.position, []
    while index < cursor.end and cursor.tokens[index].value != "(":
        parts.append(str(cursor.tokens[index].value))
        index += 1
    name = "".join(parts).replace("{", "").replace("}", "")
    return (name, index) if len(parts) <= 8 and not set("+*/=!,") & set(name) else ("", index)


def _side(cursor: Cursor) -> Node:
    """Sets joined by set operations, a ratio, or a quantity."""
    signs = {token.value for token in cursor.tokens[cursor.position : cursor.end] if token.kind == "op"}
    return _divided(cursor) if signs & _DIVIDING else read_quantity(cursor)


def _divided(cursor: Cursor) -> Node:
    """A side that holds one of the signs that bind less than a sum."""
    for sign in ("cup", "cap", "setminus"):
        pieces = _split_here(cursor, sign)
        if len(pieces) > 1:
            return Op(sign, tuple(cursor.within(start, end, _side) for start, end, _ in pieces))
    for sign, combined in (("over", div), ("choose", _binomial)):
        pieces = _split_here(cursor, sign)
        if len(pieces) == 2:
            return combined(*(cursor.within(start, end, cursor.grammar.sum) for start, end, _ in pieces))
    pieces = _split_here(cursor, ":")
    if len(pieces) > 1 and is_clock(here := cursor.tokens[pieces[0][0] : cursor.end]):
        return Word("".join(str(token.value) for token in here))
    if len(pieces) > 1:
        return Ratio(tuple(cursor.within(start, end, read_quantity) for start, end, _ in pieces))
    return read_quantity(cursor)


def _binomial(top: Node, bottom: Node) -> Node:
    return Op("binom", (top, bottom))


def _split_here(cursor: Cursor, sign: str) -> list[tuple[int, int, str]]:
    start = cursor.position
    pieces = cursor.split(lambda token: token.kind == "op" and token.value == sign)
    if len(pieces) == 1:
        cursor.position = start
    return pieces


def _is_list_separator(token: Token) -> bool:
    return token.kind in ("joint", "row") or (token.kind == "op" and token.value in (",", ";"))


def _may_be_empty(pieces: list[tuple[int, int, str]], index: int) -> bool:
    """`, and`: the nothing between two separators."""
    return 0 < index < len(pieces) - 1 and pieces[index][2] in ("and", "or") and pieces[index - 1][2] in (",", ";")


def _plain_arguments(tokens: list[Token]) -> bool:
    if tokens and tokens[0].value == "-":
        tokens = tokens[1:]
    return all(t.kind in ("let", "num") or t.value in (",", "=") for t in tokens) and bool(tokens)
