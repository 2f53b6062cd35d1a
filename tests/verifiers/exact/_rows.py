"""Rows of the contract, scored by the verifier alone."""

from typing import Any

from pydantic import ValidationError

from assay.contract.references.exact import ExactReference
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact import ExactVerifier

from .._scoring import shared_rows

__all__ = ["VERIFIER", "outcome", "reward", "shared_rows", "verdict"]
VERIFIER = ExactVerifier()


def verdict(completion: str, *, explain: bool = False, **reference: Any) -> Verdict:
    spec = VERIFIER.prepare(ExactReference.model_validate(reference))
    return VERIFIER.verify(spec, Candidate.of(completion, explain=explain))


def reward(completion: str, **reference: Any) -> float:
    return verdict(completion, **reference).reward


def outcome(row: dict[str, Any]) -> float | str:
    """What `expected` speaks of: the reward, or "refused"."""
    try:
        return reward(row["completion"], **row["reference"])
    except (ValidationError, InvalidReference):
        return "refused"
