"""What each value of a statement is there: the answer, part of an adjunct, a label, something denied.

The role is found from the words around the value. A lower rank is nearer to the answer; values of one rank
compete, and what stands in an adjunct of time, place or count never competes with what stands outside one.
"""

from __future__ import annotations

import itertools
import re
from enum import IntEnum
from typing import NamedTuple

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.pieces import Piece
from assay.verifiers.math.syntax import tables, units

_REACH = 12
"""Words looked at on either side of a value."""


class Rank(IntEnum):
    """How near to the answer a value stands."""

    MAIN = 0
    ADJUNCT = 1
    DESCRIPTION = 2
    SYMBOL = 3
    CONTEXT = 4


class Claim(NamedTuple):
    """A value with its role. `fault` says why it is no answer: `denied`, `bounded`, `altered`, `joined`, or ""."""

    place: int
    """Index of its piece."""
    end: int
    """Index of the first piece behind the value, its unit and number words."""
    text: str
    rank: Rank
    fault: str = ""
    predicative: bool = False
    """Whether it stands directly behind a copula: `is 5`."""


def claims_of(pieces: list[Piece]) -> list[Claim]:
    """The claims of a statement, in order; labels are left out."""
    clauses = _clauses(pieces)
    claims: list[Claim] = []
    for index, piece in enumerate(pieces):
        inside = bool(claims) and index < claims[-1].end
        if piece.kind != "value" or piece.depth or inside or _is_label(pieces, index):
            continue
        claim = _claim(pieces, index, claims, subordinate=clauses[index])
        fronted = bool(claims) and clauses[claims[-1].place] and not clauses[index]
        claims.append(claim if fronted else _coordinated(pieces, claims, claim))
    claims = _concluded(pieces, claims)
    return _joined(pieces, claims)


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


# --- one value ------------------------------------------------------------------------------------------------
def _claim(pieces: list[Piece], index: int, earlier: list[Claim], *, subordinate: bool) -> Claim:
    piece, left = pieces[index], left_of(pieces, index)
    text, end = _measured(pieces, index)
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
    rank, predicative = _rank(pieces, index, left, subordinate=subordinate, later=bool(earlier))
    if _is_named(pieces, index):
        rank = Rank.CONTEXT
    fault = fault or wide or _fault(context, after, timed=_is_timed(pieces, index), noun=_noun_after(pieces, index))
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


def _wide(pieces: list[Piece], index: int, text: str, end: int) -> tuple[str, int, str]:
    """In a script without spaces: number words behind the value (`3万元`), signs before it (`负3`), and faults."""
    before = pieces[index - 1].text if index and pieces[index - 1].kind == "word" else ""
    behind = _word(pieces, end)
    if before.endswith("百分之"):
        return f"百分之{text}", end, ""
    if before.endswith("负"):
        return f"-{text}", end, ""
    if vocabulary.WIDE_BEFORE.search(before) or vocabulary.WIDE_BEHIND.search(behind):
        return text, end, "bounded"
    if behind and not behind.isascii() and behind[0] in tables.WIDE_DIGITS:
        return f"{text}{behind}", end + 1, ""
    return text, end, ""


def _value_before(pieces: list[Piece], index: int) -> bool:
    return any(piece.kind == "value" for piece in pieces[max(0, index - 3) : index])


def _noun_after(pieces: list[Piece], index: int) -> bool:
    after = pieces[index + 1] if index + 1 < len(pieces) else None
    return after is not None and after.kind == "word" and after.text not in ("not", "is", "or", "and")


def _is_timed(pieces: list[Piece], index: int) -> bool:
    after = pieces[index + 1].text if index + 1 < len(pieces) else ""
    return after in vocabulary.TIMES


def _measured(pieces: list[Piece], index: int) -> tuple[str, int]:
    """A value with its number words, percent and unit; and where they end."""
    piece, end = pieces[index], index + 1
    text = piece.text
    if piece.form:
        return text, end
    while (word := _word(pieces, end)) and (_scales(pieces, end) or word in tables.PERCENT_WORDS):
        text, end = f"{text} {pieces[end].form}", end + 1
    if word in vocabulary.FRACTION_WORDS and _sign(pieces, end + 1) != "-" and _fractional(text, word):
        return f"{text} {pieces[end].form}", end + 1
    if _per_cent(pieces, end):
        text, end = f"{text} percent", end + 2
    unit_end = _unit_end(pieces, end)
    if unit_end > end:
        text += "".join((" " if p.spaced else "") + (p.form or p.text) for p in pieces[end:unit_end])
        return text, unit_end
    return text, end


