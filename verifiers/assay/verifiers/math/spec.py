"""A gold, read once for a whole group, with the rules that the row asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from assay.contract.references.math import MathReference
from assay.verifiers.errors import InvalidReference
from assay.verifiers.math.reading import Reading, holds_undefined, read
from assay.verifiers.math.rules import LENIENT, STRICT, Rules
from assay.verifiers.math.values.kinds import Opaque, Text

INTEGER = re.compile(r"[-+]?\d{1,18}(?:\.0*)?")


@dataclass(frozen=True)
class MathSpec:
    """A gold, read."""

    reference: MathReference
    gold: Reading
    rules: Rules
    choice: str
    text: str
    integer: int | None

    @property
    def is_mathematics(self) -> bool:
        """Whether the gold is a value rather than a choice or words."""
        return not self.choice and not isinstance(self.gold.value, (Text, Opaque))


def specified(reference: MathReference) -> MathSpec:
    """Read the gold. Raises `InvalidReference` if it is broken, undefined, or nothing to compare with."""
    gold = read(reference.answer)
    _check(gold)
    text = reference.answer.strip().strip("$").strip()
    integer = int(Fraction(text)) if reference.tol is None and INTEGER.fullmatch(text) else None
    choice = gold.choice if len(gold.tokens) <= 3 else ""
    return MathSpec(reference, gold, _rules(reference), choice, text, integer)


def _rules(reference: MathReference) -> Rules:
    rules = LENIENT if reference.profile == "lenient" else STRICT
    rules = replace(rules, units=reference.units)
    if reference.percent is not None:
        rules = replace(rules, percent_free=reference.percent == "free")
    if reference.tol is not None:
        absolute, relative = Fraction(str(reference.tol.abs)), Fraction(str(reference.tol.rel))
        rules = replace(rules, tolerance_abs=absolute, tolerance_rel=relative)
    return rules


def _check(gold: Reading) -> None:
    """Refuse a gold that nothing can equal."""
    if holds_undefined(gold.value):
        raise InvalidReference("the answer is undefined", field="answer")
    if isinstance(gold.value, Opaque):
        if not any(character.isalnum() for character in gold.text):
            raise InvalidReference("the answer holds nothing to compare", field="answer")
        if gold.value.why == "group that never closes":
            raise InvalidReference("the answer is cut off", field="answer")
