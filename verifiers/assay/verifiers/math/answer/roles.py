"""The rank of a value: found from the words that govern it."""

from __future__ import annotations

import itertools

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.claim import Rank
from assay.verifiers.math.answer.pieces import Piece


def rank_of(pieces: list[Piece], index: int, left: list[str], *, subordinate: bool, later: bool) -> tuple[Rank, bool]:
    """A claim's rank, and whether it is predicative; `later`: another claim stands before it."""
    words = [word for word in left if word not in ("(", ")", "$")]
    while words and words[-1] in (
        "exactly",
        "now",
        "only",
        "just",
        "then",
        "also",
        "therefore",
        "still",
        "equal",
        "to be",
    ):
        words.pop()
    if words and words[-1] in vocabulary.COPULAS and not subordinate:
        return Rank.MAIN, True
    if subordinate:
        return Rank.DESCRIPTION, False
    if words and words[-1] in vocabulary.DEFINITE and (later or len(words) == 1 or words[-1] in vocabulary.ALL):
        return Rank.DESCRIPTION, False
    if words and words[-1] in ("a", "an") and noun_follows(pieces, index):
        return Rank.DESCRIPTION, False
    return _governed(pieces, index, words, later=later), False


def _governed(pieces: list[Piece], index: int, words: list[str], *, later: bool) -> Rank:
    """The rank that a preposition, a gerund or a later infinitive gives the value as its object."""
    words = list(words)
    while words and words[-1] in vocabulary.MODIFIERS | vocabulary.NUMBER_WORDS.keys():
        words.pop()
    if not words:
        return Rank.MAIN
    governor, near = words[-1], words[-5:]
    if governor == "of":
        return _governed_through_of(pieces, index, words[:-1], later=later)
    if governor in vocabulary.PREPOSITIONS:
        return Rank.ADJUNCT
    infinitive = governor == "to" or ("to" in near and not set(near) & vocabulary.COPULAS)
    if later and infinitive:
        return Rank.DESCRIPTION
    return Rank.DESCRIPTION if _is_gerund(near, later=later) else _near_preposition(words)


def _near_preposition(words: list[str]) -> Rank:
    behind = len(words) > 1 and words[-2] in vocabulary.PREPOSITIONS
    return Rank.ADJUNCT if behind and words[-1] not in vocabulary.FINITE else Rank.MAIN


def _is_gerund(near: list[str], *, later: bool) -> bool:
    """`by buying 18 flowers`: a gerund behind a preposition, or behind another value."""
    for before, word in itertools.pairwise(near):
        if word.endswith("ing") and len(word) > 4 and before in vocabulary.PREPOSITIONS | {"of"}:
            return True
    return later and near[-1].endswith("ing") and not set(near) & vocabulary.COPULAS


def _governed_through_of(pieces: list[Piece], index: int, words: list[str], *, later: bool) -> Rank:
    """`a total of 5` is the answer; `8 rows of 5` says 8, and `after a walk of 5 miles` is an adjunct."""
    if words and words[-1] in vocabulary.ALL | {"one", "any", "none"}:
        return Rank.DESCRIPTION
    if _is_explained(pieces, index):
        return Rank.ADJUNCT
    if words and words[-1] in vocabulary.TOTALS:
        return Rank.DESCRIPTION if later and "to" in words[-5:-1] else Rank.MAIN
    if any(piece.kind == "value" for piece in pieces[max(0, index - 4) : index]):
        return Rank.ADJUNCT
    rest = words[:-1]
    while rest and rest[-1] in vocabulary.MODIFIERS:
        rest.pop()
    if rest and rest[-1] in vocabulary.PREPOSITIONS:
        return Rank.ADJUNCT
    return Rank.DESCRIPTION if later and "to" in rest[-3:] else Rank.MAIN


def _is_explained(pieces: list[Piece], index: int) -> bool:
    """`the sum of 3 and 4 is 7`: a copula behind an operand says what it comes to."""
    return any(piece.text in vocabulary.COPULAS for piece in pieces[index + 1 : index + 7])


def noun_follows(pieces: list[Piece], index: int) -> bool:
    """Whether a noun stands directly behind a value."""
    after = pieces[index + 1] if index + 1 < len(pieces) else None
    return after is not None and after.kind == "word" and after.text not in ("not", "is", "or", "and")
