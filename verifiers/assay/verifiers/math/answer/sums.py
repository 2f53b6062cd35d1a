"""Calculations whose numbers carry units: `100 miles / 8 gallons = 12.5 miles per gallon`."""

from __future__ import annotations

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.pieces import Piece
from assay.verifiers.math.syntax import tables

_SIGNS = {"+": "+", "-": "-", "−": "-", "–": "-", "*": "*", "×": "*", "·": "*", "/": "/", "÷": "/", "=": "=", "x": "*"}
_MOST_WORDS = 5
_NO_UNIT = (vocabulary.FINITE | vocabulary.PREPOSITIONS | vocabulary.SUBORDINATING | {"and", "or", "so", "to"}) - {
    "per"
}


def with_sums(pieces: list[Piece]) -> list[Piece]:
    """`pieces` with each such calculation as one value, its units left out."""
    result: list[Piece] = []
    index = 0
    while index < len(pieces):
        piece, end = pieces[index], index + 1
        while piece.kind == "value" and (operator := _operator(pieces, end)) >= 0:
            other = pieces[operator + 1]
            kept = "".join(f" {word.form}" for word in pieces[end:operator] if _matters(word.text))
            text = f"{piece.text}{kept} {_SIGNS[pieces[operator].text]} {other.text}"
            piece, end = piece._replace(text=text.replace("$", "").replace(",", ""), end=other.end), operator + 2
        result.append(piece)
        index = end
    return result


def _matters(word: str) -> bool:
    return bool(tables.multiplier(word)) or word in tables.PERCENT_WORDS


def _operator(pieces: list[Piece], index: int) -> int:
    """Index of the operator that follows the unit words at `index`, if a value follows it; else -1."""
    depth = pieces[index - 1].depth
    for at in range(index, min(index + _MOST_WORDS + 1, len(pieces) - 1)):
        piece, following = pieces[at], pieces[at + 1]
        if piece.depth != depth:
            return -1
        if piece.text in _SIGNS and piece.spaced and following.kind == "value" and following.spaced and at > index:
            return at if following.form in ("", "symbol") else -1
        if piece.kind != "word" or piece.text in _NO_UNIT:
            return -1
    return -1
