"""What each value of a statement is there: the answer, part of an adjunct, a label, something denied.

The role is found from the words around the value. A lower rank is nearer to the answer; values of one rank
compete, and what stands in an adjunct of time, place or count never competes with what stands outside one.
"""

from __future__ import annotations

import re

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.claim import Claim, Rank
from assay.verifiers.math.answer.clauses import subordinate_marks
from assay.verifiers.math.answer.compounds import concluded, joined, summed
from assay.verifiers.math.answer.labels import is_label, is_named
from assay.verifiers.math.answer.measures import measured
from assay.verifiers.math.answer.neighbours import left_of, right_of, word_at
from assay.verifiers.math.answer.pieces import Piece
from assay.verifiers.math.answer.roles import noun_follows, rank_of
from assay.verifiers.math.syntax import tables


def claims_of(pieces: list[Piece]) -> list[Claim]:
    """The claims of a statement, in order; labels are left out."""
    clauses = subordinate_marks(pieces)
    claims: list[Claim] = []
    for index, piece in enumerate(pieces):
        inside = bool(claims) and index < claims[-1].end
        if piece.kind != "value" or piece.depth or inside or is_label(pieces, index):
            continue
        claim = _claim(pieces, index, claims, subordinate=clauses[index])
        fronted = bool(claims) and clauses[claims[-1].place] and not clauses[index]
        claims.append(claim if fronted else _coordinated(pieces, claims, claim))
    claims = concluded(pieces, claims)
    return summed(pieces, joined(pieces, claims))


def _claim(pieces: list[Piece], index: int, earlier: list[Claim], *, subordinate: bool) -> Claim:
    piece, left = pieces[index], left_of(pieces, index)
    text, end = measured(pieces, index)
    text, end, wide = _wide(pieces, index, text, end)
    context, after = " ".join(left), " ".join(right_of(pieces, end))
    sign = vocabulary.SIGNED.search(context)
    fault = ""
    if sign:
        before = context[: sign.start()].strip()
        calculated = not before and _value_before(pieces, index)
        fault = "joined" if calculated else "altered" if before.endswith(" or") else ""
        text = f"-{text}"
        context = before
    rank, predicative = rank_of(pieces, index, left, subordinate=subordinate, later=bool(earlier))
    if is_named(pieces, index):
        rank = Rank.CONTEXT
    fault = fault or wide or _fault(context, after, timed=_is_timed(pieces, index), noun=noun_follows(pieces, index))
    if piece.form in ("measure", "ordinal", "clock"):
        rank = max(rank, Rank.DESCRIPTION)
    elif piece.form == "symbol":
        rank = max(rank, Rank.SYMBOL)
    return Claim(index, end, text, rank, fault, predicative)


def _fault(context: str, after: str, *, timed: bool, noun: bool) -> str:
    """Why a value is none, from the words before and behind it."""
    if vocabulary.DENIED.search(context):
        return "denied"
    if vocabulary.BOUNDED.search(context) and not vocabulary.ADDING_UP.search(context):
        return "bounded"
    if vocabulary.BOUNDED_OR_TIME.search(context):
        return "time" if timed else "bounded"
    if vocabulary.ALTERED.search(context):
        return "altered"
    if vocabulary.OPEN_ENDED.search(after):
        return "bounded"
    if vocabulary.REJECTED.search(after) or vocabulary.REJECTED_ANYWHERE.search(after):
        return "denied"
    if not noun and re.match(r"(?:, )?not\b", after):
        return "denied"
    return "altered" if vocabulary.RESCALED.search(after) else ""


def _value_before(pieces: list[Piece], index: int) -> bool:
    return any(piece.kind == "value" for piece in pieces[max(0, index - 3) : index])


def _wide(pieces: list[Piece], index: int, text: str, end: int) -> tuple[str, int, str]:
    """In a script without spaces: number words behind the value (`3万元`), signs before it (`负3`), and faults."""
    before = pieces[index - 1].text if index and pieces[index - 1].kind == "word" else ""
    behind = word_at(pieces, end)
    if before.endswith("百分之"):
        return f"百分之{text}", end, ""
    if before.endswith("负"):
        return f"-{text}", end, ""
    if vocabulary.WIDE_BEFORE.search(before) or vocabulary.WIDE_BEHIND.search(behind):
        return text, end, "bounded"
    if behind and not behind.isascii() and behind[0] in tables.WIDE_DIGITS:
        return f"{text}{behind}", end + 1, ""
    return text, end, ""


def _is_timed(pieces: list[Piece], index: int) -> bool:
    after = pieces[index + 1].text if index + 1 < len(pieces) else ""
    return after in vocabulary.TIMES


def _coordinated(pieces: list[Piece], earlier: list[Claim], claim: Claim) -> Claim:
    """Values joined by `and` or a comma stand in one adjunct: `for 5 apples and 3 pears`."""
    if not earlier or claim.predicative:
        return claim
    between = [piece.text for piece in pieces[earlier[-1].end : claim.place]]
    while between and between[-1] in vocabulary.MODIFIERS:
        between.pop()
    joined = bool(between) and between[-1] in ("and", ",", "&") and not set(between) & vocabulary.FINITE
    lower = joined and len(between) <= 6 and Rank.MAIN < earlier[-1].rank < Rank.SYMBOL and claim.rank < Rank.SYMBOL
    return claim._replace(rank=max(claim.rank, earlier[-1].rank)) if lower else claim
