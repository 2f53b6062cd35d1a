"""Commands that take arguments: fractions, roots, binomials, sums, products, definite integrals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from assay.verifiers.math.syntax.brackets import read_argument
from assay.verifiers.math.syntax.cursor import Cursor
from assay.verifiers.math.syntax.exponents import read_exponent
from assay.verifiers.math.syntax.nodes import Chain, Const, Node, Num, Op, Sym, Unparsed, div
from assay.verifiers.math.syntax.tokens import Token


def read_command(cursor: Cursor, token: Token) -> Node:
    """A command with its arguments. Raises `Unparsed` for a command that is in no table."""
    cursor.position += 1
    reader = _COMMANDS.get(str(token.value))
    if reader is None:
        raise Unparsed("unknown command")
    return reader(cursor)


def _limit(cursor: Cursor) -> Node:
    r"""`\lim_{x \to a} body`."""
    low, high = _limits(cursor)
    if not isinstance(low, Chain) or low.signs != ("to",) or high is not None or not isinstance(low.sides[0], Sym):
        raise Unparsed("limit without a place")
    return Op("lim", (cursor.grammar.product(cursor), low.sides[1]), bound=low.sides[0].name)


def _fraction(cursor: Cursor) -> Node:
    derivative = _derivative(cursor)
    if derivative is not None:
        return derivative
    top = read_argument(cursor)
    return div(top, read_argument(cursor))


def _derivative(cursor: Cursor) -> Node | None:
    r"""`\frac{dy}{dx}` is one name, not a quotient."""
    start = cursor.position
    top = cursor.group_tokens()
    if not top or not _is_differential(top[0]):
        return None
    cursor.skip_argument()
    bottom = cursor.group_tokens()
    if not bottom or not _is_differential(bottom[0]):
        cursor.position = start
        return None
    cursor.skip_argument()
    variable = _differential_of(bottom)
    if [str(token.value) for token in top] == ["d"] and variable and cursor.grammar.starts_factor(cursor):
        return Op("diff", (cursor.grammar.product(cursor), Sym(variable)))
    return Sym("d:" + "".join(str(t.value) for t in [*top, Token("op", "/", False), *bottom]))


def _binomial(cursor: Cursor) -> Node:
    top = read_argument(cursor)
    return Op("binom", (top, read_argument(cursor)))


def _root(cursor: Cursor) -> Node:
    index: Node | None = None
    if cursor.at_op("[") and cursor.position in cursor.pairs:
        close = cursor.pairs[cursor.position]
        index = cursor.within(cursor.position + 1, close, cursor.grammar.sum)
        cursor.position = close + 1
    argument = read_argument(cursor)
    return Op("sqrt", (argument,)) if index is None else Op("root", (argument, index))


def _cube_root(cursor: Cursor) -> Node:
    return Op("root", (read_argument(cursor), Num(Fraction(3))))


def _sum(cursor: Cursor) -> Node:
    return _folded(cursor, "sum")


def _product(cursor: Cursor) -> Node:
    return _folded(cursor, "prod")


def _folded(cursor: Cursor, head: str) -> Node:
    r"""`\sum_{k=a}^{b} body`."""
    low, high = _limits(cursor)
    if not isinstance(low, Chain) or low.signs != ("=",) or high is None:
        raise Unparsed("sum without bounds")
    variable = low.sides[0]
    if not isinstance(variable, (Sym, Const)):
        raise Unparsed("sum without a variable")
    body = cursor.grammar.product(cursor)
    # `i` is the index here, not the imaginary unit.
    body = _rebound(body, variable) if isinstance(variable, Const) else body
    return Op(head, (body, low.sides[1], high), bound=variable.name)


def _limits(cursor: Cursor) -> tuple[Node | None, Node | None]:
    low: Node | None = None
    high: Node | None = None
    while cursor.at_op("_", "^"):
        if cursor.at_op("_"):
            cursor.position += 1
            low = read_argument(cursor)
        else:
            cursor.position += 1
            high = read_exponent(cursor)
    return low, high


def _definite_integral(cursor: Cursor) -> Node:
    r"""`\int_a^b f \, dx` with both bounds."""
    low, high = _limits(cursor)
    if low is None or high is None:
        raise Unparsed("integral without bounds")
    start = cursor.position
    for index in range(start, cursor.end):
        token, following = cursor.tokens[index], cursor.tokens[min(index + 1, cursor.end - 1)]
        if token.kind == "let" and token.value == "d" and following.kind == "let" and index + 1 < cursor.end:
            return _integral_between(cursor, start, index, index + 2, str(following.value), low, high)
        if token.kind == "run" and len(str(token.value)) == 2 and str(token.value)[0] == "d":
            return _integral_between(cursor, start, index, index + 1, str(token.value)[1], low, high)
    raise Unparsed("integral without a variable")


def _integral_between(cursor: Cursor, start: int, stop: int, after: int, variable: str, low: Node, high: Node) -> Node:
    body: Node = Num(Fraction(1)) if start == stop else cursor.within(start, stop, cursor.grammar.sum)
    cursor.position = after
    return Op("int", (body, low, high), bound=variable)


def _rebound(node: Node, constant: Const) -> Node:
    """`node` with a symbol for the constant."""
    if node == constant:
        return Sym(constant.name)
    return replace(node, args=tuple(_rebound(arg, constant) for arg in node.args)) if isinstance(node, Op) else node


def _differential_of(tokens: list[Token]) -> str:
    """The letter of `dx`, or ""."""
    spelled = "".join(str(token.value) for token in tokens)
    return spelled[1:] if len(spelled) == 2 and spelled[0] == "d" and spelled[1].isalpha() else ""


def _is_differential(token: Token) -> bool:
    if token.kind == "let":
        return token.value in ("d", "partial")
    return token.kind == "run" and len(str(token.value)) == 2 and str(token.value)[0] == "d"


_COMMANDS: dict[str, Callable[[Cursor], Node]] = {
    "frac": _fraction,
    "binom": _binomial,
    "sqrt": _root,
    "usqrt": _root,
    "ucbrt": _cube_root,
    "sum": _sum,
    "prod": _product,
    "int": _definite_integral,
    "lim": _limit,
}
