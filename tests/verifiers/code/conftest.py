"""A verifier on a slot of its own of the session's supervisor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.contract.references.code import CodeReference
from assay.sandbox import Slot, Supervisor
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier


@pytest.fixture(scope="module")
def verifier(supervisor: Supervisor) -> Iterator[CodeVerifier]:
    slot = Slot.from_descriptor(supervisor.connect())
    yield CodeVerifier(lambda: slot)
    slot.close()


@pytest.fixture(scope="module")
def score(verifier: CodeVerifier) -> Callable[..., Verdict]:
    def run(code: str, tests: list[dict[str, Any]], mode: str = "stdio", **fields: Any) -> Verdict:
        row = {"language": "python", "extract": "whole", "mode": mode, "tests": tests, **fields}
        reference = CodeReference.model_validate(row)
        return verifier.verify(verifier.prepare(reference), Candidate.of(code))

    return run
