"""`given`: a score from another system, carried by the item (`name`) or by the row (`score`).

The score is the reward unchanged, and also the correctness `score` if it lies in [0, 1]. A missing name or a null gives
no verdict: another system's outage must not become a 0.
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
    """The name of the item's score, or the row's own score."""

    name: str | None
    score: float | None


class GivenVerifier(Verifier[GivenReference, GivenSpec]):
    """A score given by another system: a judge, a reward model, a label."""

    name = "given"
    version = 1
    reference_model = GivenReference
    reads = frozenset({"scores"})

    def prepare(self, reference: GivenReference) -> GivenSpec:
        """Return the spec; there is nothing to parse."""
        return GivenSpec(reference.name, reference.score)

    def verify(self, spec: GivenSpec, candidate: Candidate) -> Verdict:
        """Return the score as a verdict. Raises `InvalidItem` if there is none: that is the row's fault, not the
        model's.
        """
        score = spec.score if spec.name is None else candidate.scores.get(spec.name)
        if score is None or not math.isfinite(score):
            field = "score" if spec.name is None else f"scores.{spec.name}"
            raise InvalidItem("the item carries no such score", field=field)
        explanation = {"why": "the score was given", "from": spec.name or "the row"} if candidate.explain else {}
        score = float(score)
        correctness = score if 0 <= score <= 1 else None
        return Verdict(reward=score, score=correctness, reason="given", extracted=score, explanation=explanation)
