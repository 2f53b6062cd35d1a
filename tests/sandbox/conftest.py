"""A slot of the session's supervisor, and a function that runs Python in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from assay.sandbox import Limits, RunResult, Slot, Supervisor, python_program


@pytest.fixture(scope="module")
def slot(supervisor: Supervisor) -> Iterator[Slot]:
    opened = Slot.from_descriptor(supervisor.connect())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def python(slot: Slot) -> Callable[..., RunResult]:
    def run(source: str, stdin: str = "", **limits: float) -> RunResult:
        asked = Limits(wall_s=10).override(**limits)
        return slot.run(python_program(source.encode(), stdin=stdin.encode(), limits=asked))

    return run
