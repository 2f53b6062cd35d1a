"""Rows of the contract, scored by their verifiers alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pydantic import ValidationError

from assay.verifiers import Candidate, InvalidReference, Message, NoVerdict, Verdict
from assay.verifiers.registry import Registry

SHARED = Path(__file__).parents[3] / "shared"
REGISTRY = Registry()
calm = settings(deadline=None, max_examples=20)
"""For property tests: machines are noisy, and hostile text has its own clock."""


def shared_rows(name: str) -> Iterator[dict[str, Any]]:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def verdict(name: str, completion: str | list[dict[str, Any]], reference: dict[str, Any], **fields: Any) -> Verdict:
    verifier = REGISTRY.get(name)
    spec = verifier.prepare(verifier.reference_model.model_validate_json(json.dumps(reference)))
    return verifier.verify(spec, candidate(completion, **fields))


def candidate(completion: str | list[dict[str, Any]], **fields: Any) -> Candidate:
    if "final_state" in fields:
        fields["has_final_state"] = True
    if isinstance(completion, str):
        return Candidate.of(completion, **fields)
    return Candidate(messages=tuple(Message(**message) for message in completion), **fields)


def refused(name: str, reference: dict[str, Any]) -> bool:
    try:
        verdict(name, "", reference)
    except (ValidationError, InvalidReference):
        return True
    except NoVerdict:
        return False
    return False


_READ = ("prefill", "completion_tokens", "completion_ids", "scores", "final_state")


def differing(cases: str) -> list[str]:
    """Rows of a case file whose reward is not the expected one; null stands for no verdict."""
    ids = []
    for row in shared_rows(f"cases/{cases}.jsonl"):
        try:
            fields = {key: row[key] for key in _READ if key in row}
            reward = verdict(row["verifier"], row["completion"], row["reference"], **fields).reward
        except (ValidationError, NoVerdict):
            reward = None
        if reward != (row["expected"] if reward is None else pytest.approx(row["expected"], abs=1e-6)):
            ids.append(row["id"])
    return ids
