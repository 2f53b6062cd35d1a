"""The verifier `math`: extract, read, compare.

`prepare` reads the gold once; the whole group shares it with every value that was computed of it.
`verify` takes the cheap ways first: no answer, equal text, two plain integers; then the typed comparison.
Reasons: `equal`, `unequal`, `no_answer`, `unparsed`, `hedged`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from assay.contract.references.math import MathReference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.math.answer.context import given
from assay.verifiers.math.answer.extraction import Extraction, extract
from assay.verifiers.math.equality.compare import Comparison
from assay.verifiers.math.reading import (
    Reading,
    choice_letter,
    has_symbols,
    holds_undefined,
    read,
    second_reading,
)
from assay.verifiers.math.rules import LENIENT, STRICT, Rules
from assay.verifiers.math.syntax.tokens import MAX_TEXT
from assay.verifiers.math.values.kinds import Measured, Members, Nothing, One, Opaque

NOTHING: Mapping[str, Any] = {}
_INTEGER = re.compile(r"[-+]?\d{1,18}(?:\.0*)?")
_SHOWN = 500
"""Code points of an extracted answer that a verdict shows."""
_HEDGING = re.compile(r"\b(?:not|either|neither|or|maybe|perhaps)\b|或")
_APPROXIMATE = re.compile(r"^\s*\$?\s*(?:\\approx|\\simeq|≈|~|about|approximately|roughly)\s*")


@dataclass(frozen=True)
class MathSpec:
    """A gold, read."""

    reference: MathReference
    gold: Reading
    rules: Rules
    choice: str
    text: str
    integer: int | None


class MathVerifier(Verifier[MathReference, MathSpec]):
    """Mathematical answers by value and kind."""

    name: ClassVar[str] = "math"
    version: ClassVar[int] = 1
    reference_model = MathReference
    reads: ClassVar[frozenset[str]] = frozenset({"completion", "prefill", "prompt", "truncated"})
    budget: ClassVar[Budget] = Budget(prepare_cpu_s=2.0, verify_cpu_s=2.0)

    def __init__(self) -> None:
        # Reading and comparing recurse: `MAX_DEPTH` levels need more than Python's default of 1000 frames.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 8_000))

    def prepare(self, reference: MathReference) -> MathSpec:
        """Read the gold. Raises `InvalidReference` if it is broken, undefined, or nothing to compare with."""
        gold = read(reference.answer)
        _check(gold)
        text = reference.answer.strip().strip("$").strip()
        integer = int(Fraction(text)) if reference.tol is None and _INTEGER.fullmatch(text) else None
        choice = gold.choice if len(gold.tokens) <= 3 else ""
        return MathSpec(reference, gold, _rules(reference), choice, text, integer)

    def verify(self, spec: MathSpec, candidate: Candidate) -> Verdict:
        """Score one completion."""
        answer = candidate.answer
        flags = ("truncated",) if candidate.truncated else ()
        if answer is None:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", flags=(*flags, "unclosed_thinking"))
        extraction = _extracted(spec, candidate, answer.text)
        found = extraction.found
        if found is None or extraction.reason:
            return _without_answer(extraction, flags, candidate)
        correct, reason, details = compare_text(spec, found.text, explain=candidate.explain)
        reward = 1.0 if correct else 0.0
        return Verdict(
            reward=reward,
            score=reward,
            reason=reason,
            extracted=found.text.strip()[:_SHOWN],
            span=(found.start + answer.offset, found.end + answer.offset),
            message=answer.message,
            flags=flags + extraction.flags,
            explanation={"policy": extraction.policy, **details} if candidate.explain else NOTHING,
        )


def _extracted(spec: MathSpec, candidate: Candidate, text: str) -> Extraction:
    context, lenient = given(candidate), spec.reference.profile == "lenient"
    return extract(text, spec.reference.extract, context, lenient=lenient)


def _without_answer(extraction: Extraction, flags: tuple[str, ...], candidate: Candidate) -> Verdict:
    return Verdict(
        reward=0.0,
        score=0.0,
        reason=extraction.reason,
        flags=flags + extraction.flags,
        explanation={"policy": extraction.policy, "path": ["nothing to compare"]} if candidate.explain else {},
    )


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


def compare_text(spec: MathSpec, text: str, *, explain: bool = False) -> tuple[bool, str, Mapping[str, Any]]:
    """Whether an answer's text equals the gold: verdict, reason, and (if asked) how it was decided."""
    text = text.strip()
    if text == spec.text:
        return True, "equal", {"path": ["same text"], "gold": spec.text, "answer": text} if explain else {}
    if spec.integer is not None and _INTEGER.fullmatch(text):
        same = int(text.partition(".")[0]) == spec.integer
        details = {"path": ["integers"], "gold": spec.text, "answer": text} if explain else {}
        return same, "equal" if same else "unequal", details
    if len(text) > MAX_TEXT:
        return False, "unparsed", {"path": ["too long"]} if explain else {}
    return _typed(spec, text, explain=explain)


def _typed(spec: MathSpec, text: str, *, explain: bool) -> tuple[bool, str, Mapping[str, Any]]:
    reading = read(_APPROXIMATE.sub("", text) if spec.reference.profile == "lenient" else text)
    comparison = Comparison(spec.rules)
    correct = decide(spec, reading, comparison)
    reason = "equal" if correct else _reason(spec, reading, text)
    if not explain:
        return correct, reason, {}
    details = {"gold": _shown(spec.gold), "answer": _shown(reading), "path": comparison.path}
    return correct, reason, details


def decide(spec: MathSpec, reading: Reading, comparison: Comparison) -> bool:
    """Choices by letter; equal tokens; then typed values, and the second reading of a unit's letter."""
    gold = spec.gold
    if spec.choice:
        return comparison.note("choice", result=choice_letter(list(reading.tokens)) == spec.choice)
    if reading.same_form(gold) or (isinstance(gold.value, Nothing) and reading.canonical == gold.canonical):
        return comparison.note("same form", result=True)
    if comparison.equal(gold.value, reading.value):
        return True
    if not has_symbols(gold.value):
        second = second_reading(reading)
        if second is not None and comparison.equal(gold.value, second.value):
            return comparison.note("letter read as a unit", result=True)
    return False


def _reason(spec: MathSpec, reading: Reading, text: str) -> str:
    if isinstance(reading.value, Opaque) and not isinstance(spec.gold.value, Opaque):
        return "hedged" if _HEDGING.search(text[:2_000]) else "unparsed"
    if isinstance(reading.value, Members) and isinstance(spec.gold.value, (One, Measured)):
        return "hedged"
    return "unequal"


def _shown(reading: Reading) -> Mapping[str, Any]:
    why = getattr(reading.value, "why", "")
    return {"text": reading.text[:_SHOWN], "kind": reading.value.kind, **({"why": why} if why else {})}
