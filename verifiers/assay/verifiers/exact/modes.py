"""Comparison modes: how the text of an answer is parsed into a value, and when it equals the gold's value.

A reader returns a hashable value, or None if the text does not parse in its mode; equal values are equal answers. The
gold goes through the same reader, so a gold that does not parse refuses the row.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from assay.contract.references.exact import ExactReference, Tolerance
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact.choices import LETTERS, Choices, clean
from assay.verifiers.exact.normalisers import normalise
from assay.verifiers.exact.numbers import Interval, Number, around, contains, literal, one_to_one, parse_number

MEMBERS = 100_000
"""Maximum number of members of a set or list; a longer answer does not parse."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_QUANTITY = re.compile(
    r"(?P<number>(?P<mark>[^\s\w]{0,2})[\d.,]*\d(?:[eE][-+]?\d+(?![^\W\d_]))?)\s*(?P<unit>.*)", re.DOTALL
)


class Reader(ABC):
    """The parser and comparison of one mode, with a row's options."""

    @abstractmethod
    def read(self, text: str) -> Hashable | None:
        """Return the value of an answer, or None if it does not parse."""

    def gold(self, value: Any) -> Hashable:
        """Return the value of a gold. Raises `InvalidReference`."""
        read = self.read(as_text(value))
        if read is None:
            raise InvalidReference("does not parse in this mode", field="gold")
        return read

    def equal(self, gold: Hashable, value: Hashable) -> bool:
        """Return whether an answer's value equals the gold's."""
        return gold == value


def as_text(value: Any) -> str:
    """Return a gold as text. Raises `InvalidReference` for anything but a string or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return literal(value)
    raise InvalidReference("must be a string or a number", field="gold")


@dataclass(frozen=True)
class StringReader(Reader):
    """Whole strings, after the row's normalisers."""

    normalise: tuple[str, ...]

    def read(self, text: str) -> Hashable | None:
        """Return the normalised text, or None if it is empty."""
        return normalise(text, self.normalise) or None


@dataclass(frozen=True)
class NumberReader(Reader):
    """Decimal numbers, exactly or within a tolerance."""

    normalise: tuple[str, ...]
    tol: Tolerance | None = None

    def read(self, text: str) -> Hashable | None:
        """Return the number that the text holds, or None."""
        return parse_number(normalise(text, self.normalise))

    def gold(self, value: Any) -> Hashable:
        """Return the number, or the interval around it if there is a tolerance."""
        number = super().gold(value)
        return number if self.tol is None else interval(number, self.tol)

    def equal(self, gold: Hashable, value: Hashable) -> bool:
        """Return whether the numbers are equal or the value lies in the interval."""
        return near(gold, value)


def interval(number: Hashable, tol: Tolerance) -> Interval:
    """Return the interval around a gold. Raises `InvalidReference`."""
    assert isinstance(number, Number)
    try:
        return around(number, absolute=tol.abs, relative=tol.rel)
    except ValueError as error:
        raise InvalidReference(str(error), field="tol") from None


def near(gold: Hashable, value: Hashable) -> bool:
    """Return whether a number equals the gold or lies in its interval."""
    if isinstance(gold, Interval) and isinstance(value, Number):
        return contains(gold, value)
    return gold == value


@dataclass(frozen=True)
class QuantityReader(Reader):
    """A number and a unit. Both must agree; nothing is converted."""

    normalise: tuple[str, ...]
    tol: Tolerance | None = None

    def read(self, text: str) -> Hashable | None:
        """Return `(number, unit)`, or None."""
        text = clean(normalise(text, self.normalise)).rstrip(".,;:!").replace("\u2212", "-")
        match = _QUANTITY.fullmatch(text)
        number = None if match is None else parse_number(match["number"])
        if match is None or number is None:
            return None
        return number, _currency(match["mark"]) + " ".join(match["unit"].split())

    def gold(self, value: Any) -> Hashable:
        """Return `(number or interval, unit)`."""
        read = super().gold(value)
        assert isinstance(read, tuple)
        return read if self.tol is None else (interval(read[0], self.tol), read[1])

    def equal(self, gold: Hashable, value: Hashable) -> bool:
        """Return whether the number is within tolerance and the unit is the same."""
        assert isinstance(gold, tuple) and isinstance(value, tuple)
        return bool(gold[1] == value[1]) and near(gold[0], value[0])


