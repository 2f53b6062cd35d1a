"""The verifier `math`: extract, read, compare.

`prepare` reads the gold once; the whole group shares it with every value that was computed of it.
Reasons: `equal`, `unequal`, `no_answer`, `unparsed`, `hedged`, `undecided`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from assay.contract.references.math import MathReference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.extract import Found
from assay.verifiers.math.answer.context import given
from assay.verifiers.math.answer.extraction import Extraction, extract, sentence_answer
from assay.verifiers.math.outcome import SHOWN, Outcome, compare_text
from assay.verifiers.math.spec import MathSpec, specified

NOTHING: Mapping[str, Any] = {}


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
        return specified(reference)

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
        outcome = compare_text(spec, found.text, explain=candidate.explain, algebra=candidate.algebra)
        if outcome.unread and extraction.policy == "final_line" and spec.is_mathematics:
            found, outcome = _by_sentence(spec, candidate, answer.text, found, outcome)
        reward = 1.0 if outcome.correct else 0.0
        return Verdict(
            reward=reward,
            score=reward,
            reason=outcome.reason,
            extracted=found.text.strip()[:SHOWN],
            span=(found.start + answer.offset, found.end + answer.offset),
            message=answer.message,
            flags=flags + extraction.flags,
            explanation={"policy": extraction.policy, **outcome.details} if candidate.explain else NOTHING,
        )


def _extracted(spec: MathSpec, candidate: Candidate, text: str) -> Extraction:
    context, lenient = given(candidate), spec.reference.profile == "lenient"
    return extract(text, spec.reference.extract, context, lenient=lenient)


def _by_sentence(
    spec: MathSpec, candidate: Candidate, text: str, found: Found, outcome: Outcome
) -> tuple[Found, Outcome]:
    """A marker's sentence that is no plain value, read as prose."""
    lenient = spec.reference.profile == "lenient"
    extraction = sentence_answer(text, found, given(candidate), lenient=lenient)
    if extraction.found is None:
        return found, outcome
    return extraction.found, compare_text(
        spec, extraction.found.text, explain=candidate.explain, algebra=candidate.algebra
    )


def _without_answer(extraction: Extraction, flags: tuple[str, ...], candidate: Candidate) -> Verdict:
    return Verdict(
        reward=0.0,
        score=0.0,
        reason=extraction.reason,
        flags=flags + extraction.flags,
        explanation={"policy": extraction.policy, "path": ["nothing to compare"]} if candidate.explain else {},
    )
