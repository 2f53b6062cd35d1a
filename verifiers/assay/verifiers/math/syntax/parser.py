"""From tokens to a tree: recursive descent over one token list, with ranges.

Grammar, loosest first: list (`,` `;` and or) > statement (relation signs) > side (set operations, `:`) >
quantity (a value, then its unit) > sum > product (juxtaposition binds as `*`; `/` goes left to right) >
power > atom. What the grammar does not cover raises `Unparsed`: the caller then has text, no value.
Not covered: derivatives as operators, indefinite integrals as values, user macros.
Work is bounded by tokens times nesting, and nesting by `MAX_DEPTH`.
"""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax import tables, units
from assay.verifiers.math.syntax._commands import Commands
from assay.verifiers.math.syntax._cursor import OPENING, is_relation
from assay.verifiers.math.syntax.nodes import (
    Bare,
    Chain,
    Ellipsis,
    Node,
    Num,
    Op,
    Quantity,
    Ratio,
    Unparsed,
    Word,
    add,
    div,
    is_shallow,
    mul,
    neg,
)
from assay.verifiers.math.syntax.phrases import MAX_TOKENS, is_clock, is_date, is_words, unit_phrase, word_text
from assay.verifiers.math.syntax.tokens import Token

_PER = frozenset(("per", "por", "pour"))
_PERCENT = Num(Fraction(1, 100))


