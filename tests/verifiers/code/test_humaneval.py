"""HumanEval: every canonical solution passes in two jails, and no body that cheats does."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from assay.contract.references.code import CodeReference
from assay.sandbox import Slot, Supervisor
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier

FILE = Path(__file__).parents[4] / "shared" / "data" / "HumanEval.jsonl.gz"
ROWS = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()] if FILE.exists() else []
LANES = 4
pytestmark = pytest.mark.skipif(not ROWS, reason="no ../shared/data/HumanEval.jsonl.gz here")
LIAR = (
    '    return type("S", (), {"__eq__": lambda s, o: True, "__ne__": lambda s, o: False, "__bool__": lambda s: True,'
    ' "__lt__": lambda s, o: True, "__sub__": lambda s, o: s, "__rsub__": lambda s, o: s, "__abs__": lambda s: 0.0,'
    ' "__hash__": lambda s: 0, "__len__": lambda s: 0, "__iter__": lambda s: iter(())})()\n'
)
BODIES = {
    "pass": "    pass\n",
    "exit": "    import sys\n    sys.exit(0)\n",
    "always_equal": LIAR,
    "constant": "    return 987654321\n",
    "raise": "    raise ValueError('no')\n",
}


def rewards(
    supervisor: Supervisor, body: Callable[[dict[str, Any]], str], rows: list[dict[str, Any]] = ROWS, **fields: Any
) -> dict[str, float]:
    def lane(share: list[dict[str, Any]]) -> list[tuple[str, float]]:
        slot = Slot.from_descriptor(supervisor.connect())
        verifier = CodeVerifier(lambda: slot)
        try:
            return [(row["task_id"], one(verifier, row, body(row), fields)) for row in share]
        finally:
            slot.close()

    with ThreadPoolExecutor(LANES) as pool:
        shares = pool.map(lane, [rows[index::LANES] for index in range(LANES)])
        return dict(pair for share in shares for pair in share)


def one(verifier: CodeVerifier, row: dict[str, Any], body: str, fields: dict[str, Any]) -> float:
    test = {"test_code": f"{row['test']}\ncheck({row['entry_point']})\n"}
    reference = CodeReference.model_validate(
        {
            "language": "python",
            "mode": "asserts",
            "tests": [test],
            "prefix": row["prompt"],
            "extract": "whole",
            "limits": {"wall_s": 30},
            **fields,
        }
    )
    return verifier.verify(verifier.prepare(reference), Candidate.of(body)).reward


@pytest.mark.parametrize("trust", ["strict", "low"])
def test_canonical_solutions_pass(supervisor: Supervisor, trust: str) -> None:
    found = rewards(supervisor, lambda row: row["canonical_solution"], trust=trust)
    assert len(found) == 164 and [name for name, reward in found.items() if reward != 1] == []


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_do_not_solve_fail(supervisor: Supervisor, name: str) -> None:
    found = rewards(supervisor, lambda row: BODIES[name], ROWS[list(BODIES).index(name) % 2 :: 2])
    assert len(found) == 82 and [task for task, reward in found.items() if reward != 0] == []
