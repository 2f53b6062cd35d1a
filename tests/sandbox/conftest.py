"""A real supervisor and a slot of it; skipped with the reason where no backend works."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from assay.sandbox import Limits, RunResult, Settings, Slot, Supervisor, Unavailable, python_program


@pytest.fixture(scope="session")
def supervisor() -> Iterator[Supervisor]:
    try:
        started = Supervisor.start(Settings(slots=6))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with started:
        yield started


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