def _fractional(text: str, word: str) -> bool:
    """`5 tenths`, `1 third`; in `6 third graders` the word is an ordinal."""
    return word.endswith("s") or text.strip("$ ") == "1"


def _scales(pieces: list[Piece], index: int) -> bool:
    """Whether a number word multiplies: `dozen`, but not `dozens of`."""
    word = pieces[index].text
    return bool(tables.multiplier(word)) and not (word.endswith("s") and _word(pieces, index + 1) == "of")


def _per_cent(pieces: list[Piece], index: int) -> bool:
    return (_word(pieces, index), _word(pieces, index + 1)) in (("per", "cent"), ("por", "ciento"), ("pour", "cent"))


def _word(pieces: list[Piece], index: int) -> str:
    return pieces[index].text if index < len(pieces) and pieces[index].kind == "word" else ""


def _sign(pieces: list[Piece], index: int) -> str:
    return pieces[index].text if index < len(pieces) and pieces[index].kind == "sign" else ""


def _unit_end(pieces: list[Piece], index: int) -> int:
    """Where a known unit (or money sign) ends that begins at `index`."""
    if _sign(pieces, index) in units.CURRENCY_SIGNS:
        return index + 1
    start = index
    while _word(pieces, index) in units.POWERS:
        index += 1
    end = _unit_word(pieces, index)
    if end == index:
        return start
    while _sign(pieces, end) == "^" and end + 1 < len(pieces) and pieces[end + 1].kind == "value":
        end += 2
    while _sign(pieces, end) in ("²", "³"):
        end += 1
    if _sign(pieces, end) == "/" or _word(pieces, end) == "per":
        below = _unit_word(pieces, end + 1)
        return below if below > end + 1 else end
    return end


def _unit_word(pieces: list[Piece], index: int) -> int:
    """Past one unit's name. A single letter is one only where the phrase ends or a sign follows."""
    if index >= len(pieces) or pieces[index].kind != "word":
        return index
    name = pieces[index].form
    if name not in units.CANONICAL and name.lower() not in units.CANONICAL:
        return index
    if len(name) == 1 and name.isascii():
        alone = index + 1 == len(pieces) or pieces[index + 1].kind == "sign"
        return index + 1 if alone and name in units.SINGLE_LETTERS else index
    return index + 1 if name not in ("in", "p", "am", "ms") or index + 1 == len(pieces) else index


def _is_label(pieces: list[Piece], index: int) -> bool:
    """`problem 7`, `group 3`, `Widgeteer 3000`, `District B`."""
    piece = pieces[index]
    if not index:
        return False
    before = pieces[index - 1]
    if before.text == "#":
        return True
    if before.kind != "word":
        return False
    if before.text in vocabulary.LABELS:
        return True
    if before.text in vocabulary.LABELLING and piece.text.isalnum():
        return True
    return False


def _is_named(pieces: list[Piece], index: int) -> bool:
    """`Widgeteer 3000`: a number that ends a name; in `cost Bob 20 dollars` a noun follows it."""
    if index < 2 or pieces[index - 1].kind != "word" or not pieces[index].text.isdigit():
        return False
    name, word = pieces[index - 1].form, _word(pieces, index + 1)
    capital = name[:1].isupper() and len(name) > 2 and pieces[index - 2].text not in (".", ":", ",")
    return capital and (not word or word in vocabulary.FINITE | vocabulary.PREPOSITIONS | {"and", "or"})


# --- its place in the sentence -----------------------------------------------------------------------------------
def _rank(pieces: list[Piece], index: int, left: list[str], *, subordinate: bool, later: bool) -> tuple[Rank, bool]:
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
    if words and words[-1] in ("a", "an") and _noun_after(pieces, index):
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


def _clauses(pieces: list[Piece]) -> list[bool]:
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


# --- claims together ----------------------------------------------------------------------------------------------
def _concluded(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
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
    following = _word(pieces, index + 1)
    if word in vocabulary.CONCLUDING:
        return (
            before in (",", ";", "and", "—", ":") and following != "that" and following not in ("much", "many", "far")
        )
    if word in ("which", "that", "this", "it"):
        stop = before in (",", ";", "and", "—")
        return stop and following in ("means", "gives", "leaves", "makes", "is", "equals", "totals", "comes")
    return False


def _joined(pieces: list[Piece], claims: list[Claim]) -> list[Claim]:
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