class _Parser(Commands):
    """The loosest layers."""

    def members(self) -> Node:
        """The whole range as a list, or as its only member."""
        start = self.position
        pieces = self.split(_is_list_separator)
        if len(pieces) == 1:
            self.position = start
            return self.statement()
        joints = {sign for _, _, sign in pieces if sign}
        items: list[Node] = []
        for index, (start, end, _) in enumerate(pieces):
            if start == end:
                if _may_be_empty(pieces, index):
                    continue
                raise Unparsed("empty member of a list")
            items.append(self.within(start, end, self.statement))
        joint = "or" if "or" in joints else "and" if "and" in joints else ","
        return items[0] if len(items) == 1 else Bare(joint, tuple(items))

    def statement(self) -> Node:
        """Sides joined by relation signs, or one side."""
        start = self.position
        pieces = self.split(is_relation)
        if len(pieces) == 1:
            self.position = start
            return self.side()
        signs = tuple(sign for _, _, sign in pieces[:-1])
        sides = [
            self.within(start, end, self.label if not i else self.side) for i, (start, end, _) in enumerate(pieces)
        ]
        return Chain(signs, tuple(sides))

    def label(self) -> Node:
        """The first side of a relation: there `p(t)` is a function's name, whatever the letter."""
        token = self.peek()
        if (
            token.kind in ("let", "word", "run")
            and self.end - self.position >= 4
            and self.tokens[self.end - 1].value == ")"
        ):
            name, after = self._name_before_bracket()
            if (
                name
                and self.pairs.get(after) == self.end - 1
                and _plain_arguments(self.tokens[after + 1 : self.end - 1])
            ):
                arguments = self.within(after + 1, self.end - 1, self.members)
                self.position = self.end
                return Op(f"app:{name}", arguments.items if isinstance(arguments, Bare) else (arguments,))
        return self.side()

    def _name_before_bracket(self) -> tuple[str, int]:
        index, parts = self.position, []
        while index < self.end and self.tokens[index].value != "(":
            parts.append(str(self.tokens[index].value))
            index += 1
        name = "".join(parts).replace("{", "").replace("}", "")
        return (name, index) if len(parts) <= 8 and not set("+*/=!,") & set(name) else ("", index)

    def side(self) -> Node:
        """Sets joined by set operations, a ratio, or a quantity."""
        for sign in ("cup", "cap", "setminus"):
            pieces = self.split_here(sign)
            if len(pieces) > 1:
                return Op(sign, tuple(self.within(start, end, self.side) for start, end, _ in pieces))
        pieces = self.split_here(":")
        if len(pieces) > 1 and is_clock(here := self.tokens[pieces[0][0] : self.end]):
            return Word("".join(str(token.value) for token in here))
        if len(pieces) > 1:
            return Ratio(tuple(self.within(start, end, self.quantity) for start, end, _ in pieces))
        return self.quantity()

    def split_here(self, sign: str) -> list[tuple[int, int, str]]:
        start = self.position
        pieces = self.split(lambda token: token.kind == "op" and token.value == sign)
        if len(pieces) == 1:
            self.position = start
        return pieces

    def quantity(self) -> Node:
        """A value with what may stand beside it: currency, percent, number word, unit."""
        if self.position >= self.end:
            raise Unparsed("nothing there")
        here = self.tokens[self.position : self.end]
        if len(here) == 1 and here[0].value == "...":
            self.position = self.end
            return Ellipsis()
        if is_date(here):
            self.position = self.end
            return Word("".join(str(token.value) for token in here))
        if is_words(here):
            self.position = self.end
            return Word(word_text(here))
        if here[0].value == "百分之" and len(here) > 1:
            self.position += 1
            return Quantity(mul(self.sum(), _PERCENT), "", percent=True)
        sign = self._currency_sign()
        money = self._currency()
        node = self.sum()
        node = neg(node) if sign else node
        return self._suffix(node, money)

    def _currency_sign(self) -> bool:
        """`-$5`: the sign before a currency."""
        if self.at_op("-") and self.peek(1).kind == "money":
            self.position += 1
            return True
        return False

    def _currency(self) -> str:
        token, following = self.peek(), self.peek(1)
        if token.kind == "money":
            self.position += 1
            return units.CANONICAL[str(token.value)]
        if token.kind in ("word", "run") and token.value in units.CURRENCY_CODES and following.kind == "num":
            self.position += 1
            return units.CANONICAL[str(token.value)]
        if token.value in ("US", "USD", "A", "C") and following.kind == "money" and not following.spaced:
            self.position += 2
            return "dollar"
        return ""

    def _suffix(self, node: Node, money: str) -> Node:
        percent = isinstance(node, Op) and node.head == "pct" and self.level == 1
        if percent:
            node = mul(node.children()[0], _PERCENT)
        while self.peek().kind in ("word", "run") and (times := tables.multiplier(self.peek().value)):
            node = mul(node, Num(Fraction(times)))
            self.position += 1
        taken = self._percent_words()
        if taken:
            self.position += taken
            node, percent = mul(node, _PERCENT), self.level == 1
        if isinstance(node, Op) and node.head == "deg":
            node, money = node.args[0], "degree"
            if self.end - self.position == 1 and self.peek().value in ("C", "F"):
                money = f"degree {self.peek().value}"
                self.position += 1
        unit = money
        if self.position < self.end:
            phrase = unit_phrase(self.tokens[self.position : self.end])
            if phrase is None or (money and phrase not in (money, "")):
                raise Unparsed("words that are no unit")
            unit, self.position = phrase or money, self.end
        return Quantity(node, unit, percent) if unit or percent else node

    def _percent_words(self) -> int:
        """How many words say `percent` here."""
        here, following = (str(self.peek(i).value).lower() for i in (0, 1))
        if here in tables.PERCENT_WORDS and self.peek().kind in ("word", "run"):
            return 1
        return 2 if (here, following) in (("per", "cent"), ("por", "ciento"), ("pour", "cent")) else 0

    def sum(self) -> Node:
        """Terms joined by signs."""
        terms = [self.signed(first=True)]
        while self.at_op("+", "-", "pm", "mp"):
            terms.append(self.signed(first=False))
        return add(*terms) if len(terms) > 1 else terms[0]

    def signed(self, *, first: bool) -> Node:
        sign = ""
        if self.at_op("+", "-", "pm", "mp"):
            sign = str(self.peek().value)
            self.position += 1
            if first and self.at_op("+", "-"):
                raise Unparsed("two signs")
        node = self.product()
        if sign in ("pm", "mp"):
            return Op(sign, (node,))
        return neg(node) if sign == "-" else node

    def product(self) -> Node:
        """Factors joined by signs or by nothing."""
        node = self.power()
        while True:
            if self.at_op("*"):
                self.position += 1
                node = mul(node, self.signed_factor())
            elif self.at_op("/"):
                if self.level == 1 and unit_phrase(self.tokens[self.position : self.end]):
                    return node
                self.position += 1
                node = div(node, self.signed_factor())
            elif self.starts_factor():
                node = mul(node, self.power())
            else:
                return node

    def signed_factor(self) -> Node:
        if self.at_op("-"):
            self.position += 1
            return neg(self.power())
        if self.at_op("+"):
            self.position += 1
        return self.power()

    def starts_factor(self) -> bool:
        """Whether the next token continues a product by juxtaposition."""
        token = self.peek()
        kind, value = token.kind, token.value
        if kind in ("num", "val"):
            return self.tokens[self.position - 1].kind not in ("num", "val", "let", "run", "const")
        if kind in ("let", "const", "func", "acc", "name", "begin"):
            return True
        if kind == "run":
            return not self.stops_at_unit(token)
        if kind == "cmd":
            return value != "frac" or not self.stops_at_unit(token)
        if kind == "op":
            return value in OPENING or value == "|(" or value == "||(" or (value == "|" and not self.bars)
        return False

    def stops_at_unit(self, token: Token) -> bool:
        """Whether a unit or a number word stands here, to the end of the range."""
        if token.kind == "run":
            value = str(token.value)
            if tables.multiplier(value) or value.lower() in tables.PERCENT_WORDS or value.lower() in _PER:
                return True
            if value.lower() in tables.STATEMENT_WORDS or value == "of":
                return True
            if value not in units.BARE and not (len(value) > 2 and token.spaced):
                return False
        elif self.end - self.position > MAX_TOKENS or not any(
            t.kind in ("word", "run") for t in self.tokens[self.position + 1 : self.end]
        ):
            return False
        return unit_phrase(self.tokens[self.position : self.end]) is not None

    def whole(self, tokens: list[Token]) -> Node:
        """The tree of another token list."""
        return parse(tokens)


def parse(tokens: list[Token]) -> Node:
    """The tree of a whole answer. Raises `Unparsed`."""
    if not tokens:
        raise Unparsed("nothing there")
    parser = _Parser(tokens)
    tree = parser.within(0, parser.end, parser.members)
    if not is_shallow(tree):
        raise Unparsed("nested too deep")
    return tree


def _is_list_separator(token: Token) -> bool:
    return token.kind in ("joint", "row") or (token.kind == "op" and token.value in (",", ";"))


def _may_be_empty(pieces: list[tuple[int, int, str]], index: int) -> bool:
    """`, and`: the nothing between two separators."""
    return 0 < index < len(pieces) - 1 and pieces[index][2] in ("and", "or") and pieces[index - 1][2] in (",", ";")


def _plain_arguments(tokens: list[Token]) -> bool:
    if tokens and tokens[0].value == "-":
        tokens = tokens[1:]
    return all(t.kind in ("let", "num") or t.value in (",", "=") for t in tokens) and bool(tokens)
