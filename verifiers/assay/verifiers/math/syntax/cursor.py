"""The parser's cursor: one token list, its bracket pairs, and ranges of it.

Every bracket is paired once, so that reading stays linear in tokens times nesting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.nodes import (
    MAX_DEPTH,
    Node,
    Unparsed,
)
from assay.verifiers.math.syntax.tokens import Token

OPENING = frozenset(("(", "[", "{", "{(", "<(", "floor(", "ceil("))
CLOSING = {
    ")": ("(", "["),
    "]": ("[", "("),
    "}": ("{",),
    ")}": ("{(",),
    ")>": ("<(",),
    "floor)": ("floor(",),
    "ceil)": ("ceil(",),
}
END = Token("end-of-text", "", False)


class Cursor:
    """One token list and its bracket pairs."""

    def __init__(self, tokens: list[Token], grammar: Grammar) -> None:
        self.grammar = grammar
        self.tokens = _split_arguments(tokens)
        self.pairs = _pairs(self.tokens)
        self.position = 0
        self.end = len(self.tokens)
        self.level = 0
        self.bars = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token at the cursor, or `END`."""
        index = self.position + ahead
        return self.tokens[index] if index < self.end else END

    def at_op(self, *signs: str) -> bool:
        """Whether one of these signs stands at the cursor."""
        token = self.peek()
        return token.kind == "op" and token.value in signs

    def within(self, start: int, end: int, read: Read) -> Node:
        """Read the range `start:end` whole with `read`; the cursor comes back to where it was."""
        saved = self.position, self.end, self.bars
        self.position, self.end, self.bars = start, end, 0
        self.level += 1
        if self.level > MAX_DEPTH:
            raise Unparsed("nested too deep")
        node = read(self)
        if self.position != self.end:
            raise Unparsed("something is left over")
        self.level -= 1
        self.position, self.end, self.bars = saved
        return node

    def split(self, separators: Callable[[Token], bool]) -> list[tuple[int, int, str]]:
        """Ranges between separators at this level, with the separator that follows each."""
        pieces: list[tuple[int, int, str]] = []
        start = index = self.position
        while index < self.end:
            token = self.tokens[index]
            if index in self.pairs and self.pairs[index] < self.end:
                index = self.pairs[index]
            elif separators(token):
                pieces.append((start, index, str(token.value)))
                start = index + 1
            index += 1
        pieces.append((start, self.end, ""))
        self.position = self.end
        return pieces

    def group_tokens(self) -> list[Token]:
        """Tokens of the next argument, without its braces."""
        if self.at_op("{") and self.position in self.pairs:
            return self.tokens[self.position + 1 : self.pairs[self.position]]
        return [self.peek()]

    def skip_argument(self) -> None:
        """Go past the next argument: a group, or one token."""
        self.position = self.pairs[self.position] + 1 if self.at_op("{") else self.position + 1


Read = Callable[[Cursor], Node]
"""Reads one layer of the grammar at the cursor and moves it past what was read."""


class Grammar(NamedTuple):
    """The layers that refer to each other; `parser.py` puts them together."""

    members: Read
    statement: Read
    sum: Read
    product: Read
    power: Read
    atom: Read
    starts_factor: Callable[[Cursor], bool]
    parse: Callable[[list[Token]], Node]


def _pairs(tokens: list[Token]) -> dict[int, int]:
    """Opening index -> closing index, for brackets, groups and environments."""
    pairs: dict[int, int] = {}
    stack: list[tuple[str, int]] = []
    for index, (kind, value, _) in enumerate(tokens):
        if kind == "begin" or (kind == "op" and value in OPENING):
            stack.append((str(value), index))
        elif kind == "end" or (kind == "op" and value in CLOSING):
            partners = (str(value),) if kind == "end" else CLOSING[str(value)]
            if stack and stack[-1][0] in partners:
                pairs[stack.pop()[1]] = index
            elif len(stack) > 1 and stack[-1][0] == "{(" and stack[-2][0] in partners:
                stack.pop()
                pairs[stack.pop()[1]] = index
            else:
                raise Unparsed("brackets do not pair")
    if any(opening == "{" for opening, _ in stack):
        raise Unparsed("group that never closes")
    if any(opening != "{(" for opening, _ in stack):
        raise Unparsed("bracket that never closes")
    return pairs


def _split_arguments(tokens: list[Token]) -> list[Token]:
    r"""TeX takes one letter or digit per argument: `\frac12`, `\frac ab`; exponents take whole numbers."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        if _is_braced_sign(tokens, index):
            continue
        previous = result[-1] if result else END
        taken = previous.kind == "cmd" and previous.value in ("frac", "binom", "sqrt")
        if token.kind == "run" and (taken or (previous.kind == "op" and previous.value in ("^", "_"))):
            result += _letters(str(token.value), token.spaced)
        elif token.kind == "num" and taken and previous.value != "sqrt" and len(str(token.value)) > 1:
            result += _digits(str(token.value), token.spaced)
        else:
            result.append(token)
    return result


def _is_braced_sign(tokens: list[Token], index: int) -> bool:
    """Whether the token is a brace around a lone sign, as in `5{:}30`."""
    if tokens[index].value not in ("{", "}"):
        return False
    middle = index + 1 if tokens[index].value == "{" else index - 1
    if not 0 < middle < len(tokens) - 1 or tokens[middle].value not in (",", ":", ";", "=", "<", ">"):
        return False
    return tokens[middle - 1].value == "{" and tokens[middle + 1].value == "}"


def _letters(run: str, spaced: bool) -> list[Token]:
    rest = Token("let" if len(run) == 2 else "run", run[1:], False)
    return [Token("let", run[0], spaced), rest]


def _digits(digits: str, spaced: bool) -> list[Token]:
    if not digits.isdigit():
        return [Token("num", digits, spaced)]
    rest = [Token("op", "*", False), Token("num", digits[2:], False)] if digits[2:] else []
    return [Token("num", digits[0], spaced), Token("num", digits[1], False), *rest]


def is_relation(token: Token) -> bool:
    """Whether the token is a relation sign."""
    return token.kind == "op" and token.value in tables.RELATIONS
