"""The answer that a statement asserts: the one value that is left in it (contract, appendix "math", step 3).

Parts that are no answer are left out: adjuncts, labels, context from the prompt, symbols. Two values that form no
list, a bound, a doubt or a denial are no answer under `strict`; `lenient` takes the main clause's value where
several values compete and nothing is doubted.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from assay.verifiers.extract import CHANGING_REMARK
from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.claim import Claim, Rank
from assay.verifiers.math.answer.claims import claims_of
from assay.verifiers.math.answer.context import Given
from assay.verifiers.math.answer.neighbours import left_of
from assay.verifiers.math.answer.pieces import Piece, pieces_of
from assay.verifiers.math.answer.sums import with_sums

_JOINTS = frozenset(("and", ",", "&", ";", "，", "、", "和", "与", "及", "und", "et", "y", "or"))


class Assertion(NamedTuple):
    """What a statement asserts: the value's text and where it stands in the statement, or why there is none."""

    text: str = ""
    start: int = -1
    end: int = -1
    reason: str = ""


def asserted(statement: str, given: Given, *, lenient: bool) -> Assertion:
    """The value that a clean statement asserts. Linear in its length; never raises."""
    if statement.rstrip("*_`\"') \t\r\n")[-1:] in ("?", "？"):
        return Assertion(reason="hedged")
    pieces = with_sums(_last_line(pieces_of(statement), statement))
    said = statement[pieces[0].start :] if pieces else ""
    spoken = " ".join(said.replace("’", "'").split()).lower()
    claims = claims_of(pieces)
    if not claims:
        return _letter(pieces)
    if is_doubted(spoken) or _may_doubts(said):
        return Assertion(reason="hedged")
    found = _decide(pieces, _as_asked(pieces, claims, given), given, lenient=lenient)
    if found is None or _remark_changes(pieces, found):
        return Assertion(reason="hedged")
    return found


def is_doubted(spoken: str) -> bool:
    """Whether a statement in lower case doubts, gives up, poses a task, or takes something back."""
    if vocabulary.DOUBT.search(spoken) or vocabulary.POSED.search(spoken) or vocabulary.TAKEN_BACK.search(spoken):
        return True
    return not spoken.isascii() and any(part in spoken for part in vocabulary.WIDE_DOUBT)


def _may_doubts(statement: str) -> bool:
    """`may` doubts, the month May does not; `could be` doubts."""
    spoken = f" {' '.join(statement.split())} "
    return any(doubt in spoken for doubt in (" may ", " could be $", " could equal ")) or bool(
        vocabulary.COULD_BE.search(spoken.lower())
    )


def _last_line(pieces: list[Piece], statement: str) -> list[Piece]:
    """The pieces of the last line that holds a value; a line break inside a value or a bracket is none."""
    starts = [0]
    for index in range(1, len(pieces)):
        if not pieces[index].depth and "\n" in statement[pieces[index - 1].end : pieces[index].start]:
            starts.append(index)
    end = len(pieces)
    for start in reversed(starts):
        if any(piece.kind == "value" for piece in pieces[start:end]):
            return pieces[start:end]
        end = start
    return pieces


def _letter(pieces: list[Piece]) -> Assertion:
    """A statement without a value that ends in one letter: `So x.`, `The correct option is (B).`"""
    spoken = [piece for piece in pieces if piece.kind != "sign"]
    last = spoken[-1] if spoken else None
    if last is None or len(last.form) != 1 or not last.form.isascii() or last.form in "aI":
        return Assertion(reason="no_answer")
    denied = vocabulary.DENIED.search(" ".join(piece.text for piece in spoken[-8:-1]))
    several = len(spoken) > 1 and (spoken[-2].text in ("or", "and") or _is_letter(spoken[-2]))
    return Assertion(reason="hedged") if denied or several else Assertion(last.form, last.start, last.end)


def _is_letter(piece: Piece) -> bool:
    return len(piece.form) == 1 and piece.form.isascii()


# --- which value -----------------------------------------------------------------------------------------------
def _decide(pieces: list[Piece], claims: list[Claim], given: Given, *, lenient: bool) -> Assertion | None:
    best = min(claim.rank for claim in claims)
    left = [claim for claim in claims if claim.rank == best]
    others = [claim for claim in claims if claim.fault not in ("time",) or claim.rank != best or len(left) == 1]
    left = [claim for claim in others if claim.rank == best] or left
    left = _without_subject(pieces, left)
    if best == Rank.MAIN and not all(claim.fault == "joined" for claim in left):
        left = _without_calculated(left)
    if any(claim.fault or _is_conditional(pieces, claim) for claim in left):
        return None
    if len({_plain(claim.text) for claim in left}) == 1:
        return _assertion(pieces, left[-1])
    joints = [_joint(pieces, one, other) for one, other in itertools.pairwise(left)]
    if all(joint == "list" for joint in joints):
        return _list(pieces, left)
    if any(joint in ("or", "list", "nouns") for joint in joints):
        return None
    new = [claim for claim in left if not given.holds(claim.text)]
    if len({_plain(claim.text) for claim in new}) == 1:
        return _assertion(pieces, new[-1])
    return _assertion(pieces, _main(pieces, left)) if lenient else None


