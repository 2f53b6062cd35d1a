"""A real supervisor, and a verifier on a slot of its own; skipped with the reason where none works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.contract.references.code import CodeReference
from assay.sandbox import Settings, Slot, Supervisor, Unavailable
from assay.verifiers.base import Verdict
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import CodeVerifier


@pytest.fixture(scope="session")
def supervisor() -> Iterator[Supervisor]:
    try:
        started = Supervisor.start(Settings(slots=8))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with started:
        yield started


@pytest.fixture(scope="module")
def verifier(supervisor: Supervisor) -> Iterator[CodeVerifier]:
    slot = Slot.from_descriptor(supervisor.connect())
    yield CodeVerifier(lambda: slot)
    slot.close()


@pytest.fixture(scope="module")
def judge(verifier: CodeVerifier) -> Callable[..., Verdict]:
    def run(code: str, tests: list[dict[str, Any]], mode: str = "stdio", **fields: Any) -> Verdict:
        row = {"language": "python", "extract": "whole", "mode": mode, "tests": tests, **fields}
        reference = CodeReference.model_validate(row)
        return verifier.verify(verifier.prepare(reference), Candidate.of(code))

    return run
