"""The entry of a part in the result of a composite."""

from __future__ import annotations

import json
from typing import Any

from assay.contract.references.composite import Part
from assay.contract.result import Part as PartResult
from assay.contract.result import VerdictFields, outcome_of
from assay.verifiers.base import Verdict
from assay.verifiers.registry import AnyVerifier

SHOWN = 2000
"""Characters of what a part extracted that its entry carries, at most."""
_PASSED_ON = tuple(name for name in VerdictFields.model_fields if name != "explanation")


def part_of(part: Part, verifier: AnyVerifier, verdict: Verdict) -> PartResult:
    """Return the verdict of a part as an entry of `parts`, with what it extracted cut to `SHOWN` characters."""
    fields = {name: getattr(verdict, name) for name in _PASSED_ON}
    return PartResult.model_construct(
        name=part.name,
        weight=part.weight,
        verifier=f"{verifier.name}@{verifier.version}",
        outcome=outcome_of(reward=verdict.reward, score=verdict.score),
        **{**fields, "extracted": _bounded(verdict.extracted)},
    )


def _bounded(extracted: Any) -> Any:
    if isinstance(extracted, str):
        return extracted[:SHOWN]
    if extracted is None or isinstance(extracted, (bool, int, float)):
        return extracted
    text = json.dumps(extracted, ensure_ascii=False)
    return extracted if len(text) <= 2 * SHOWN else text[:SHOWN]
