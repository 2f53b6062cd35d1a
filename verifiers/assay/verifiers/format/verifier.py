"""`format`: constraints on the shape of a completion, each a value, and their aggregate.

A constraint is 1 (met) or 0; `soft_overlong`, `cosine_length` and `repetition` are shaping terms, and with one of them
the whole is a shaping term (no `score`). Counts are of the caller's tokens, never of characters. `cosine_length`
needs the reward of another part, so it stands in a composite only. Linear in the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.contract.references.format import CosineLength, FormatReference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.format import languages, shaping, thinking
from assay.verifiers.format.kinds import FAULTS, TEXT_CHECKS
from assay.verifiers.format.regions import Judged, Regions

SHAPING = frozenset({"soft_overlong", "cosine_length", "repetition"})
Rewards = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FormatSpec:
    """A row, ready to be judged by. `siblings`: parts of the composite whose rewards it needs."""

    reference: FormatReference
    siblings: frozenset[str]


class FormatVerifier(Verifier[FormatReference, FormatSpec]):
    """Structure, length, repetition, keywords, language: constraints and shaping terms."""

    name = "format"
    version = 1
    reference_model = FormatReference
    reads = frozenset({"completion", "prefill", "completion_tokens", "completion_ids"})
    budget = Budget(prepare_cpu_s=2.0, verify_cpu_s=5.0)

    def prepare(self, reference: FormatReference) -> FormatSpec:
        """Check the constraints. Raises `InvalidReference`."""
        for index, rule in enumerate(reference.constraints):
            fault = FAULTS.get(rule.type, _no_fault)(rule)
            if fault:
                raise InvalidReference(fault, field=f"constraints.{index}")
        needed = {rule.correct_part for rule in reference.constraints if isinstance(rule, CosineLength)}
        return FormatSpec(reference=reference, siblings=frozenset(needed))

    def siblings(self, spec: FormatSpec) -> frozenset[str]:
        """The parts of a composite whose rewards `verify_beside` needs."""
        return spec.siblings

    def verify(self, spec: FormatSpec, candidate: Candidate) -> Verdict:
        """Judge alone. Raises `InvalidItem` where tokens are needed, `InvalidReference` where another part is."""
        if spec.siblings:
            raise InvalidReference("cosine_length needs a composite with that part", field="correct_part")
        return self.verify_beside(spec, candidate, {})

    def verify_beside(self, spec: FormatSpec, candidate: Candidate, rewards: Rewards) -> Verdict:
        """Judge as a part of a composite whose other parts have those rewards."""
        regions = Regions(candidate)
        values = [_value(rule, spec.reference, candidate, regions, rewards) for rule in spec.reference.constraints]
        shaped = any(rule.type in SHAPING for rule in spec.reference.constraints)
        return _verdict(spec.reference, values, shaped, candidate)


def _no_fault(rule: Any) -> None:
    return None


def _value(rule: Any, reference: FormatReference, candidate: Candidate, regions: Regions, rewards: Rewards) -> float:
    kind = rule.type
    if kind == "soft_overlong":
        return shaping.soft_overlong(rule, candidate)
    if kind == "repetition":
        return shaping.repetition(rule, candidate)
    if kind == "cosine_length":
        return shaping.cosine_length(rule, candidate, correct=rewards[rule.correct_part] >= 1)
    return float(_met(rule, reference, regions))


def _met(rule: Any, reference: FormatReference, regions: Regions) -> bool:
    if rule.type == "think_answer":
        return thinking.think_answer(regions.tagged(rule.think_prefilled), strict=rule.strict)
    if rule.type == "think":
        return thinking.think(regions.tagged(rule.think_prefilled), strict=rule.strict)
    if rule.type == "language_consistency":
        return _consistent(rule, _region(rule.scope, regions))
    text = _region(reference.region, regions)
    if text is None or text.blank:
        return False
    if rule.type == "language":
        return languages.is_in(text.text, rule.code)
    return TEXT_CHECKS[rule.type](rule, text)


def _region(name: str, regions: Regions) -> Judged | None:
    judged: Judged | None = getattr(regions, name)
    return judged


def _consistent(rule: Any, text: Judged | None) -> bool:
    """Met where the share is reached, and where there is text but no letter; not where there is no text."""
    if text is None or text.blank:
        return False
    share = languages.script_share(text.text, rule.code)
    return share is None or share >= rule.min_ratio


def _verdict(reference: FormatReference, values: list[float], shaped: bool, candidate: Candidate) -> Verdict:
    total, met = math.fsum(values), all(value == 1 for value in values)
    mean = total / len(values)
    reward = {"all": float(met), "mean": mean, "sum": total}[reference.aggregate]
    score = None if shaped else float(met) if reference.aggregate == "all" else mean
    kinds = [rule.type for rule in reference.constraints]
    explanation = {"constraints": [{"type": k, "value": v} for k, v in zip(kinds, values, strict=True)]}
    return Verdict(
        reward=reward,
        score=score,
        reason="shaped" if shaped else "equal" if met else "format_mismatch",
        message=candidate.message_index if candidate.message_index >= 0 else None,
        explanation=explanation if candidate.explain else {},
    )
