"""Claims that belong together: conclusions, ranges, measures in two units, calculations in words."""

from __future__ import annotations

import itertools

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.claim import Claim, Rank
from assay.verifiers.math.answer.neighbours import left_of, word_at
from assay.verifiers.math.answer.pieces import Piece
from assay.verifiers.math.syntax import units


def concluded(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
    """Claims before a conclusion (`…, so he has 5`) are context where the conclusion holds a claim."""
    cut = 0
    for index, piece in enumerate(pieces):
        if piece.kind == "word" and not piece.depth and _concludes(pieces, index):
            cut = index
    after = [claim for claim in claims if claim.place > cut and claim.rank < Rank.SYMBOL]
    if not cut or not after:
        return claims
    return [claim if claim.place > cut else claim._replace(rank=Rank.CONTEXT) for claim in claims]


def _concludes(pieces: list[Piece], index: int) -> bool:
    word, before = pieces[index].text, pieces[index - 1].text if index else ""
    following = word_at(pieces, index + 1)
    if word in vocabulary.CONCLUDING:
        return (
            before in (",", ";", "and", "—", ":") and following != "that" and following not in ("much", "many", "far")
        )
    if word in ("which", "that", "this", "it"):
        stop = before in (",", ";", "and", "—")
        return stop and following in ("means", "gives", "leaves", "makes", "is", "equals", "totals", "comes")
    return False


def joined(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
    """Mark claims that are parts of one measure, range or calculation in words."""
    parts: set[int] = set()
    ranged: set[int] = set()
    for one, other in itertools.pairwise(claims):
        if _is_compound(pieces, one, other) or _is_between(pieces, one, other):
            parts |= {one.place, other.place}
            if {"from", "between"} & set(left_of(pieces, one.place)[-3:]):
                ranged |= {one.place, other.place}
    marked = (c._replace(fault="joined") if c.place in parts and not c.fault else c for c in claims)
    return [c._replace(rank=max(c.rank, Rank.ADJUNCT)) if c.place in ranged else c for c in marked]


def summed(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
    """`from 10 to 3, a drop of 7`: what an apposition sums up is context, where it is two values or more."""
    if len(claims) < 3 or not _is_summary(left_of(pieces, claims[-1].place), pieces, claims[-1]):
        return claims
    earlier = claims[:-1]
    ranged = sum(claim.fault == "joined" for claim in earlier)
    plain = sum(claim.rank == Rank.MAIN and not claim.fault for claim in earlier)
    if max(ranged, plain) < 2 or any(claim.fault not in ("", "joined") for claim in earlier):
        return claims
    return [*(claim._replace(rank=Rank.CONTEXT) for claim in earlier), claims[-1]._replace(rank=Rank.MAIN)]


def _is_summary(left: list[str], pieces: list[Piece], claim: Claim) -> bool:
    """Whether a value stands behind a comma and `a total of`, `an overall rise of`."""
    if not 3 <= len(left) <= 4 or left[-1] != "of" or left[0] not in ("a", "an", "the"):
        return False
    return left[-2] in vocabulary.SUMMARIES and pieces[claim.place - len(left) - 1].text in (",", "—", "–")


def _is_compound(pieces: list[Piece], one: Claim, other: Claim) -> bool:
    between = [piece.text for piece in pieces[one.place + 1 : other.place]]
    if not between:
        return True
    inner = pieces[one.end : other.place]
    signs = [piece.text for piece in inner if piece.kind == "sign" and piece.text not in ("'", '"')]
    joint = " ".join(text for text in between if text.isalpha())
    if joint in vocabulary.RANGES:
        return not signs and (joint != "in" or _ends(pieces, other.place))
    if joint in vocabulary.ARITHMETIC:
        return True
    if signs and set(signs) <= set("+-*/×÷^:−–~") and len(inner) <= len(signs) + 2:
        return True
    for words in range(1, 3):
        tail = " ".join(between[words:])
        if tail in (
            "plus",
            "minus",
            "times",
            "divided by",
            "multiplied by",
            "remainder",
            "with remainder",
            "to the power of",
        ):
            return True
    return _is_mixed_measure(pieces, one, other, between)


def _is_between(pieces: list[Piece], one: Claim, other: Claim) -> bool:
    """`between 3 and 7`."""
    return "between" in left_of(pieces, one.place)[-3:] and "and" in [p.text for p in pieces[one.end : other.place]]


def _ends(pieces: list[Piece], index: int) -> bool:
    return all(piece.kind == "sign" for piece in pieces[index + 1 :])


def _is_mixed_measure(pieces: list[Piece], one: Claim, other: Claim, between: list[str]) -> bool:
    """`2 hours 30 minutes`, `5 feet and 6 inches`: two units of one dimension."""
    if len([text for text in between if text not in ("and", ",")]) != 1 or other.place + 1 >= len(pieces):
        return False
    first, second = units.canonical_noun(between[0]), units.canonical_noun(pieces[other.place + 1].text)
    return first != second and any({first, second} <= dimension for dimension in vocabulary.DIMENSIONS)
