"""Arithmetic of matrices with scalar entries: sums, products, multiples, whole powers, transposes.

Not covered: inverses, and vectors written as tuples.
"""

from __future__ import annotations

from fractions import Fraction

from assay.verifiers.math.syntax.nodes import Mat, Node, Num, Op, Sym, Unparsed, add, div, mul

MAX_SIDE = 12
_MAX_POWER = 6
_MAX_ENTRIES_SIZE = 20_000
Rows = tuple[tuple[Node, ...], ...]


def evaluated(node: Node) -> Mat:
    """The matrix that an expression is worth. Raises `Unparsed` if it is none that is read."""
    return Mat("matrix", _checked(_rows(node)))


def _checked(rows: Rows) -> Rows:
    if sum(entry.size for row in rows for entry in row) > _MAX_ENTRIES_SIZE:
        raise Unparsed("matrix too large")
    return rows


def _rows(node: Node) -> Rows:
    if isinstance(node, Mat) and node.kind == "matrix":
        return _scalars(node.rows)
    if isinstance(node, Op):
        if node.head == "add":
            return _sum([_rows(arg) for arg in node.args])
        if node.head == "mul":
            return _product(node)
        if node.head == "div" and not node.args[1].has_shape:
            return tuple(tuple(div(entry, node.args[1]) for entry in row) for row in _rows(node.args[0]))
        if node.head == "pow":
            return _power(node)
    raise Unparsed("operation on something that is no matrix")


def _scalars(rows: Rows) -> Rows:
    if len(rows) > MAX_SIDE or len(rows[0]) > MAX_SIDE or any(entry.has_shape for row in rows for entry in row):
        raise Unparsed("matrix that is not calculated with")
    return rows


def _sum(matrices: list[Rows]) -> Rows:
    if len({(len(rows), len(rows[0])) for rows in matrices}) != 1:
        raise Unparsed("matrices of different shapes")
    return tuple(tuple(add(*entries) for entries in zip(*rows, strict=True)) for rows in zip(*matrices, strict=True))


def _product(node: Op) -> Rows:
    factors = [arg for arg in node.args if not arg.has_shape]
    matrices = [_rows(arg) for arg in node.args if arg.has_shape]
    if not matrices:
        raise Unparsed("operation on something that is no matrix")
    result = matrices[0]
    for other in matrices[1:]:
        result = _checked(_times(result, other))
    return tuple(tuple(mul(*factors, entry) for entry in row) for row in result) if factors else result


def _times(left: Rows, right: Rows) -> Rows:
    if len(left[0]) != len(right):
        raise Unparsed("matrices that have no product")
    columns = tuple(zip(*right, strict=True))
    return tuple(
        tuple(add(*(mul(a, b) for a, b in zip(row, column, strict=True))) for column in columns) for row in left
    )


def _power(node: Op) -> Rows:
    rows, exponent = _rows(node.args[0]), node.args[1]
    if exponent == Sym("T"):
        return tuple(zip(*rows, strict=True))
    if not isinstance(exponent, Num) or exponent.value not in {Fraction(n) for n in range(1, _MAX_POWER + 1)}:
        raise Unparsed("power of a matrix")
    result = rows
    for _ in range(int(exponent.value) - 1):
        result = _checked(_times(result, rows))
    return result
