"""Rows of the contract, scored by the verifier alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact import ExactVerifier
from assay.wire.references.exact import ExactReference

SHARED = Path(__file__).parents[4] / "shared"
VERIFIER = ExactVerifier()


def shared_rows(name: str) -> Iterator[dict[str, Any]]:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


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
