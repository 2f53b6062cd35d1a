"""numpy and pandas between tests and program, in the bundled environment `sci` (`make test-packages`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib

from assay.contract.references.code import CodeReference
from assay.sandbox import Slot, sci
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier

pytestmark = pytest.mark.packages
IMPORTS = "import numpy as np\nimport pandas as pd\n"
CASES = tomllib.loads((Path(__file__).parent / "cases" / "tables.toml").read_text())
HONEST = CASES["honest"]
WRONG = CASES["wrong"]


@pytest.fixture(scope="module")
def verifier(start_supervisor: Callable[..., Any]) -> Iterator[CodeVerifier]:
    slot = Slot.from_descriptor(start_supervisor(slots=1, environments=(sci(),)).connect())
    yield CodeVerifier(lambda: slot)
    slot.close()


def reward(verifier: CodeVerifier, *, tests: str, program: str) -> float:
    row = {
        "language": "python",
        "extract": "whole",
        "mode": "asserts",
        "env": "sci",
        "tests": [{"test_code": IMPORTS + tests}],
    }
    reference = CodeReference.model_validate(row)
    return verifier.verify(verifier.prepare(reference), Candidate.of(IMPORTS + program)).reward


@pytest.mark.parametrize("name", HONEST)
def test_honest(verifier: CodeVerifier, name: str) -> None:
    assert reward(verifier, **HONEST[name]) == 1


@pytest.mark.parametrize("name", WRONG)
def test_wrong(verifier: CodeVerifier, name: str) -> None:
    assert reward(verifier, **WRONG[name]) == 0


@pytest.mark.parametrize(
    ("value", "expected", "reward_"),
    [
        ("np.int64(5)", 5, 1),
        ("np.float32(0.5)", 0.5, 1),
        ("np.bool_(True)", True, 1),
        ("np.array([[1, 2], [3, 4]])", [[1, 2], [3, 4]], 1),
        ("[np.int8(1), (np.arange(2),)]", [1, [[0, 1]]], 1),
        ("{'a': np.float64(2)}", {"a": 2}, 1),
        ("np.int64(5)", 6, 0),
        ("np.bool_(True)", 1, 0),
        ("np.float64('nan')", None, 0),
        ("np.datetime64('2020-01-01')", "2020-01-01", 0),
    ],
)
def test_results_of_numpy_count_as_what_they_hold(
    verifier: CodeVerifier, value: str, expected: Any, reward_: float
) -> None:
    row = {
        "language": "python",
        "extract": "whole",
        "mode": "function",
        "env": "sci",
        "tests": [{"entry_point": "f", "args": [], "expected": expected}],
    }
    program = f"import numpy as np\ndef f(): return {value}"
    reference = CodeReference.model_validate(row)
    assert verifier.verify(verifier.prepare(reference), Candidate.of(program)).reward == reward_


IDENTITY = tomllib.loads((Path(__file__).parent / "cases" / "identity.toml").read_text())


@pytest.mark.parametrize(
    ("outcome", "name"),
    [(outcome, name) for outcome in ("honest", "wrong") for name, case in IDENTITY[outcome].items() if "env" in case],
)
def test_arrays_and_tables_keep_their_identity(verifier: CodeVerifier, outcome: str, name: str) -> None:
    case = IDENTITY[outcome][name]
    assert reward(verifier, tests=case["tests"], program=case["program"]) == float(outcome == "honest")