def _currency(mark: str) -> str:
    """Return the unit for a currency sign before the number."""
    return mark.strip("+-.(")


@dataclass(frozen=True)
class MembersReader(Reader):
    """A set or a list: one pair of brackets removed, split, trimmed, each member parsed."""

    member: Reader
    sep: str
    ordered: bool

    def read(self, text: str) -> Hashable | None:
        """Return the members in order, or None."""
        text = text.strip()
        if len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]:
            text = text[1:-1].strip()
        if text.count(self.sep) >= MEMBERS:
            return None
        members = [self.member.read(part.strip()) for part in text.split(self.sep)]
        return None if None in members else tuple(members)

    def gold(self, value: Any) -> Hashable:
        """Return the members of an array."""
        if not isinstance(value, list) or not value:
            raise InvalidReference("must be a non-empty array", field="gold")
        if len(value) > MEMBERS:
            raise InvalidReference(f"holds more than {MEMBERS} members", field="gold")
        return tuple(self.member.gold(member) for member in value)

    def equal(self, gold: Hashable, value: Hashable) -> bool:
        """Return whether the members are the same; for a list, also in the same order."""
        assert isinstance(gold, tuple) and isinstance(value, tuple)
        if self.ordered:
            return len(gold) == len(value) and all(map(self.member.equal, gold, value))
        if not any(isinstance(member, Interval) for member in gold):
            return set(gold) == set(value)
        if len(gold) * len(value) > _PAIRS:
            return False
        return one_to_one({g for g in gold if isinstance(g, Interval)}, {v for v in value if isinstance(v, Number)})


_PAIRS = 1_000_000
"""Maximum number of comparisons between a set of intervals and an answer."""


@dataclass(frozen=True)
class ChoiceReader(Reader):
    """Labels of options."""

    choices: Choices

    def read(self, text: str) -> Hashable | None:
        """Return the labels that the text names, or None."""
        return self.choices.read(text)

    def gold(self, value: Any) -> Hashable:
        """Return the label, or with `multi` the labels. Raises `InvalidReference`."""
        if self.choices.multi != isinstance(value, list):
            raise InvalidReference("must be an array if `multi` is true, and only then", field="gold")
        single = Choices(self.choices.options, decimal=self.choices.decimal)
        named = [single.read(as_text(member)) for member in (value if isinstance(value, list) else [value])]
        if not named or None in named:
            raise InvalidReference("is not a label or option of this row", field="gold")
        return frozenset(label for labels in named if labels for label in labels)


def _members(reference: ExactReference) -> Reader:
    names = tuple(reference.normalise or ())
    member: Reader = NumberReader(names, reference.tol) if reference.item == "number" else StringReader(names)
    return MembersReader(member, reference.sep, ordered=reference.mode == "list")


def _choice(reference: ExactReference) -> Reader:
    options = reference.choices
    if options is not None and not options:
        raise InvalidReference("must not be empty", field="choices")
    if options is not None and reference.labels == "letters" and len(options) > len(LETTERS):
        raise InvalidReference(f"letters label at most {len(LETTERS)} options", field="choices")
    chosen = None if options is None else tuple(options)
    return ChoiceReader(Choices(chosen, decimal=reference.labels == "decimal", multi=reference.multi))


def reader_of(reference: ExactReference) -> Reader:
    """Return the reader for a row. Raises `InvalidReference`."""
    names = tuple(reference.normalise or ())
    match reference.mode:
        case "string":
            return StringReader(names)
        case "number":
            return NumberReader(names, reference.tol)
        case "quantity":
            return QuantityReader(names, reference.tol)
        case "set" | "list":
            return _members(reference)
        case "choice":
            return _choice(reference)


OPTIONS: dict[str, frozenset[str]] = {
    "string": frozenset({"normalise"}),
    "number": frozenset({"normalise", "tol"}),
    "quantity": frozenset({"normalise", "tol"}),
    "set": frozenset({"normalise", "sep", "item", "tol"}),
    "list": frozenset({"normalise", "sep", "item", "tol"}),
    "choice": frozenset({"choices", "labels", "multi"}),
}
"""Options that belong to one mode each."""
COMMON = frozenset({"mode", "gold", "aliases", "extract", "pattern", "tag", "gold_extract", "multiple", "think"})
"""Options that every mode accepts."""
