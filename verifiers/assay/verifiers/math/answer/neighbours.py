"""Words around a piece of a statement."""

from __future__ import annotations

from assay.verifiers.math.answer.pieces import Piece

_REACH = 12
"""Words looked at on either side of a value."""


def left_of(pieces: list[Piece], index: int) -> list[str]:
    """Words and signs before a piece, up to another value or a stop; the nearest last."""
    found: list[str] = []
    for piece in reversed(pieces[max(0, index - _REACH) : index]):
        if piece.kind == "value" or piece.text in (",", ";", ":", "."):
            break
        if piece.text not in ('"', "'", "“", "”", "$", "*"):
            found.append(piece.text)
    return found[::-1]


def right_of(pieces: list[Piece], index: int) -> list[str]:
    """Words and signs from a piece on, up to another value or a stop."""
    found: list[str] = []
    for piece in pieces[index : index + _REACH]:
        if piece.kind == "value" or piece.text in (";", "."):
            break
        found.append(piece.text)
    return found


def word_at(pieces: list[Piece], index: int) -> str:
    """The word at an index, in lower case, or ""."""
    return pieces[index].text if index < len(pieces) and pieces[index].kind == "word" else ""


def sign_at(pieces: list[Piece], index: int) -> str:
    """The sign at an index, or ""."""
    return pieces[index].text if index < len(pieces) and pieces[index].kind == "sign" else ""
