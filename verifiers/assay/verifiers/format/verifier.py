"""`format`: constraints on the shape of a completion, each with a value, and their aggregate.

A constraint is 1 (met) or 0. `soft_overlong`, `cosine_length` and `repetition` are shaping terms: with one of them the
whole result is a shaping term (no `score`). Lengths are counted in the caller's tokens, never in characters.
`cosine_length` needs the reward of another part, so it is only allowed in a composite. Linear in the text.
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
from assay.verifiers.format.regions import Region, Regions

SHAPING = frozenset({"soft_overlong", "cosine_length", "repetition"})
Rewards = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FormatSpec:
    """A prepared row. `siblings`: the parts of the composite whose rewards it needs."""

    reference: FormatReference
    siblings: frozenset[str]


class FormatVerifier(Verifier[FormatReference, FormatSpec]):
    """Check structure, length, repetition, keywords and language: constraints and shaping terms."""

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
        """Return the names of the parts whose rewards `verify_beside` needs."""
        return spec.siblings

    def verify(self, spec: FormatSpec, candidate: Candidate) -> Verdict:
        """Score without other parts. Raises `InvalidItem` if tokens are missing, `InvalidReference` if another part
        is needed.
        """
        if spec.siblings:
            raise InvalidReference("cosine_length requires a composite with that part", field="correct_part")
        return self.verify_beside(spec, candidate, {})

    def verify_beside(self, spec: FormatSpec, candidate: Candidate, rewards: Rewards) -> Verdict:
        """Score as a part of a composite, given the rewards of the other parts."""
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
        least = languages.MIN_CONFIDENCE if rule.min_confidence is None else rule.min_confidence
        return languages.is_in(text.text, rule.code, min_confidence=least)
    return TEXT_CHECKS[rule.type](rule, text)


def _region(name: str, regions: Regions) -> Region | None:
    region: Region | None = getattr(regions, name)
    return region


def _consistent(rule: Any, text: Region | None) -> bool:
    """Return whether the share is reached, or there is text without letters; False without text."""
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
