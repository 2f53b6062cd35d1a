"""Which pieces of a statement stand in a subordinate clause or a fronted adjunct."""

from __future__ import annotations

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.pieces import Piece


def subordinate_marks(pieces: list[Piece]) -> list[bool]:
    """Of each piece, whether it stands in a subordinate clause or a fronted adjunct."""
    marks = [False] * len(pieces)
    start = _fronted(pieces)
    marks[:start] = [True] * start
    subordinate, own_copula, seen = False, False, start > 0
    for index in range(start, len(pieces)):
        piece = pieces[index]
        if piece.kind == "sign" and piece.text in (",", ";") and not piece.depth:
            subordinate = subordinate and not _ends_clause(pieces, index)
        elif piece.kind == "word" and _subordinates(pieces, index):
            subordinate, own_copula = True, True
        elif subordinate and piece.text in vocabulary.FINITE:
            # A relative clause in the subject has a verb of its own; the next one is the sentence's.
            if not own_copula and not seen:
                subordinate = False
            own_copula = False
        elif piece.kind == "value" and not subordinate and not piece.depth:
            seen = seen or piece.form == ""
        elif subordinate and piece.kind == "word" and own_copula and _is_lexical(pieces, index):
            own_copula = False
        marks[index] = subordinate
    return marks


def _is_lexical(pieces: list[Piece], index: int) -> bool:
    """Whether the word behind `that` or `who` is a verb of its own: `that have`, `who play`."""
    return pieces[index - 1].text in ("that", "who", "which")


def _ends_clause(pieces: list[Piece], index: int) -> bool:
    """Whether a comma ends a subordinate clause rather than a member of its list."""
    following = pieces[index + 1] if index + 1 < len(pieces) else None
    return following is not None and following.kind == "word" and following.text not in ("and", "or", "which", "who")


def _subordinates(pieces: list[Piece], index: int) -> bool:
    word = pieces[index].text
    if word not in vocabulary.SUBORDINATING:
        return False
    before = pieces[index - 1].text if index else ""
    if word == "that":
        return (
            bool(index) and before not in vocabulary.COMPLEMENT_VERBS and before not in (",", "so") and before.isalpha()
        )
    if word == "as":
        following = pieces[index + 1].text if index + 1 < len(pieces) else ""
        return following in ("he", "she", "it", "they", "there", "the") and before not in ("as", "same", "such")
    if word in ("since", "once", "before", "after", "until"):
        return index + 1 < len(pieces) and pieces[index + 1].kind == "word"
    return True


def _fronted(pieces: list[Piece]) -> int:
    """Index of the comma that ends a fronted adjunct or clause before the sentence proper; 0 if there is none."""
    first = next((i for i, piece in enumerate(pieces) if piece.kind != "sign" and piece.text not in _LEADING), 0)
    if not pieces or pieces[first].text not in vocabulary.FRONTED:
        return 0
    commas = [i for i in range(first, len(pieces)) if pieces[i].text == "," and not pieces[i].depth]
    for index in commas:
        following = pieces[index + 1] if index + 1 < len(pieces) else None
        rest = any(piece.kind == "value" and not piece.depth for piece in pieces[index + 1 :])
        listed = following is not None and (following.text in ("and", "or") or _is_listed(pieces, index))
        if rest and not listed:
            return index
    return 0


_LEADING = frozenset(("so", "thus", "hence", "therefore", "then", "and", "now", "finally", "but", "also"))


def _is_listed(pieces: list[Piece], index: int) -> bool:
    """Whether a comma separates two values of a list: `3, 4 and 5`."""
    if pieces[index - 2].text in ("and", "or"):
        return False
    around = pieces[index - 1 : index + 2]
    return len(around) == 3 and around[0].kind == around[2].kind == "value" and "=" not in around[2].text
