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
