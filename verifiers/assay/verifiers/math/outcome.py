"""Whether the text of an answer equals the gold: the cheap ways first, then the typed comparison.

Cheap ways: equal text, two plain integers. Reasons: `equal`, `unequal`, `unparsed`, `hedged`, `undecided`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.verifiers.errors import NeedsAlgebra
from assay.verifiers.math.algebra.needs import needs_algebra
from assay.verifiers.math.equality.compare import Comparison
from assay.verifiers.math.equality.exact import NoValue
from assay.verifiers.math.reading import Reading, choice_letter, has_symbols, read, second_reading
from assay.verifiers.math.spec import INTEGER, MathSpec
from assay.verifiers.math.syntax.nodes import Unparsed
from assay.verifiers.math.syntax.tokens import MAX_TEXT
from assay.verifiers.math.values.kinds import Measured, Members, Nothing, One, Opaque, Ordered, Text, Value
from assay.verifiers.math.values.shapes import value_of

SHOWN = 500
"""Code points of an extracted answer that a verdict shows."""
_HEDGING = re.compile(r"\b(?:not|either|neither|or|maybe|perhaps)\b|或")
_APPROXIMATE = re.compile(r"^\s*\$?\s*(?:\\approx|\\simeq|≈|~|about|approximately|roughly)\s*")


class Outcome(NamedTuple):
    """The result of one comparison. `unread`: the answer's text holds words that are no mathematics."""

    correct: bool
    reason: str
    details: Mapping[str, Any]
    unread: bool = False


def compare_text(spec: MathSpec, text: str, *, explain: bool = False, algebra: bool = True) -> Outcome:
    """Whether an answer's text equals the gold: verdict, reason, and (if asked) how it was decided.

    Raises `NeedsAlgebra` where computer algebra must decide and `algebra` says that it may not run here.
    """
    text = text.strip()
    if text == spec.text:
        return Outcome(True, "equal", {"path": ["same text"], "gold": spec.text, "answer": text} if explain else {})
    if spec.integer is not None and INTEGER.fullmatch(text):
        same = int(text.partition(".")[0]) == spec.integer
        details = {"path": ["integers"], "gold": spec.text, "answer": text} if explain else {}
        return Outcome(same, "equal" if same else "unequal", details)
    if len(text) > MAX_TEXT:
        return Outcome(False, "unparsed", {"path": ["too long"]} if explain else {})
    return _typed(spec, text, explain=explain, algebra=algebra)


def _typed(spec: MathSpec, text: str, *, explain: bool, algebra: bool) -> Outcome:
    reading = read(_APPROXIMATE.sub("", text) if spec.reference.profile == "lenient" else text)
    comparison = Comparison(spec.rules)
    correct = decide(spec, reading, comparison)
    reason = "equal" if correct else _reason(spec, reading, text)
    if not correct and (needs_algebra(reading.tree) or needs_algebra(spec.gold.tree)):
        correct, reason = _by_algebra(spec, reading, comparison, algebra=algebra)
    unread = not correct and _holds_words(reading.value)
    if not explain:
        return Outcome(correct, reason, {}, unread)
    details = {"gold": _shown(spec.gold), "answer": _shown(reading), "path": comparison.path}
    return Outcome(correct, reason, details, unread)


def _by_algebra(spec: MathSpec, reading: Reading, comparison: Comparison, *, algebra: bool) -> tuple[bool, str]:
    """Compare again with closed forms for what the package's own evaluation cannot decide."""
    if not algebra:
        raise NeedsAlgebra
    # sympy takes a second to import and most processes never need it.
    resolve = importlib.import_module("assay.verifiers.math.algebra.resolve")
    try:
        values = [value_of(resolve.resolved(side.tree)) for side in (spec.gold, reading) if side.tree is not None]
    except (Unparsed, NoValue, RecursionError):
        return comparison.note("computer algebra", result=False), "undecided"
    correct = len(values) == 2 and comparison.equal(values[0], values[1])
    return comparison.note("computer algebra", result=correct), "equal" if correct else "unequal"


def decide(spec: MathSpec, reading: Reading, comparison: Comparison) -> bool:
    """Choices by letter; equal tokens; then typed values, and the second reading of a unit's letter."""
    gold = spec.gold
    if spec.choice:
        return comparison.note("choice", result=choice_letter(list(reading.tokens)) == spec.choice)
    if reading.same_form(gold) or (isinstance(gold.value, Nothing) and reading.canonical == gold.canonical):
        return comparison.note("same form", result=True)
    if comparison.equal(gold.value, reading.value):
        return True
    return _with_units(gold, reading, comparison)


def _with_units(gold: Reading, reading: Reading, comparison: Comparison) -> bool:
    """Letters behind a number read as a unit: the answer's, or the gold's where the answer has a unit in words."""
    answer_too = second_reading(reading, capitals=isinstance(gold.value, Measured))
    if answer_too is not None and not has_symbols(gold.value) and comparison.equal(gold.value, answer_too.value):
        return comparison.note("letters read as a unit", result=True)
    if isinstance(reading.value, Measured) or answer_too is not None:
        gold_too = second_reading(gold, capitals=True)
        answer = reading.value if answer_too is None else answer_too.value
        if gold_too is not None and comparison.equal(gold_too.value, answer):
            return comparison.note("letters read as a unit", result=True)
    return False


def _reason(spec: MathSpec, reading: Reading, text: str) -> str:
    if isinstance(reading.value, Opaque) and not isinstance(spec.gold.value, Opaque):
        return "hedged" if _HEDGING.search(text[:2_000]) else "unparsed"
    if isinstance(reading.value, Members) and isinstance(spec.gold.value, (One, Measured)):
        return "hedged"
    return "unequal"


def _holds_words(value: Value) -> bool:
    """Whether words that are no unit stand in a value."""
    if isinstance(value, (Members, Ordered)):
        return any(_holds_words(item) for item in value.items)
    return isinstance(value, (Opaque, Text)) or (isinstance(value, Measured) and _holds_words(value.value))


def _shown(reading: Reading) -> Mapping[str, Any]:
    why = getattr(reading.value, "why", "")
    return {"text": reading.text[:SHOWN], "kind": reading.value.kind, **({"why": why} if why else {})}
