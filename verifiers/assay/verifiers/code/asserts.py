"""Mode asserts: the row's test code runs in one jail, the program in another; only values are relayed between them.

The *tests jail* writes its verdict to a pipe that the *program jail* cannot open. It first runs what depends on the
row alone and reports that it is ready; only then does the program start. A failure of the tests jail before that point
is a fault of the row or of the sandbox. After it, the death or overrun of the tests jail fails the program's test.

A pass is confirmed: tests and program run once more in one process, as ordinary Python. This run can only turn a pass
into a failure. It guards against differences between the relay and Python, not against malice, since a program could
forge its verdict. With `trust: low`, which only a row can set, both share a process from the start, and the result is
marked.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from assay.contract.references.code import AssertsTest
from assay.sandbox import CEILINGS, Limits, RunResult, RunSpec, Status, Unavailable
from assay.sandbox.host.execution import pipe
from assay.sandbox.programs import failure_reason
from assay.verifiers.code.outcome import PASSED, TestOutcome
from assay.verifiers.code.runs import ProgramRun, until_failure
from assay.verifiers.errors import InvalidReference

_READY = b"ready\n"
_PROGRAM_EXTRA_S, _TESTS_EXTRA_S = 1.0, 3.0
_REASONS = {
    "load": "runtime_error",
    "error": "runtime_error",
    "gone": "runtime_error",
    "exit": "wrong_output",
    "not_transferable": "not_transferable",
}
UNCONFIRMED = "unconfirmed"
"""Reason of a test that passed in two jails and failed in one."""
"""Reasons of verdicts by the cause that the tests jail reports; every other cause (a failed assertion, a skipped test,
no assertion at all …) is `wrong_output`."""
_SOLUTION = {"name": "solution.py", "files": [["solution.py", 0o644, 0]], "source": 0}


def run(program_run: ProgramRun) -> list[TestOutcome]:
    """Return the outcomes of the tests in order; with `scoring: all` the first failure is the last."""
    reference = program_run.spec.reference
    tests = [partial(_scored, program_run, test) for test in reference.tests if isinstance(test, AssertsTest)]
    return list(until_failure(tests, stop_early=reference.scoring == "all"))


def _scored(program_run: ProgramRun, test: AssertsTest) -> TestOutcome:
    test_code = test.test_code.encode("utf-8", "surrogatepass")
    if program_run.spec.reference.trust == "low":
        return _outcome(test, *_together(program_run, test_code, program_run.limits))
    outcome = _outcome(test, *_apart(program_run, test_code))
    if outcome.passed and program_run.confirm and not _confirmed(program_run, test_code):
        return TestOutcome(status=UNCONFIRMED, run=outcome.run)
    return outcome


def _outcome(test: AssertsTest, program: RunResult, report: bytes) -> TestOutcome:
    verdict = _parse(report)
    if not report.startswith(_READY):
        _refuse(verdict)
    flags = ("lying_object",) if verdict.get("lied") else ()
    if not program.ok:
        return TestOutcome(status=failure_reason(program), run=program, flags=flags)
    if verdict.get("passed") is not True:
        why = _REASONS.get(str(verdict.get("why")), "wrong_output")
        early = ("early_exit",) if verdict.get("why") in ("gone", None) else ()
        return TestOutcome(status=why, run=program, flags=(*flags, *early))
    if test.assertions is not None and verdict.get("count") != test.assertions:
        return TestOutcome(status="wrong_output", run=program, flags=("tampering:assertion_count",))
    return TestOutcome(status=PASSED, run=program)


def _confirmed(program_run: ProgramRun, test_code: bytes) -> bool:
    """Return whether tests and program also pass in one process, in one of two attempts."""
    return any(_passes_together(program_run, test_code) for _ in range(2))


def _passes_together(program_run: ProgramRun, test_code: bytes) -> bool:
    result, report = _together(program_run, test_code, _limits_of_both(program_run.limits))
    return result.ok and _parse(report).get("passed") is True


def _limits_of_both(limits: Limits) -> Limits:
    """Return the limits of a run that does the work of both jails: their sum, up to the ceilings."""
    program, tests = _limits_of_program(limits), _limits_of_tests(limits)
    return replace(
        program,
        wall_s=min(CEILINGS.wall_s, program.wall_s + tests.wall_s),
        cpu_s=min(CEILINGS.cpu_seconds, program.cpu_seconds + tests.cpu_seconds),
        memory_mb=min(CEILINGS.memory_mb, program.memory_mb + tests.memory_mb),
        processes=min(CEILINGS.processes, program.processes + tests.processes),
    )


def _refuse(verdict: dict[str, Any]) -> None:
    """Raise InvalidReference if the tests jail reported a fault of the row, which it can only do before it is ready."""
    if verdict.get("invalid"):
        raise InvalidReference("test code does not compile", field="tests")
    if isinstance(verdict.get("lacking"), str):
        raise InvalidReference(f"test code needs {verdict['lacking']}, which it does not have here", field="env")


def _parse(report: bytes) -> dict[str, Any]:
    """Return the verdict of the tests jail, or {} if it reported none."""
    last = report.removeprefix(_READY)
    if not last.endswith(b"\n") or len(last) > 4096:
        return {}
    try:
        verdict = json.loads(last)
    except ValueError:
        return {}
    return verdict if isinstance(verdict, dict) else {}


def _apart(program_run: ProgramRun, test_code: bytes) -> tuple[RunResult, bytes]:
    """Run tests jail and program jail at once. Raises `Unavailable` if the tests jail failed before `_READY`."""
    for last in (False, True):
        program, tests = _pair(program_run, test_code)
        report = tests.outputs[0] if tests.outputs else b""
        if (program.unexplained or tests.unexplained) and not last:
            continue
        if report.startswith(_READY) or tests.ok:
            return _blamed(program, tests), report if tests.ok else _READY
    raise Unavailable("the tests' jail failed before the program started")


def _blamed(program: RunResult, tests: RunResult) -> RunResult:
    """Return the program's result, as lost where the tests' jail was killed and nothing accounts for that."""
    return replace(program, status=Status.RUNTIME_ERROR, jail_lost=True) if tests.unexplained else program


def _pair(program_run: ProgramRun, test_code: bytes) -> tuple[RunResult, RunResult]:
    to_program, to_tests = pipe(), pipe()
    common: dict[str, Any] = {"environment": program_run.spec.reference.env, "owner": program_run.owner}
    program = RunSpec(
        action="serve",
        head=_SOLUTION,
        blobs=[program_run.source],
        limits=_limits_of_program(program_run.limits),
        descriptors=(to_program[0], to_tests[1]),
        **common,
    )
    tests = RunSpec(
        action="tests",
        blobs=[test_code],
        limits=_limits_of_tests(program_run.limits),
        outputs=1,
        descriptors=(to_tests[0], to_program[1]),
        role="tests",
        **common,
    )
    results = program_run.slot.run_together([program, tests], close_after_start=[*to_program, *to_tests])
    return results[0], results[1]


def _limits_of_program(limits: Limits) -> Limits:
    """Return the limits of the program jail: more wall time, since it waits for the tests, but the same CPU time."""
    return replace(limits, wall_s=min(CEILINGS.wall_s, limits.wall_s + _PROGRAM_EXTRA_S), cpu_s=limits.cpu_seconds)


def _limits_of_tests(limits: Limits) -> Limits:
    base = Limits()
    return replace(
        base,
        wall_s=min(CEILINGS.wall_s, limits.wall_s + _TESTS_EXTRA_S),
        memory_mb=max(base.memory_mb, limits.memory_mb),
    )


def _together(program_run: ProgramRun, test_code: bytes, limits: Limits) -> tuple[RunResult, bytes]:
    """Run tests and program in one process."""
    spec = RunSpec(
        action="tests",
        role="together",
        head={**_SOLUTION, "low_trust": True},
        blobs=[test_code, program_run.source],
        limits=limits,
        outputs=1,
        environment=program_run.spec.reference.env,
        owner=program_run.owner,
    )
    result = program_run.slot.run(spec)
    return result, result.outputs[0] if result.outputs else b""
