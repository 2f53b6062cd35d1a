"""From tokens to a tree: recursive descent over one token list, with ranges.

Grammar, loosest first: list (`,` `;` and or) > statement (relation signs) > side (set operations, `:`) >
quantity (a value, then its unit) > sum > product (juxtaposition binds as `*`; `/` goes left to right) >
power > atom. What the grammar does not cover raises `Unparsed`: the caller then has text, no value.
Not covered: derivatives as operators, indefinite integrals as values, user macros.
Work is bounded by tokens times nesting, and nesting by `MAX_DEPTH`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from assay.verifiers.math import tables, units
from assay.verifiers.math.nodes import (
    MAX_DEPTH,
    MINUS_ONE,
    Bare,
    Builder,
    Chain,
    Const,
    Ellipsis,
    Fset,
    Mat,
    Node,
    Num,
    Op,
    Quantity,
    Ratio,
    Sym,
    Tup,
    Unparsed,
    Word,
    add,
    div,
    mul,
    neg,
    power,
)
from assay.verifiers.math.phrases import is_words, unit_phrase, word_text
from assay.verifiers.math.tokens import Token, decimal

_OPENING = frozenset(("(", "[", "{", "{(", "<(", "floor(", "ceil("))
_CLOSING = {
    ")": ("(", "["), "]": ("[", "("), "}": ("{",), ")}": ("{(",), ")>": ("<(",), "floor)": ("floor(",), "ceil)": ("ceil(",),
}  # fmt: skip
_FUNCTION_LETTERS = frozenset("fghFGH")
_MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"))
_DETERMINANTS = frozenset(("vmatrix", "Vmatrix"))
_SYSTEMS = frozenset(("cases", "aligned", "align", "gathered", "split", "eqnarray", "dcases", "gather"))
_END = Token("end-of-text", "", False)
_PERCENT = Num(Fraction(1, 100))


class Parser:
    """One token list and its bracket pairs."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = _split_fraction_digits(tokens)
        self.pairs = _pairs(self.tokens)
        self.position = 0
        self.end = len(self.tokens)
        self.level = 0
        self.bars = 0

    # --- cursor ----------------------------------------------------------------------------------
    def peek(self, ahead: int = 0) -> Token:
        index = self.position + ahead
        return self.tokens[index] if index < self.end else _END

    def at_op(self, *signs: str) -> bool:
        token = self.peek()
        return token.kind == "op" and token.value in signs

    def within(self, start: int, end: int, read: Callable[[], Node]) -> Node:
        """Read the range `start:end` whole with `read`; the cursor comes back to where it was."""
        saved = self.position, self.end, self.bars
        self.position, self.end, self.bars = start, end, 0
        self.level += 1
        if self.level > MAX_DEPTH:
            raise Unparsed("nested too deep")
        node = read()
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

    # --- lists and statements ----------------------------------------------------------------------
    def list(self) -> Node:
        """The whole range as a list, or as its only member."""
        pieces = self.split(_is_list_separator)
        if len(pieces) == 1:
            return self.within(*pieces[0][:2], self.statement)
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
        pieces = self.split(_is_relation)
        if len(pieces) == 1:
            return self.within(*pieces[0][:2], self.side)
        signs = tuple(_relation_name(sign) for _, _, sign in pieces[:-1])
        sides = [self.within(start, end, self.label if not i else self.side) for i, (start, end, _) in enumerate(pieces)]
        return Chain(signs, tuple(sides))

    def label(self) -> Node:
        """The first side of a relation: there `p(t)` is a function's name, whatever the letter."""
        token = self.peek()
        if token.kind in ("let", "word", "run") and self.end - self.position >= 4 and self.tokens[self.end - 1].value == ")":
            name, after = self._name_before_bracket()
            if name and self.pairs.get(after) == self.end - 1 and _plain_arguments(self.tokens[after + 1 : self.end - 1]):
                arguments = self.within(after + 1, self.end - 1, self.list)
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
        if len(pieces) > 1:
            return Ratio(tuple(self.within(start, end, self.quantity) for start, end, _ in pieces))
        return self.quantity()

    def split_here(self, sign: str) -> list[tuple[int, int, str]]:
        start = self.position
        pieces = self.split(lambda token: token.kind == "op" and token.value == sign)
        if len(pieces) == 1:
            self.position = start
        return pieces

    # --- quantities ----------------------------------------------------------------------------------
    def quantity(self) -> Node:
        """A value with what may stand beside it: currency, percent, number word, unit."""
        if self.position >= self.end:
            raise Unparsed("nothing there")
        here = self.tokens[self.position : self.end]
        if len(here) == 1 and here[0].value == "...":
            self.position = self.end
            return Ellipsis()
        if is_words(here):
            self.position = self.end
            return Word(word_text(here))
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
        if token.value in ("US", "USD", "A", "C") and following.kind == "money" and not following.spaced:
            self.position += 2
            return "dollar"
        return ""

    def _suffix(self, node: Node, money: str) -> Node:
        percent = isinstance(node, Op) and node.head == "pct"
        if percent:
            node = mul(node.children()[0], _PERCENT)
        while (word := self.peek()).kind in ("word", "run") and word.value in tables.NUMBER_WORDS:
            node = mul(node, Num(Fraction(tables.NUMBER_WORDS[str(word.value)])))
            self.position += 1
        if self.peek().value in ("percent", "percents") or (self.peek().value == "per" and self.peek(1).value == "cent"):
            self.position += 2 if self.peek().value == "per" else 1
            node, percent = mul(node, _PERCENT), True
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

    # --- sums and products -----------------------------------------------------------------------------
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
        return _negated(node) if sign == "-" else node

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
                mixed = self.mixed(node)
                node = mixed if mixed is not None else mul(node, self.power())
            else:
                return node

    def signed_factor(self) -> Node:
        if self.at_op("-"):
            self.position += 1
            return _negated(self.power())
        if self.at_op("+"):
            self.position += 1
        return self.power()

    def mixed(self, node: Node) -> Node | None:
        r"""`6\frac56`: a whole number before a proper fraction of digits is a mixed number."""
        before, token = self.tokens[self.position - 1], self.peek()
        if before.kind != "num" or token.kind != "cmd" or token.value != "frac" or "." in str(before.value):
            return None
        if not isinstance(node, Num):
            return None
        start = self.position
        part = self.power()
        if isinstance(part, Op) and part.head == "div":
            top, bottom = part.args
            if isinstance(top, Num) and isinstance(bottom, Num) and 0 < top.value < bottom.value:
                if top.value.denominator == bottom.value.denominator == 1:
                    return Num(node.value + top.value / bottom.value)
        self.position = start
        return None

    def starts_factor(self) -> bool:
        """Whether the next token continues a product by juxtaposition."""
        token = self.peek()
        kind, value = token.kind, token.value
        if kind in ("num", "val"):
            return self.tokens[self.position - 1].kind not in ("num", "val")
        if kind in ("let", "const", "func", "acc", "name", "begin"):
            return True
        if kind == "run":
            return not self.stops_at_unit(token)
        if kind == "cmd":
            return value != "frac" or not self.stops_at_unit(token)
        if kind == "op":
            return value in _OPENING or value == "|(" or value == "||(" or (value == "|" and not self.bars)
        return False

    def stops_at_unit(self, token: Token) -> bool:
        """Whether a unit or a number word stands here, to the end of the range."""
        if token.kind == "run":
            value = str(token.value)
            if value in tables.NUMBER_WORDS or value in ("percent", "per"):
                return True
            if value not in units.BARE and not (len(value) > 2 and token.spaced):
                return False
        elif not any(t.kind in ("word", "run") for t in self.tokens[self.position + 1 : self.end]):
            return False
        return unit_phrase(self.tokens[self.position : self.end]) is not None

    # --- powers ------------------------------------------------------------------------------------------
    def power(self) -> Node:
        """An atom with what is attached to it."""
        start = self.position
        node = self.atom()
        while True:
            if self.at_op("^"):
                self.position += 1
                node = self.raised(node)
            elif self.at_op("!"):
                node = self.factorial(node)
            elif self.at_op("%"):
                self.position += 1
                node = Op("pct", (node,))
            elif self.at_op("deg"):
                self.position += 1
                node = Op("deg", (node,))
            elif self.at_op("_") and isinstance(node, Num):
                node = self.based(start)
            elif self.at_op("_") and isinstance(node, (Sym, Const)):
                node = Sym(node.name + self.decoration())
            else:
                return node

    def factorial(self, node: Node) -> Node:
        self.position += 1
        if self.at_op("!") and not self.peek().spaced:
            self.position += 1
            return Op("fact2", (node,))
        return Op("fact", (node,))

    def raised(self, base: Node) -> Node:
        """What stands after `^`."""
        inner = self.group_tokens()
        values = [token.value for token in inner]
        if values in (["circ"], ["deg"]) or (values == ["o"] and isinstance(base, Num)):
            self.skip_argument()
            return Op("deg", (base,))
        if len(inner) == 1 and inner[0].value in tables.ORDINALS and isinstance(base, Num):
            self.skip_argument()
            return base
        if values and all(value in ("'", "*", "star") for value in values):
            self.skip_argument()
            return Sym(f"{_symbol_name(base)}{''.join(map(str, values))}")
        exponent = self.exponent()
        return power(base, exponent)

    def group_tokens(self) -> list[Token]:
        """Tokens of the next argument, without its braces."""
        if self.at_op("{") and self.position in self.pairs:
            return self.tokens[self.position + 1 : self.pairs[self.position]]
        return [self.peek()]

    def skip_argument(self) -> None:
        self.position = self.pairs[self.position] + 1 if self.at_op("{") else self.position + 1

    def exponent(self) -> Node:
        if self.at_op("-"):
            self.position += 1
            return neg(self.exponent())
        if self.at_op("+"):
            self.position += 1
        token = self.peek()
        if token.kind == "num":
            self.position += 1
            node: Node = Num(decimal(str(token.value)))
        elif token.kind == "op" and token.value not in ("{", "(", "|", "|(", "["):
            raise Unparsed("no exponent")
        else:
            node = self.atom()
        if self.at_op("^"):
            self.position += 1
            return power(node, self.exponent())
        return node

    def based(self, start: int) -> Node:
        """Digits with a base: `204_5`, `(204)_{5}`, `204_{five}`."""
        self.position += 1
        inner = [token for token in self.group_tokens() if token.value not in ("(", ")")]
        self.skip_argument()
        digits = [token for token in self.tokens[start : self.position] if token.kind == "num"][:1]
        if len(inner) != 1 or not digits or not str(digits[0].value).isdigit():
            raise Unparsed("no base")
        word = str(inner[0].value)
        base = int(word) if word.isdigit() and len(word) < 3 else tables.BASE_WORDS.get(word.lower(), 0)
        if not 2 <= base <= 36:
            raise Unparsed("no base")
        text = str(digits[0].value)
        if any(int(digit) >= base for digit in text):
            raise Unparsed("digit beyond the base")
        return Num(Fraction(int(text, base)))

    # --- atoms ---------------------------------------------------------------------------------------------
    def atom(self) -> Node:
        """The smallest complete piece."""
        token = self.peek()
        reader = getattr(self, f"atom_{token.kind}", None)
        if reader is None:
            raise Unparsed(f"unexpected {token.kind}")
        node: Node = reader(token)
        return node

    def atom_num(self, token: Token) -> Node:
        self.position += 1
        return Num(decimal(str(token.value)))

    def atom_val(self, token: Token) -> Node:
        self.position += 1
        assert isinstance(token.value, Fraction)
        return Num(token.value)

    def atom_const(self, token: Token) -> Node:
        self.position += 1
        return Fset(()) if token.value == "empty" else Const(str(token.value))

    def atom_word(self, token: Token) -> Node:
        """Upright letters that are no unit are one name: `x_{\\text{max}}` aside, `\\text{Area}`."""
        self.position += 1
        return Sym(f"{token.value}{self.subscript()}")

    def atom_run(self, token: Token) -> Node:
        """Letters side by side are a product."""
        self.position += 1
        run = str(token.value)
        letters = [_letter(letter) for letter in run[:-1]]
        if run[-2:] == "pi" and len(run) > 2:
            letters[-1:] = [Const("pi")]
            return mul(*letters)
        last = Sym(run[-1] + mark) if (mark := self.decoration()) else _letter(run[-1])
        while self.at_op("^"):
            self.position += 1
            last = self.raised(last)
        return mul(*letters, last)

    def atom_let(self, token: Token) -> Node:
        self.position += 1
        name = str(token.value)
        decorated = name + self.decoration()
        if name in _FUNCTION_LETTERS and (node := self.applied(decorated)) is not None:
            return node
        return _letter(name) if decorated == name else Sym(decorated)

    def decoration(self) -> str:
        """Primes and a subscript."""
        mark = ""
        while True:
            if self.at_op("'"):
                self.position += 1
                mark += "'"
            elif self.at_op("_"):
                mark += self.subscript()
            else:
                return mark

    def subscript(self) -> str:
        if not self.at_op("_"):
            return ""
        self.position += 1
        if self.peek() is _END:
            raise Unparsed("no subscript")
        inner = self.group_tokens()
        self.skip_argument()
        return "_" + "".join(str(token.value) for token in inner if token.value not in ("{", "}"))

    def applied(self, name: str) -> Node | None:
        """`f(x)`, `f^{-1}(x)`: the value of an unnamed function."""
        start = self.position
        if self.at_op("^") and [t.value for t in self.tokens[start + 1 : start + 5]] == ["{", "-", "1", "}"]:
            name, self.position = name + "^-1", start + 5
        if not self.at_op("(") or self.position not in self.pairs:
            self.position = start
            return None
        close = self.pairs[self.position]
        inner = self.within(self.position + 1, close, self.list)
        self.position = close + 1
        return Op(f"app:{name}", inner.items if isinstance(inner, Bare) else (inner,))

    def atom_acc(self, token: Token) -> Node:
        self.position += 1
        inner = self.group_tokens()
        if not token.value or not inner or inner[0].kind not in ("let", "run", "word", "const"):
            raise Unparsed("accent")
        self.skip_argument()
        text = "".join(str(t.value) for t in inner if t.value not in ("{", "}"))
        return Sym(f"{token.value}:{text}{self.decoration()}")

    def atom_name(self, token: Token) -> Node:
        self.position += 1
        text = ""
        while self.peek().kind in ("let", "run", "word"):
            text += str(self.peek().value)
            self.position += 1
            text += self.decoration()
        if not text:
            raise Unparsed("name")
        return Sym(f"{token.value}:{text}")

    def atom_op(self, token: Token) -> Node:
        sign = str(token.value)
        if sign in ("|", "|(", "||", "||("):
            return self.absolute(sign)
        if sign not in _OPENING:
            raise Unparsed("sign out of place")
        start = self.position
        if start not in self.pairs:
            if sign == "{(" and self.peek(1).kind == "begin":
                self.position += 1
                return self.atom()
            raise Unparsed("bracket without its partner")
        close = self.pairs[start]
        if close >= self.end:
            raise Unparsed("bracket without its partner")
        node = self.bracketed(sign, start, close)
        self.position = close + 1
        return node

    def bracketed(self, sign: str, start: int, close: int) -> Node:
        if sign == "{":
            return self.group(start + 1, close)
        if sign == "{(":
            return self.braces(start + 1, close)
        if start + 1 == close:
            raise Unparsed("empty brackets")
        inner = self.within(start + 1, close, self.list)
        if sign in ("floor(", "ceil("):
            return Op(sign[:-1], (inner,))
        closing = str(self.tokens[close].value)
        if isinstance(inner, Bare):
            if inner.joint != ",":
                raise Unparsed("words between brackets")
            return Tup(sign[:1], closing[-1:], inner.items)
        if sign == "<(":
            return Tup("<", ">", (inner,))
        if (sign, closing) not in (("(", ")"), ("[", "]")):
            raise Unparsed("brackets that do not agree")
        return inner

    def group(self, start: int, close: int) -> Node:
        """A TeX group: `{a \\over b}`, `{n \\choose k}`, or what stands in it."""
        saved = self.position, self.end
        self.position, self.end = start, close
        pieces = self.split(lambda token: token.kind == "op" and token.value in ("over", "choose"))
        self.position, self.end = saved
        if len(pieces) == 2:
            top, bottom = (self.within(*piece[:2], self.sum) for piece in pieces)
            return div(top, bottom) if pieces[0][2] == "over" else Op("binom", (top, bottom))
        return self.within(start, close, self.list)

    def braces(self, start: int, close: int) -> Node:
        """`\\{...\\}`: a set by its members, or by a condition."""
        if start == close:
            return Fset(())
        saved = self.position, self.end
        self.position, self.end = start, close
        pieces = self.split(lambda token: token.kind == "op" and token.value in ("|", ":"))
        self.position, self.end = saved
        if len(pieces) == 2 and any(t.kind == "op" and t.value in tables.RELATIONS for t in self.tokens[start:close]):
            member = self.within(*pieces[0][:2], self.statement)
            return Builder(member, self.within(*pieces[1][:2], self.list))
        inner = self.within(start, close, self.list)
        return Fset(inner.items if isinstance(inner, Bare) else (inner,))

    def absolute(self, sign: str) -> Node:
        """`|x|`, and `\\|v\\|`."""
        self.position += 1
        self.bars += 1
        node = self.sum()
        self.bars -= 1
        if not self.at_op(sign.rstrip("("), sign.rstrip("(") + ")"):
            raise Unparsed("bar without its partner")
        self.position += 1
        if isinstance(node, Mat):
            return _determinant(node)
        return Op("abs" if sign[:2] != "||" else "norm", (node,))

    # --- functions --------------------------------------------------------------------------------------------
    def atom_func(self, token: Token) -> Node:
        self.position += 1
        head = str(token.value)
        exponent: Node | None = None
        base: Node | None = None
        while self.at_op("^", "_"):
            if self.at_op("_"):
                self.position += 1
                base = self.argument()
            else:
                self.position += 1
                exponent = self.exponent()
        if exponent == MINUS_ONE and head in tables.INVERSES:
            head, exponent = tables.INVERSES[head], None
        if base is not None and head != "log":
            raise Unparsed("function with a subscript")
        node = Op(head, self.function_arguments(head) + (() if base is None else (base,)))
        return node if exponent is None else power(node, exponent)

    def function_arguments(self, head: str) -> tuple[Node, ...]:
        if self.at_op("(", "{", "[") and self.position in self.pairs:
            start, close = self.position, self.pairs[self.position]
            inner = self.within(start + 1, close, self.list)
            self.position = close + 1
            if isinstance(inner, Bare):
                return inner.items
            return (inner,)
        if head in ("sqrt", "cbrt"):
            return (self.atom(),)
        return (self.implicit_argument(),)

    def implicit_argument(self) -> Node:
        """`\\sin 2x`: factors side by side, up to a sign or the next function."""
        if self.at_op("-"):
            self.position += 1
            return _negated(self.implicit_argument())
        node = self.power()
        while self.starts_factor() and self.peek().kind != "func" and not self.at_op("(", "[", "|"):
            mixed = self.mixed(node)
            node = mixed if mixed is not None else mul(node, self.power())
        return node

    def argument(self) -> Node:
        """The argument of a command: a group, or one token."""
        if self.at_op("{"):
            if self.position not in self.pairs:
                raise Unparsed("group without an end")
            start, close = self.position, self.pairs[self.position]
            node = self.group(start + 1, close)
            self.position = close + 1
            return node
        return self.atom()

    # --- commands ---------------------------------------------------------------------------------------------
    def atom_cmd(self, token: Token) -> Node:
        self.position += 1
        reader = getattr(self, f"cmd_{token.value}", None)
        if reader is None:
            raise Unparsed("unknown command")
        node: Node = reader()
        return node

    def cmd_frac(self) -> Node:
        derivative = self.derivative()
        if derivative is not None:
            return derivative
        top = self.argument()
        return div(top, self.argument())

    def derivative(self) -> Node | None:
        r"""`\frac{dy}{dx}` is one name, not a quotient."""
        start = self.position
        top = self.group_tokens()
        if not top or not _is_differential(top[0]):
            return None
        self.skip_argument()
        bottom = self.group_tokens()
        if not bottom or not _is_differential(bottom[0]):
            self.position = start
            return None
        self.skip_argument()
        return Sym("d:" + "".join(str(t.value) for t in [*top, Token("op", "/", False), *bottom]))

    def cmd_binom(self) -> Node:
        top = self.argument()
        return Op("binom", (top, self.argument()))

    def cmd_sqrt(self) -> Node:
        index: Node | None = None
        if self.at_op("[") and self.position in self.pairs:
            close = self.pairs[self.position]
            index = self.within(self.position + 1, close, self.sum)
            self.position = close + 1
        argument = self.argument()
        return Op("sqrt", (argument,)) if index is None else Op("root", (argument, index))

    cmd_usqrt = cmd_sqrt

    def cmd_ucbrt(self) -> Node:
        return Op("root", (self.argument(), Num(Fraction(3))))

    def cmd_sum(self) -> Node:
        return self.folded("sum")

    def cmd_prod(self) -> Node:
        return self.folded("prod")

    def folded(self, head: str) -> Node:
        r"""`\sum_{k=a}^{b} body`."""
        low, high = self.limits()
        if not isinstance(low, Chain) or low.signs != ("=",) or not isinstance(low.sides[0], Sym) or high is None:
            raise Unparsed("sum without bounds")
        variable = low.sides[0].name
        return Op(head, (self.product(), low.sides[1], high), bound=variable)

    def limits(self) -> tuple[Node | None, Node | None]:
        low: Node | None = None
        high: Node | None = None
        while self.at_op("_", "^"):
            if self.at_op("_"):
                self.position += 1
                low = self.argument()
            else:
                self.position += 1
                high = self.exponent()
        return low, high

    def cmd_int(self) -> Node:
        r"""`\int_a^b f \, dx` with both bounds."""
        low, high = self.limits()
        if low is None or high is None:
            raise Unparsed("integral without bounds")
        start = self.position
        for index in range(start, self.end):
            token, following = self.tokens[index], self.tokens[min(index + 1, self.end - 1)]
            if token.kind == "let" and token.value == "d" and following.kind == "let" and index + 1 < self.end:
                return self._integral(start, index, index + 2, str(following.value), low, high)
            if token.kind == "run" and len(str(token.value)) == 2 and str(token.value)[0] == "d":
                return self._integral(start, index, index + 1, str(token.value)[1], low, high)
        raise Unparsed("integral without a variable")

    def _integral(self, start: int, stop: int, after: int, variable: str, low: Node, high: Node) -> Node:
        body: Node = Num(Fraction(1)) if start == stop else self.within(start, stop, self.sum)
        self.position = after
        return Op("int", (body, low, high), bound=variable)

    # --- environments ------------------------------------------------------------------------------------------
    def atom_begin(self, token: Token) -> Node:
        start = self.position
        if start not in self.pairs or self.pairs[start] >= self.end:
            raise Unparsed("environment without an end")
        close, name = self.pairs[start], str(token.value)
        rows = self.rows(start + 1, close)
        self.position = close + 1
        if name in _DETERMINANTS:
            return _determinant(Mat("", self.cells(rows)))
        if name in _MATRICES:
            return Mat("matrix", self.cells(rows))
        if name in _SYSTEMS:
            return self.system(name, rows)
        raise Unparsed("unknown environment")

    def rows(self, start: int, close: int) -> list[list[tuple[int, int, str]]]:
        saved = self.position, self.end
        self.position, self.end = start, close
        rows = []
        for low, high, _ in self.split(lambda token: token.kind == "row"):
            if low == high:
                continue
            self.position, self.end = low, high
            rows.append(self.split(lambda token: token.kind == "op" and token.value == "&"))
        self.position, self.end = saved
        return rows

    def cells(self, rows: list[list[tuple[int, int, str]]]) -> tuple[tuple[Node, ...], ...]:
        cells = tuple(tuple(self.within(*cell[:2], self.statement) for cell in row) for row in rows)
        if not cells or len({len(row) for row in cells}) != 1:
            raise Unparsed("rows of different lengths")
        return cells

    def system(self, name: str, rows: list[list[tuple[int, int, str]]]) -> Node:
        """Rows of `cases` and `aligned`: statements, or values with their conditions."""
        if "cases" in name and any(_is_condition(self.tokens, row) for row in rows):
            return Mat("cases", self.cells(rows))
        items: list[Node] = []
        for row in rows:
            tokens = [t for t in self.tokens[row[0][0] : row[-1][1]] if not (t.kind == "op" and t.value == "&")]
            items.append(parse(tokens))
        return items[0] if len(items) == 1 else Bare("and", tuple(items))


