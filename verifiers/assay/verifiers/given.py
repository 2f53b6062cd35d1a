"""`given`: a score that another system gave, carried by the item (`name`) or by the row (`score`).

The score is the reward as it stands; it is correctness too where it lies in [0, 1]. A missing name or a
null is no verdict: another system's outage must not become a 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.contract.references.given import GivenReference
from assay.verifiers.base import Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidItem


@dataclass(frozen=True)
class GivenSpec:
    """Where the score comes from."""

    name: str | None
    score: float | None


class GivenVerifier(Verifier[GivenReference, GivenSpec]):
    """A score that another system gave: a judge, a reward model, a label."""

    name = "given"
    version = 1
    reference_model = GivenReference
    reads = frozenset({"scores"})

    def prepare(self, reference: GivenReference) -> GivenSpec:
        """Nothing to parse."""
        return GivenSpec(reference.name, reference.score)

    def verify(self, spec: GivenSpec, candidate: Candidate) -> Verdict:
        """Hand the score on. Raises `InvalidItem` where there is none: the row's fault, not the model's."""
        score = spec.score if spec.name is None else candidate.scores.get(spec.name)
        if score is None or not math.isfinite(score):
            field = "score" if spec.name is None else f"scores.{spec.name}"
            raise InvalidItem("no score was given", field=field)
        explanation = {"why": "the score was given", "from": spec.name or "the row"} if candidate.explain else {}
        score = float(score)
        correctness = score if 0 <= score <= 1 else None
        return Verdict(reward=score, score=correctness, reason="given", extracted=score, explanation=explanation)