def _as_asked(pieces: list[Piece], claims: list[Claim], given: Given) -> list[Claim]:
    """`He won't be able to place 16 eggs` answers the question how many he won't be able to place.

    Without such a question it may also say that 16 is not the number that he can place: the value stays denied.
    """
    return [
        claim._replace(fault="")
        if claim.fault == "denied"
        and vocabulary.DENIED_VERB.search(" ".join(left := left_of(pieces, claim.place)))
        and given.asks_negated(left[-1])
        else claim
        for claim in claims
    ]


def _is_conditional(pieces: list[Piece], claim: Claim) -> bool:
    """Whether the value stands in a condition: `if it were 5`."""
    return claim.rank != Rank.MAIN and bool({"if", "unless", "whether"} & set(left_of(pieces, claim.place)))


def _without_subject(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
    """`the number of ways to seat 3 people is 60`: values in the subject do not compete with what it is said to be."""
    last = claims[-1]
    if last.fault or not last.predicative:
        return claims
    begin = _last_clause(pieces, last.place)
    return [*(claim for claim in claims[:-1] if claim.end <= begin), last]


def _last_clause(pieces: list[Piece], stop: int) -> int:
    """Index of the last conjunction before `stop` that begins a clause rather than joins two values; -1 if none."""
    for index in range(stop - 1, -1, -1):
        if pieces[index].text in vocabulary.CONJUNCTIONS and pieces[index + 1].kind != "value":
            return index
    return -1


def _without_calculated(claims: list[Claim]) -> list[Claim]:
    """`9 minus 7 is 2`: parts of a calculation in words do not compete with its result."""
    last = claims[-1]
    if last.fault or not last.predicative:
        return claims
    return [claim for claim in claims if claim.fault != "joined"]


def _main(pieces: list[Piece], claims: list[Claim]) -> Claim:
    """The main clause's value: behind a copula, else the object rather than the subject."""
    predicative = [claim for claim in claims if claim.predicative]
    if predicative:
        return predicative[-1]
    first = claims[0]
    subject = not any(piece.kind == "word" and piece.text not in vocabulary.LEADING for piece in pieces[: first.place])
    return claims[1] if subject else first


def _joint(pieces: list[Piece], one: Claim, other: Claim) -> str:
    """What stands between two claims: `list`, `or`, `nouns` (5 apples and 3 oranges), or "" for anything else."""
    between = [piece.text for piece in pieces[one.end : other.place]]
    if "or" in between or "oder" in between or "或" in between:
        related = any(sign in one.text for sign in "<>=≤≥∈") or any(name in one.text for name in (r"\l", r"\g", r"\in"))
        return "list" if related and set(between) <= _JOINTS else "or"
    if between and set(between) <= _JOINTS:
        return "list"
    verbs = set(between) & (vocabulary.FINITE | vocabulary.SUBORDINATING | vocabulary.PREPOSITIONS)
    return "nouns" if ("and" in between or "," in between) and not verbs and len(between) <= 4 else ""


def _list(pieces: list[Piece], claims: list[Claim]) -> Assertion | None:
    """Values joined by commas and `and` as one list."""
    first, last = claims[0], claims[-1]
    joints = {piece.text for claim, other in itertools.pairwise(claims) for piece in pieces[claim.end : other.place]}
    text = (" or " if "or" in joints else ", ").join(claim.text for claim in claims)
    if len(claims) == 1:
        return None
    return Assertion(text, pieces[first.place].start, pieces[last.end - 1].end)


def _assertion(pieces: list[Piece], claim: Claim) -> Assertion:
    return Assertion(claim.text, pieces[claim.place].start, pieces[claim.end - 1].end)


def _plain(text: str) -> str:
    return text.replace(" ", "").replace(",", "").lower().strip("$")


def _remark_changes(pieces: list[Piece], found: Assertion) -> bool:
    """Whether a bracketed remark behind the value can change it."""
    inside = [piece.text for piece in pieces if piece.depth and piece.start >= found.end]
    return CHANGING_REMARK.search(" ".join(inside)) is not None
