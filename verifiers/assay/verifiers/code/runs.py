"""Run a program on the tests of a row: the parts that all modes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.sandbox import Compiled, Limits, RunResult, Slot
from assay.sandbox.programs import failure_reason
from assay.verifiers.code.outcome import PASSED, TestOutcome
from assay.verifiers.code.spec import Spec

__all__ = ["ProgramRun", "RowRun", "outcome_of", "until_failure"]


@dataclass(frozen=True, kw_only=True)
class RowRun:
    """What is run for a row: its spec, the slot it runs in, its limits and its owner."""

    spec: Spec
    slot: Slot
    limits: Limits
    owner: str


@dataclass(frozen=True, kw_only=True)
class ProgramRun(RowRun):
    """A program to be scored, compiled."""

    compiled: Compiled
    confirm: bool = True
    """Whether a pass of `asserts` must also be a pass in one process."""

    @property
    def source(self) -> bytes:
        """The program's text."""
        return self.compiled.source


def until_failure(tests: Sequence[Callable[[], TestOutcome]], *, stop_early: bool) -> Iterator[TestOutcome]:
    """Run tests in order and yield their outcomes; with `stop_early`, stop after the first failure."""
    for test in tests:
        outcome = test()
        yield outcome
        if stop_early and not outcome.passed:
            return


def outcome_of(run: RunResult, right: Callable[[], bool], wrong: str = "wrong_output") -> TestOutcome:
    """Return the outcome of a test: failed if the run failed, whatever it printed; otherwise `right` decides."""
    if not run.ok:
        return TestOutcome(status=failure_reason(run), run=run)
    return TestOutcome(status=PASSED if right() else wrong, run=run)
