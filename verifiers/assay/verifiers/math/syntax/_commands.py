"""Functions, commands with arguments, and environments.

Not covered: derivatives as operators, indefinite integrals, limits.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax._atoms import Atoms, determinant
from assay.verifiers.math.syntax._cursor import is_relation
from assay.verifiers.math.syntax.nodes import (
    MINUS_ONE,
    Bare,
    Chain,
    Const,
    Mat,
    Node,
    Num,
    Op,
    Sym,
    Unparsed,
    div,
    mul,
    neg,
    power,
)
from assay.verifiers.math.syntax.tokens import Token

_MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"))
_DETERMINANTS = frozenset(("vmatrix", "Vmatrix"))
_SYSTEMS = frozenset(("cases", "aligned", "align", "gathered", "split", "eqnarray", "dcases", "gather"))

_UNORDERED = frozenset(("min", "max", "gcd", "lcm"))


class Commands(Atoms):
    """Reads what starts with a name."""

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
            inner = self.within(start + 1, close, self.members)
            self.position = close + 1
            if isinstance(inner, Bare):
                return tuple(sorted(inner.items, key=repr)) if head in _UNORDERED else inner.items
            return (inner,)
        if head in ("sqrt", "cbrt"):
            return (self.atom(),)
        if head in ("min", "max", "gcd", "lcm", "det"):
            raise Unparsed("function without arguments")
        return (self.implicit_argument(),)

    def implicit_argument(self) -> Node:
        """`\\sin 2x`: factors side by side, up to a sign or the next function."""
        if self.at_op("-"):
            self.position += 1
            return neg(self.implicit_argument())
        node = self.power()
        while self.starts_factor() and self.peek().kind != "func" and not self.at_op("(", "[", "|"):
            node = mul(node, self.power())
        return node

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
        if not isinstance(low, Chain) or low.signs != ("=",) or high is None:
            raise Unparsed("sum without bounds")
        variable = low.sides[0]
        if not isinstance(variable, (Sym, Const)):
            raise Unparsed("sum without a variable")
        body = self.product()
        # `i` is the index here, not the imaginary unit.
        body = _rebound(body, variable) if isinstance(variable, Const) else body
        return Op(head, (body, low.sides[1], high), bound=variable.name)

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

    def atom_begin(self, token: Token) -> Node:
        start = self.position
        if start not in self.pairs or self.pairs[start] >= self.end:
            raise Unparsed("environment without an end")
        close, name = self.pairs[start], str(token.value)
        rows = self.rows(start + 1, close)
        self.position = close + 1
        if name in _DETERMINANTS:
            return determinant(Mat("", self.cells(rows)))
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
        lines: list[list[Token]] = []
        for row in rows:
            tokens = [t for t in self.tokens[row[0][0] : row[-1][1]] if not (t.kind == "op" and t.value == "&")]
            if lines and tokens and is_relation(tokens[0]):
                lines[-1] += tokens  # `&= 42` goes on from the line above
            else:
                lines.append(tokens)
        items = [self.whole(tokens) for tokens in lines]
        return items[0] if len(items) == 1 else Bare("and", tuple(items))


def _rebound(node: Node, constant: Const) -> Node:
    """`node` with a symbol for the constant."""
    if node == constant:
        return Sym(constant.name)
    return replace(node, args=tuple(_rebound(arg, constant) for arg in node.args)) if isinstance(node, Op) else node


def _is_differential(token: Token) -> bool:
    if token.kind == "let":
        return token.value in ("d", "partial")
    return token.kind == "run" and len(str(token.value)) == 2 and str(token.value)[0] == "d"


def _is_condition(tokens: list[Token], row: list[tuple[int, int, str]]) -> bool:
    """Whether the second cell of a row of `cases` is a condition rather than `= v`."""
    if len(row) < 2 or row[1][0] == row[1][1]:
        return False
    return not is_relation(tokens[row[1][0]])
