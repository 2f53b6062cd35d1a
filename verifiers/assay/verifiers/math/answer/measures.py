"""A value with its number words, percent and unit."""

from __future__ import annotations

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.neighbours import sign_at, word_at
from assay.verifiers.math.answer.pieces import Piece
from assay.verifiers.math.syntax import tables, units


def measured(pieces: list[Piece], index: int) -> tuple[str, int]:
    """A value with its number words, percent and unit; and where they end."""
    piece, end = pieces[index], index + 1
    text = piece.text
    if piece.form:
        return text, end
    while (word := word_at(pieces, end)) and (_scales(pieces, end) or word in tables.PERCENT_WORDS):
        text, end = f"{text} {pieces[end].form}", end + 1
    if word in vocabulary.FRACTION_WORDS and sign_at(pieces, end + 1) != "-" and _fractional(text, word):
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
    return bool(tables.multiplier(word)) and not (word.endswith("s") and word_at(pieces, index + 1) == "of")


def _per_cent(pieces: list[Piece], index: int) -> bool:
    return (word_at(pieces, index), word_at(pieces, index + 1)) in (
        ("per", "cent"),
        ("por", "ciento"),
        ("pour", "cent"),
    )


def _unit_end(pieces: list[Piece], index: int) -> int:
    """Where a known unit (or money sign) ends that begins at `index`."""
    if sign_at(pieces, index) in units.CURRENCY_SIGNS:
        return index + 1
    start = index
    while word_at(pieces, index) in units.POWERS:
        index += 1
    end = _unit_word(pieces, index)
    if end == index:
        return start
    while sign_at(pieces, end) == "^" and end + 1 < len(pieces) and pieces[end + 1].kind == "value":
        end += 2
    while sign_at(pieces, end) in ("²", "³"):
        end += 1
    if sign_at(pieces, end) == "/" or word_at(pieces, end) == "per":
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