def parse(tokens: list[Token]) -> Node:
    """The tree of a whole answer. Raises `Unparsed`."""
    if not tokens:
        raise Unparsed("nothing there")
    parser = Parser(tokens)
    return parser.within(0, parser.end, parser.list)


def _pairs(tokens: list[Token]) -> dict[int, int]:
    """Opening index -> closing index, for brackets, groups and environments."""
    pairs: dict[int, int] = {}
    stack: list[tuple[str, int]] = []
    for index, (kind, value, _) in enumerate(tokens):
        if kind == "begin" or (kind == "op" and value in _OPENING):
            stack.append((str(value), index))
        elif kind == "end" or (kind == "op" and value in _CLOSING):
            partners = (str(value),) if kind == "end" else _CLOSING[str(value)]
            if stack and stack[-1][0] in partners:
                pairs[stack.pop()[1]] = index
            elif len(stack) > 1 and stack[-1][0] == "{(" and stack[-2][0] in partners:
                stack.pop()
                pairs[stack.pop()[1]] = index
            else:
                raise Unparsed("brackets do not pair")
    if any(opening != "{(" for opening, _ in stack):
        raise Unparsed("brackets do not pair")
    return pairs


def _split_fraction_digits(tokens: list[Token]) -> list[Token]:
    r"""`\frac12`: TeX takes one digit per argument."""
    if not any(token.kind == "cmd" and token.value in ("frac", "binom") for token in tokens):
        return tokens
    result: list[Token] = []
    for token in tokens:
        previous = result[-1] if result else _END
        if token.kind == "num" and previous.kind == "cmd" and previous.value in ("frac", "binom"):
            digits = str(token.value)
            if len(digits) > 1 and digits.isdigit():
                result += [Token("num", digits[0], token.spaced), Token("num", digits[1], False)]
                if digits[2:]:
                    result += [Token("op", "*", False), Token("num", digits[2:], False)]
                continue
        result.append(token)
    return result


