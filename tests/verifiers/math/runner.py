"""Score a row of the contract in process: no engine, no lanes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.contract.references.math import MathReference
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import NoVerdict
from assay.verifiers.math import MathVerifier

VERIFIER = MathVerifier()
SHARED = Path(__file__).resolve().parents[4] / "shared"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file in ../shared; skips where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def verdict(gold: str, completion: str, **reference: Any) -> Verdict:
    """The verdict of one completion, explained."""
    spec = VERIFIER.prepare(MathReference(answer=gold, **reference))
    return VERIFIER.verify(spec, Candidate.of(completion, explain=True))


def boxed(gold: str, answer: str, **reference: Any) -> bool:
    """Whether `\\boxed{answer}` is right."""
    return verdict(gold, f"\\boxed{{{answer}}}", **reference).reward == 1.0


def auto(gold: str, completion: str) -> bool:
    """Whether a completion is right under `auto`."""
    return verdict(gold, completion, extract="auto").reward == 1.0


def reward(row: Mapping[str, Any], **reference: Any) -> float | None:
    """The reward of a row; None where there is no verdict."""
    try:
        spec = VERIFIER.prepare(MathReference(**{**row["reference"], **reference}))
        candidate = Candidate.of(row["completion"], prefill=row.get("prefill") or "")
        return VERIFIER.verify(spec, candidate).reward
    except NoVerdict:
        return None


def as_expected(expected: Any, got: float | None) -> bool:
    """Whether a reward is what a row expects."""
    if isinstance(expected, list):
        return any(as_expected(each, got) for each in expected)
    if expected is None or expected == "refused":
        return got is None
    return got is not None and abs(got - expected) < 1e-6


def wrong(cases: list[dict[str, Any]], **reference: Any) -> Iterator[str]:
    """Ids of rows that differ from what they expect."""
    for row in cases:
        if not as_expected(row["expected"], reward(row, **reference)):
            yield row["id"]
