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
def slot(supervisor: Supervisor) -> Iterator[Slot]:
    opened = Slot.from_descriptor(supervisor.connect())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def verifier(slot: Slot) -> CodeVerifier:
    return CodeVerifier(lambda: slot)


@pytest.fixture(scope="module")
def score(verifier: CodeVerifier) -> Callable[..., Verdict]:
    return scoring(verifier)


@pytest.fixture(scope="module")
def score_in_two_jails(slot: Slot) -> Callable[..., Verdict]:
    """Score without the confirmation run, which could be forged: what must fail must fail without it."""
    return scoring(CodeVerifier(lambda: slot, confirm=False))


def scoring(verifier: CodeVerifier) -> Callable[..., Verdict]:
    def run(code: str, tests: list[dict[str, Any]], mode: str = "stdio", **fields: Any) -> Verdict:
        row = {"language": "python", "extract": "whole", "mode": mode, "tests": tests, **fields}
        reference = CodeReference.model_validate(row)
        return verifier.verify(verifier.prepare(reference), Candidate.of(code))

    return run