def _is_list_separator(token: Token) -> bool:
    return token.kind == "joint" or (token.kind == "op" and token.value in (",", ";"))


def _may_be_empty(pieces: list[tuple[int, int, str]], index: int) -> bool:
    """`, and`: the nothing between two separators; and the nothing after a final comma."""
    if index == len(pieces) - 1:
        return pieces[index - 1][2] in (",", ";")
    return index > 0 and pieces[index][2] in ("and", "or") and pieces[index - 1][2] in (",", ";")


def _is_relation(token: Token) -> bool:
    return token.kind == "op" and token.value in tables.RELATIONS


def _relation_name(sign: str) -> str:
    return sign


def _plain_arguments(tokens: list[Token]) -> bool:
    return all(t.kind in ("let", "num") or t.value in (",", "-", "=") for t in tokens) and bool(tokens)


def _letter(name: str) -> Node:
    return Const(name) if name in ("i", "e") else Sym(name)


def _negated(node: Node) -> Node:
    return neg(node)


def _symbol_name(node: Node) -> str:
    if isinstance(node, Sym):
        return node.name
    raise Unparsed("mark on something that is no name")


def _is_differential(token: Token) -> bool:
    if token.kind == "let":
        return token.value in ("d", "partial")
    return token.kind == "run" and len(str(token.value)) == 2 and str(token.value)[0] == "d"


def _determinant(matrix: Mat) -> Node:
    entries = matrix.children()
    if len(matrix.rows) ** 2 != len(entries) or len(matrix.rows) > 30:
        raise Unparsed("no square")
    return Op("det", entries)


def _is_condition(tokens: list[Token], row: list[tuple[int, int, str]]) -> bool:
    """Whether the second cell of a row of `cases` is a condition rather than `= v`."""
    if len(row) < 2 or row[1][0] == row[1][1]:
        return False
    return not _is_relation(tokens[row[1][0]])
