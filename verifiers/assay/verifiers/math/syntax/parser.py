"""From tokens to a tree: recursive descent over one token list, with ranges.

Grammar, loosest first: list (`,` `;` and or) > statement (relation signs) > side (set operations, `:`) >
quantity (a value, then its unit) > sum > product (juxtaposition binds as `*`; `/` goes left to right) >
power > atom. What the grammar does not cover raises `Unparsed`: the caller then has text, no value.
Not covered: derivatives as operators, indefinite integrals as values, user macros.
Work is bounded by tokens times nesting, and nesting by `MAX_DEPTH`.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.verifiers.math.syntax import atoms
from assay.verifiers.math.syntax.brackets import read_bracketed
from assay.verifiers.math.syntax.commands import read_command
from assay.verifiers.math.syntax.cursor import Cursor, Grammar
from assay.verifiers.math.syntax.environments import read_environment
from assay.verifiers.math.syntax.functions import read_function
from assay.verifiers.math.syntax.nodes import Node, Unparsed, is_shallow
from assay.verifiers.math.syntax.powers import read_power
from assay.verifiers.math.syntax.statements import read_members, read_statement
from assay.verifiers.math.syntax.terms import read_product, read_sum, starts_factor
from assay.verifiers.math.syntax.tokens import Token

_ATOMS: dict[str, Callable[[Cursor, Token], Node]] = {
    "num": atoms.read_number,
    "val": atoms.read_exact,
    "const": atoms.read_constant,
    "word": atoms.read_word,
    "run": atoms.read_letters,
    "let": atoms.read_letter,
    "acc": atoms.read_accented,
    "name": atoms.read_named,
    "op": read_bracketed,
    "func": read_function,
    "cmd": read_command,
    "begin": read_environment,
}
"""Kind of token -> what reads the atom that starts with it."""


def read_atom(cursor: Cursor) -> Node:
    """The smallest complete piece."""
    token = cursor.peek()
    reader = _ATOMS.get(token.kind)
    if reader is None:
        raise Unparsed(f"unexpected {token.kind}")
    return reader(cursor, token)


def parse(tokens: list[Token]) -> Node:
    """The tree of a whole answer. Raises `Unparsed`."""
    if not tokens:
        raise Unparsed("nothing there")
    cursor = Cursor(tokens, _GRAMMAR)
    tree = cursor.within(0, cursor.end, read_members)
    if not is_shallow(tree):
        raise Unparsed("nested too deep")
    return tree


_GRAMMAR = Grammar(
    members=read_members,
    statement=read_statement,
    sum=read_sum,
    product=read_product,
    power=read_power,
    atom=read_atom,
    starts_factor=starts_factor,
    parse=parse,
)
