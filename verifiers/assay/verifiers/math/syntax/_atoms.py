"""Powers and atoms: numbers, letters, brackets, and what is attached to them."""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax._cursor import END, OPENING, Cursor
from assay.verifiers.math.syntax.nodes import (
    Bare,
    Builder,
    Const,
    Fset,
    Mat,
    Node,
    Num,
    Op,
    Sym,
    Tup,
    Unparsed,
    div,
    mul,
    neg,
    power,
)
from assay.verifiers.math.syntax.tokens import Token, decimal

_FUNCTION_LETTERS = frozenset("fghFGH")


class Atoms(Cursor):
    """Reads the smallest complete pieces."""

    def power(self) -> Node:
        """An atom with what is attached to it."""
        start = self.position
        node = self.mixed(self.atom())
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

    def mixed(self, node: Node) -> Node:
        r"""`6\frac56`: a whole number before a proper fraction of digits is a mixed number."""
        before, token = self.tokens[self.position - 1], self.peek()
        if before.kind != "num" or token.kind != "cmd" or token.value != "frac" or "." in str(before.value):
            return node
        if not isinstance(node, Num):
            return node
        start = self.position
        part = self.atom()
        if isinstance(part, Op) and part.head == "div":
            proper = _proper_fraction(*part.args)
            if proper is not None:
                return Num(node.value + proper)
        self.position = start
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
        word = str(token.value)
        if len(word) < 3 and word.isascii():
            return self.atom_run(token)
        self.position += 1
        return Sym(f"{word}{self.subscript()}")

    def atom_run(self, token: Token) -> Node:
        """Letters side by side are a product."""
        self.position += 1
        run = str(token.value)
        if len(run) > 4 or run.lower() in tables.STATEMENT_WORDS:
            raise Unparsed("words")
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
        if self.peek() is END:
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
        inner = self.within(self.position + 1, close, self.members)
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
        if sign not in OPENING:
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
        inner = self.within(start + 1, close, self.members)
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
        if self.is_builder(start, close):
            return self.braces(start, close)
        saved = self.position, self.end
        self.position, self.end = start, close
        pieces = self.split(lambda token: token.kind == "op" and token.value in ("over", "choose"))
        self.position, self.end = saved
        if len(pieces) == 2:
            top, bottom = (self.within(*piece[:2], self.sum) for piece in pieces)
            return div(top, bottom) if pieces[0][2] == "over" else Op("binom", (top, bottom))
        return self.within(start, close, self.members)

    def is_builder(self, start: int, close: int) -> bool:
        """Whether a plain group is a set-builder whose braces lost their backslash: `{x | x > 3}`."""
        signs = [t.value for t in self.tokens[start : start + 8] if t.kind == "op"][:3]
        return self.tokens[start].kind == "let" and "|" in signs and signs[0] in ("|", "in")

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
            return Builder(member, self.within(*pieces[1][:2], self.members))
        inner = self.within(start, close, self.members)
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
            return determinant(node)
        return Op("abs" if sign[:2] != "||" else "norm", (node,))

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


def _letter(name: str) -> Node:
    return Const(name) if name in ("i", "e") else Sym(name)


def _symbol_name(node: Node) -> str:
    if isinstance(node, Sym):
        return node.name
    raise Unparsed("mark on something that is no name")


def determinant(matrix: Mat) -> Node:
    entries = matrix.children()
    if len(matrix.rows) ** 2 != len(entries) or len(matrix.rows) > 30:
        raise Unparsed("no square")
    return Op("det", entries)


def _proper_fraction(top: Node, bottom: Node) -> Fraction | None:
    """The value of a quotient of whole numbers that is between 0 and 1."""
    if not isinstance(top, Num) or not isinstance(bottom, Num) or not 0 < top.value < bottom.value:
        return None
    return top.value / bottom.value if top.value.denominator == bottom.value.denominator == 1 else None
