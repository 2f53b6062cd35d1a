"""A part's entry in the result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.contract.references.composite import Part
from assay.contract.result import outcome_of
from assay.verifiers.base import Verdict
from assay.verifiers.registry import AnyVerifier

SHOWN = 2000
"""Characters of what a part extracted that its entry carries, at most."""


def part_of(part: Part, verifier: AnyVerifier, verdict: Verdict) -> Mapping[str, Any]:
    """The entry: what a result says, without what is null."""
    optional = {
        "extracted": _bounded(verdict.extracted),
        "span": verdict.span,
        "message": verdict.message,
        "flags": list(verdict.flags) or None,
        "tests": verdict.tests,
        "parts": verdict.parts,
    }
    return {
        "name": part.name,
        "weight": part.weight,
        "verifier": f"{verifier.name}@{verifier.version}",
        "reward": verdict.reward,
        "score": verdict.score,
        "outcome": outcome_of(reward=verdict.reward, score=verdict.score).value,
        "reason": verdict.reason,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _bounded(extracted: Any) -> Any:
    if isinstance(extracted, str):
        return extracted[:SHOWN]
    if extracted is None or isinstance(extracted, (bool, int, float)):
        return extracted
    text = json.dumps(extracted, ensure_ascii=False)
    return extracted if len(text) <= 2 * SHOWN else text[:SHOWN]
