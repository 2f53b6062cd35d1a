"""What came of one test, and of all of them: per-test results to one verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.contract.codes import Flag
from assay.sandbox import RunResult
from assay.verifiers.base import Verdict

PASSED = "passed"
KILLED = Flag.KILLED.value
"""Flag of a verdict that rests on the death of a process that nothing accounts for: it is not cached."""


@dataclass(frozen=True, kw_only=True)
class TestOutcome:
    """One test: `passed`, or the reason why not; usage where something ran."""

    __test__ = False  # not a test class of pytest

    status: str
    run: RunResult | None = None
    flags: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the test counts as passed."""
        return self.status == PASSED

    def report(self) -> Mapping[str, Any]:
        """The test's entry in the response: usage, never output or expectation."""
        if self.run is None:
            return {"status": self.status}
        run = self.run
        entry: dict[str, Any] = {
            "status": self.status,
            "wall_ms": round(run.wall_s * 1e3, 3),
            "cpu_ms": round(run.cpu_s * 1e3, 3),
            "memory_kb": run.memory_kb,
        }
        if run.signal is not None:
            entry["signal"] = run.signal
        elif run.exit_code is not None:
            entry["exit_code"] = run.exit_code
        if run.stdout_truncated:
            entry["stdout_truncated"] = True
        if run.stderr_truncated:
            entry["stderr_truncated"] = True
        return entry


def verdict_of(
    outcomes: Sequence[TestOutcome],
    *,
    total: int,
    fraction: bool,
    flags: Sequence[str],
    hide: bool,
    **fields: Any,
) -> Verdict:
    """The verdict over `total` tests, of which those after an early stop are missing in `outcomes`."""
    passed = sum(outcome.passed for outcome in outcomes)
    reward = passed / total if fraction else float(passed == total)
    first_failure = next((outcome.status for outcome in outcomes if not outcome.passed), "equal")
    killed = [KILLED for outcome in outcomes if not outcome.passed and outcome.run and outcome.run.unexplained]
    every_flag = dict.fromkeys([*flags, *(flag for outcome in outcomes for flag in outcome.flags), *killed])
    return Verdict(
        reward=reward,
        score=reward,
        reason=first_failure,
        flags=tuple(every_flag),
        tests=None if hide else [outcome.report() for outcome in outcomes],
        **fields,
    )
