"""Environments: matrices, determinants, and systems (`cases`, `aligned`)."""

from __future__ import annotations

from assay.verifiers.math.syntax.brackets import determinant
from assay.verifiers.math.syntax.cursor import Cursor, is_relation
from assay.verifiers.math.syntax.nodes import Bare, Mat, Node, Unparsed
from assay.verifiers.math.syntax.tokens import Token

_MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"))
_DETERMINANTS = frozenset(("vmatrix", "Vmatrix"))
_SYSTEMS = frozenset(("cases", "aligned", "align", "gathered", "split", "eqnarray", "dcases", "gather"))


def read_environment(cursor: Cursor, token: Token) -> Node:
    """A matrix, a determinant, or a system."""
    start = cursor.position
    if start not in cursor.pairs or cursor.pairs[start] >= cursor.end:
        raise Unparsed("environment without an end")
    close, name = cursor.pairs[start], str(token.value)
    rows = _rows(cursor, start + 1, close)
    cursor.position = close + 1
    if name in _DETERMINANTS:
        return determinant(Mat("", _cells(cursor, rows)))
    if name in _MATRICES:
        return Mat("matrix", _cells(cursor, rows))
    if name in _SYSTEMS:
        return _system(cursor, name, rows)
    raise Unparsed("unknown environment")


def _rows(cursor: Cursor, start: int, close: int) -> list[list[tuple[int, int, str]]]:
    saved = cursor.position, cursor.end
    cursor.position, cursor.end = start, close
    rows = []
    for low, high, _ in cursor.split(lambda token: token.kind == "row"):
        if low == high:
            continue
        cursor.position, cursor.end = low, high
        rows.append(cursor.split(lambda token: token.kind == "op" and token.value == "&"))
    cursor.position, cursor.end = saved
    return rows


def _cells(cursor: Cursor, rows: list[list[tuple[int, int, str]]]) -> tuple[tuple[Node, ...], ...]:
    cells = tuple(tuple(cursor.within(*cell[:2], cursor.grammar.statement) for cell in row) for row in rows)
    if not cells or len({len(row) for row in cells}) != 1:
        raise Unparsed("rows of different lengths")
    return cells


def _system(cursor: Cursor, name: str, rows: list[list[tuple[int, int, str]]]) -> Node:
    """Rows of `cases` and `aligned`: statements, or values with their conditions."""
    if "cases" in name and any(_is_condition(cursor.tokens, row) for row in rows):
        return Mat("cases", _cells(cursor, rows))
    lines: list[list[Token]] = []
    for row in rows:
        tokens = [t for t in cursor.tokens[row[0][0] : row[-1][1]] if not (t.kind == "op" and t.value == "&")]
        if lines and tokens and is_relation(tokens[0]):
            lines[-1] += tokens  # `&= 42` goes on from the line above
        else:
            lines.append(tokens)
    items = [cursor.grammar.parse(tokens) for tokens in lines]
    return items[0] if len(items) == 1 else Bare("and", tuple(items))


def _is_condition(tokens: list[Token], row: list[tuple[int, int, str]]) -> bool:
    """Whether the second cell of a row of `cases` is a condition rather than `= v`."""
    if len(row) < 2 or row[1][0] == row[1][1]:
        return False
    return not is_relation(tokens[row[1][0]])
