"""Mode asserts: the row's test code runs in a jail T, the program in another, C; only values are relayed.

T writes the verdict to a pipe that C never sees. T reports that it is ready before it lets C start: until then a
fault of T is the row's or the sandbox's, from then on T's death or overrun counts as C's failure.

A pass is confirmed: tests and program run once more in one process, as ordinary Python. That run can only take a
pass away. It guards against differences between the relay and Python, not against malice (it could be forged).
With `trust: low`, which only the row can say, both share a process from the start, and the result is marked.
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
from assay.verifiers.code.runs import Candidacy, until_failure
from assay.verifiers.errors import InvalidReference

_READY = b"ready\n"
_C_EXTRA_S, _T_EXTRA_S = 1.0, 3.0
_REASONS = {
    "load": "runtime_error",
    "error": "runtime_error",
    "gone": "runtime_error",
    "exit": "wrong_output",
    "not_transferable": "not_transferable",
}
UNCONFIRMED = "unconfirmed"
"""Reason of a test that passed in two jails and failed in one."""
_SOLUTION = {"name": "solution.py", "files": [["solution.py", 0o644, 0]], "source": 0}


def run(candidacy: Candidacy) -> list[TestOutcome]:
    """The outcomes of the units in order, fewer after an early stop."""
    reference = candidacy.spec.reference
    tests = [partial(_scored, candidacy, test) for test in reference.tests if isinstance(test, AssertsTest)]
    return list(until_failure(tests, stop_early=reference.scoring == "all"))


def _scored(candidacy: Candidacy, test: AssertsTest) -> TestOutcome:
    test_code = test.test_code.encode("utf-8", "surrogatepass")
    if candidacy.spec.reference.trust == "low":
        return _outcome(test, *_together(candidacy, test_code, candidacy.limits))
    outcome = _outcome(test, *_apart(candidacy, test_code))
    if outcome.passed and candidacy.confirm and not _confirmed(candidacy, test_code):
        return TestOutcome(status=UNCONFIRMED, run=outcome.run)
    return outcome


def _outcome(test: AssertsTest, program: RunResult, told: bytes) -> TestOutcome:
    verdict = _parse(told)
    if not told.startswith(_READY):
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


def _confirmed(candidacy: Candidacy, test_code: bytes) -> bool:
    """Return whether tests and program also pass in one process; a failure is repeated once."""
    return any(_passes_together(candidacy, test_code) for _ in range(2))


def _passes_together(candidacy: Candidacy, test_code: bytes) -> bool:
    result, told = _together(candidacy, test_code, _limits_of_both(candidacy.limits))
    return result.ok and _parse(told).get("passed") is True


def _limits_of_both(limits: Limits) -> Limits:
    """Limits of a run that does the work of both jails: their sum, up to the ceilings."""
    program, tests = _limits_of_program(limits), _limits_of_tests(limits)
    return replace(
        program,
        wall_s=min(CEILINGS.wall_s, program.wall_s + tests.wall_s),
        cpu_s=min(CEILINGS.cpu_seconds, program.cpu_seconds + tests.cpu_seconds),
        memory_mb=min(CEILINGS.memory_mb, program.memory_mb + tests.memory_mb),
        processes=min(CEILINGS.processes, program.processes + tests.processes),
    )


def _refuse(verdict: dict[str, Any]) -> None:
    """Raise what T found wrong with the row, which it says before it is ready or never."""
    if verdict.get("invalid"):
        raise InvalidReference("test code does not compile", field="tests")
    if isinstance(verdict.get("lacking"), str):
        raise InvalidReference(f"test code needs {verdict['lacking']}, which it does not have here", field="env")


def _parse(told: bytes) -> dict[str, Any]:
    """T's verdict; empty where it gave none."""
    last = told.removeprefix(_READY)
    if not last.endswith(b"\n") or len(last) > 4096:
        return {}
    try:
        verdict = json.loads(last)
    except ValueError:
        return {}
    return verdict if isinstance(verdict, dict) else {}


def _apart(candidacy: Candidacy, test_code: bytes) -> tuple[RunResult, bytes]:
    """Run T and C side by side. Raises `Unavailable` if T failed before it was ready."""
    for last in (False, True):
        program, tests = _pair(candidacy, test_code)
        told = tests.outputs[0] if tests.outputs else b""
        if _died(program) and not last:
            continue
        if told.startswith(_READY) or tests.ok:
            return program, told if tests.ok else _READY
    raise Unavailable("the tests' jail failed before the program started")


def _died(program: RunResult) -> bool:
    return program.jail_lost and program.status is Status.RUNTIME_ERROR


def _pair(candidacy: Candidacy, test_code: bytes) -> tuple[RunResult, RunResult]:
    to_c, to_t = pipe(), pipe()
    common: dict[str, Any] = {"environment": candidacy.spec.reference.env, "owner": candidacy.owner}
    program = RunSpec(
        action="serve",
        head=_SOLUTION,
        blobs=[candidacy.source],
        limits=_limits_of_program(candidacy.limits),
        descriptors=(to_c[0], to_t[1]),
        **common,
    )
    tests = RunSpec(
        action="tests",
        blobs=[test_code],
        limits=_limits_of_tests(candidacy.limits),
        outputs=1,
        descriptors=(to_t[0], to_c[1]),
        role="tests",
        **common,
    )
    results = candidacy.slot.run_together([program, tests], close_after_start=[*to_c, *to_t])
    return results[0], results[1]


def _limits_of_program(limits: Limits) -> Limits:
    """The program also waits for the tests, which is not its doing; its CPU limit stays."""
    return replace(limits, wall_s=min(60.0, limits.wall_s + _C_EXTRA_S), cpu_s=limits.cpu_seconds)


def _limits_of_tests(limits: Limits) -> Limits:
    base = Limits()
    return replace(base, wall_s=min(60.0, limits.wall_s + _T_EXTRA_S), memory_mb=max(base.memory_mb, limits.memory_mb))


def _together(candidacy: Candidacy, test_code: bytes, limits: Limits) -> tuple[RunResult, bytes]:
    """Run tests and program in one process."""
    head = {**_SOLUTION, "low_trust": True}
    spec = RunSpec(
        action="tests",
        role="together",
        head=head,
        blobs=[test_code, candidacy.source],
        limits=limits,
        outputs=1,
        environment=candidacy.spec.reference.env,
        owner=candidacy.owner,
    )
    spec = replace(spec, head={**head, "files": [["solution.py", 0o644, 0]]})
    result = candidacy.slot.run(spec)
    return result, result.outputs[0] if result.outputs else b""
