"""Words around a value: which announce it, which stand in a harmless note, which change it.

Allow-lists: a word that is in none of them is not dropped, and the answer is then not read.
An announcement is a head (`The total cost`) and, behind `of` or `for`, any words that change nothing.
"""

from __future__ import annotations

import itertools

from assay.verifiers.extract.found import words
from assay.verifiers.math.syntax import tables, units
from assay.verifiers.math.syntax.phrases import unit_phrase
from assay.verifiers.math.syntax.tokens import Token

CORE = words(
    """
    the so thus hence therefore and then our final correct required requested desired answer answers
    value values result results solution solutions total sum product difference number count area volume
    perimeter length width height distance radius probability limit maximum minimum max min smallest
    largest least greatest mean median average integral derivative equation slope cost price of we get
    have obtain it this which
    """
)
QUANTITIES = CORE | words(
    """
    a an its her his their my ans that all only mode range variance deviation standard rank determinant trace
    eigenvalue eigenvalues eigenvector distribution prior posterior approximation axes axis principal coefficient
    coefficients constant rate speed velocity acceleration time age weight mass force energy power work pressure
    temperature density current voltage resistance charge frequency wavelength period amplitude amount quantity
    measure size depth diameter circumference side sides edge base hypotenuse leg angle angles degree
    order dimension cardinality profit loss revenue income salary interest discount tax tip fee balance
    savings change payment money percentage percent ratio proportion fraction share score grade remainder quotient
    digit digits term terms root roots zero zeros intercept vertex center centre focus foci point points
    coordinate coordinates x-coordinate y-coordinate intercepts x-intercept y-intercept matrix vector
    function polynomial
    expression formula line curve set domain interval region entropy p-value statistic estimator expected
    expectation last first second third new exact simplified general particular unique overall combined needed
    surface lateral best shortest longest highest lowest maximal minimal optimal possible
    option choice letter date day year month hours minutes seconds days people students ways
    """
)
_LINKING = words("of for in to at when")
_CHANGING = words(
    """
    nothing never none half halves double doubled triple tripled twice thrice minus plus times log logarithm
    denominator numerator exponent bound bounds boundary upper lower reciprocal inverse opposite negative negation
    root roots square squared cube cubed sine cosine tangent factorial complement neither not no error mistake wrong
    incorrect false untrue invalid rejected excluded former previous initial old estimate guess hardly longer
    """
)
_NOTE_WORDS = words(
    """
    as required requested asked desired needed expected answer answers final the is a an of in our this that total
    unit units square squares sq cubic exact exactly exact value form simplified simplest lowest terms reduced
    fraction decimal result solution verified checked check correct note see above below given by from using to
    and for each all per
    """
) - words("above below")
_REASONS = words("since because as")
_UNITS = frozenset(units.CANONICAL.values())


def announces(name: list[str]) -> bool:
    """Whether words, or single letters, only announce a value."""
    linked = False
    for word in name:
        lower = word.lower()
        if len(lower) == 1 and lower.isalpha():
            continue
        if linked:
            if lower in _CHANGING or lower in tables.STATEMENT_WORDS - _LINKING - CORE - {"all", "that"}:
                return False
        elif lower in ("of", "for"):
            linked = True
        elif lower not in QUANTITIES:
            return False
    return True


def is_harmless(note: list[Token]) -> bool:
    """Whether a bracketed note changes nothing: known words, a unit, one plural noun, or a reason."""
    spoken = [str(token.value).lower() for token in note if token.kind in ("word", "run", "let", "joint")]
    if any(pair in (("per", "cent"), ("por", "ciento"), ("pour", "cent")) for pair in itertools.pairwise(spoken)):
        return False
    if spoken and spoken[0] in _REASONS and not any(_alters(word) for word in spoken[1:]):
        return all(word not in tables.JOINTS.values() for word in spoken)
    if any(
        token.kind not in ("word", "run", "joint") and token.value not in ("-", ",", "'", "^", "*", "/")
        for token in note
    ):
        return _is_unit(note)
    if all(word in _NOTE_WORDS for word in spoken) or _is_unit(note):
        return True
    only = spoken[0] if len(spoken) == 1 == len(note) else ""
    return only.isalpha() and only.endswith("s") and len(only) > 3 and not _alters(only) and not _alters(only[:-1])


def _is_unit(note: list[Token]) -> bool:
    phrase = unit_phrase(note)
    return phrase is not None and all(part.split("^")[0] in _UNITS for part in phrase.replace("*", " ").split())


def _alters(word: str) -> bool:
    return bool(
        word in _CHANGING
        or word in tables.MODIFIERS
        or word in tables.STATEMENT_WORDS - words("is are we it all the that")
        or tables.multiplier(word)
        or word in tables.PERCENT_WORDS
        or word in tables.BASE_WORDS
        or word in _SPOILING
    )


_SPOILING = words(
    """
    impossible extraneous too large small big approximate approximation rounded base digits radix denied unless
    instead bases negatives positives halves octals binaries numbers digits powers factors multiples inverses
    """
)
