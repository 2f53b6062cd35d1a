"""One verdict however a row is run: each test alone, all in one process, in fresh jails, code cached or not."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.contract.references.code import CodeReference
from assay.sandbox import RunResult, RunSpec, Slot, Supervisor
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier
from assay.verifiers.errors import InvalidReference

CASES = Path(__file__).parents[4] / "shared" / "cases" / "code.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.exists() else []
HUMANEVAL = CASES.parents[1] / "data" / "HumanEval.jsonl.gz"
STRIDE = int(os.environ.get("ASSAY_DIFFERENTIAL_STRIDE", "8"))
"""1: every row, as `make soak` runs it."""
QUICK = [row for row in ROWS if "wall_s" not in (row["reference"].get("limits") or {}) and "after" not in row]
SKIPPED = {"hack-settrace-skip", "hack-thread-exit0"}  # seconds each, and they gain nothing by repetition
pytestmark = pytest.mark.skipif(not ROWS, reason="no ../shared/cases/code.jsonl here")


class FreshSlot(Slot):
    """Every run in a jail of its own."""

    def run(self, spec: RunSpec) -> RunResult:
        return super().run(replace(spec, fresh=True))


def reward(verifier: CodeVerifier, row: dict[str, Any], **changes: Any) -> float | str:
    try:
        reference = CodeReference.model_validate_json(json.dumps({**row["reference"], **changes}))
        return verifier.verify(verifier.prepare(reference), Candidate.of(row["completion"])).reward
    except (ValidationError, InvalidReference):
        return "refused"


def python_rows() -> list[dict[str, Any]]:
    return [row for row in QUICK if row["reference"]["language"] == "python" and row["id"] not in SKIPPED]


def humaneval_rows() -> list[dict[str, Any]]:
    """Right and wrong bodies of every so many problems, the tests of each as two units."""
    if not HUMANEVAL.exists():
        return []
    rows = []
    problems = [json.loads(line) for line in gzip.decompress(HUMANEVAL.read_bytes()).splitlines()]
    for index, problem in enumerate(problems[::STRIDE]):
        unit = {"test_code": f"{problem['test']}\ncheck({problem['entry_point']})\n"}
        right = index % 2 == 0
        reference = {
            "language": "python",
            "mode": "asserts",
            "tests": [unit, unit],
            "prefix": problem["prompt"],
            "extract": "whole",
            "limits": {"wall_s": 30},
        }
        completion = problem["canonical_solution"] if right else "    return None\n"
        rows.append({"id": problem["task_id"], "reference": reference, "completion": completion, "right": right})
    return rows


def test_shared_isolation_changes_no_verdict(supervisor: Supervisor) -> None:
    slot = Slot.from_descriptor(supervisor.connect())
    verifier = CodeVerifier(lambda: slot)
    several = [row for row in python_rows() + humaneval_rows() if len(row["reference"]["tests"]) > 1]
    assert len(several) > 10
    for row in several:
        for scoring in ("all", "fraction"):
            alone = reward(verifier, row, scoring=scoring)
            assert alone == row.get("right", alone), row["id"]
            assert reward(verifier, row, scoring=scoring, isolation="shared") == alone, row["id"]
    slot.close()


def test_each_test_alone_adds_up_to_the_fraction(supervisor: Supervisor) -> None:
    slot = Slot.from_descriptor(supervisor.connect())
    verifier = CodeVerifier(lambda: slot)
    for row in (row for row in python_rows() if len(row["reference"]["tests"]) > 1):
        tests = row["reference"]["tests"]
        alone = [reward(verifier, row, tests=[test]) for test in tests]
        together = reward(verifier, row, scoring="fraction")
        assert together == pytest.approx(sum(map(float, alone)) / len(tests)), row["id"]
    slot.close()


def test_fresh_jails_change_no_verdict(supervisor: Supervisor) -> None:
    warm, fresh = Slot.from_descriptor(supervisor.connect()), FreshSlot.from_descriptor(supervisor.connect())
    for row in python_rows()[:: max(1, STRIDE // 2)] + humaneval_rows():
        verdicts = {reward(CodeVerifier(lambda slot=slot: slot), row) for slot in (warm, fresh)}  # type: ignore[misc]
        assert len(verdicts) == 1, row["id"]
    warm.close()
    fresh.close()
