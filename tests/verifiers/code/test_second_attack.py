"""What a second attacker found, row by row (`second_attack.jsonl`): each promise and each attack by its name.

`excuse`: a completion that bought a null. `false_pass`: a wrong program that got 1. `harm`: lane time or other
items. `punished`: a right program that got 0. `expect` null: the row is refused, whatever the completion.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from assay.contract.references.code import CodeReference
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier
from assay.verifiers.errors import InvalidReference

ROWS = [json.loads(line) for line in Path(__file__).with_name("second_attack.jsonl").read_text().splitlines()]


def reward_of(verifier: CodeVerifier, row: dict[str, Any]) -> float | None:
    reference = CodeReference.model_validate_json(json.dumps(row["reference"]))
    try:
        return verifier.verify(verifier.prepare(reference), Candidate.of(row["completion"])).reward
    except InvalidReference:
        return None


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['kind']}-{row['id']}" for row in ROWS])
def test_row(verifier: CodeVerifier, row: dict[str, Any]) -> None:
    before = time.process_time()
    assert reward_of(verifier, row) == row["expect"]
    assert time.process_time() - before < 20, "the lane itself had to work for it"


def test_a_broken_checker_refuses_its_row_for_every_completion(verifier: CodeVerifier) -> None:
    checker = {
        "language": "python",
        "protocol": "python",
        "source": "def check(stdin, stdout, expected):\n    return 1 // 0",
    }
    tests = [{"stdin": "", "expected_stdout": "2"}]
    for code in ("print(2)", "print('junk')", "1/0"):
        reference = {"language": "python", "mode": "stdio", "extract": "whole", "tests": tests, "checker": checker}
        assert reward_of(verifier, {"reference": reference, "completion": code}) is None
