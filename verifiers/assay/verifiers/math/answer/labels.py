"""Numbers that are labels or end a name: `problem 7`, `group 3`, `Widgeteer 3000`."""

from __future__ import annotations

from assay.verifiers.math.answer import vocabulary
from assay.verifiers.math.answer.neighbours import word_at
from assay.verifiers.math.answer.pieces import Piece


def is_label(pieces: list[Piece], index: int) -> bool:
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
    return before.text in vocabulary.LABELLING and piece.text.isalnum()


def is_named(pieces: list[Piece], index: int) -> bool:
    """`Widgeteer 3000`: a number that ends a name; in `cost Bob 20 dollars` a noun follows it."""
    if index < 2 or pieces[index - 1].kind != "word" or not pieces[index].text.isdigit():
        return False
    name, word = pieces[index - 1].form, word_at(pieces, index + 1)
    capital = name[:1].isupper() and len(name) > 2 and pieces[index - 2].text not in (".", ":", ",")
    return capital and (not word or word in vocabulary.FINITE | vocabulary.PREPOSITIONS | {"and", "or"})
