"""Mode stdio: each test is a run of its own; its output is compared outside the jail.

A Python program that has many tests is compiled by its first run, which leaves the code object on a
pipe before anything of the program executes; later runs load it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from assay.contract.references.code import StdioTest
from assay.sandbox import RunResult, RunSpec, program
from assay.verifiers.code import checkers, shared
from assay.verifiers.code.compare import output_rule
from assay.verifiers.code.outcome import TestOutcome
from assay.verifiers.code.runs import ProgramRun, outcome_of, until_failure

_CODE_FD = 3


def run(program_run: ProgramRun) -> list[TestOutcome]:
    """The outcomes of the tests in order, fewer after an early stop."""
    reference = program_run.spec.reference
    runner = Runner(program_run)
    tests = _tests(runner)
    if reference.isolation == "shared" and shared.possible(program_run):
        together, runner.code = shared.stdio(program_run)
        if together is not None and tests[shared.chosen(program_run)]().passed:
            return together
    return list(until_failure(tests, stop_early=reference.scoring == "all"))


def _tests(runner: Runner) -> list[Callable[[], TestOutcome]]:
    tests = runner.program_run.spec.reference.tests
    return [partial(runner.test, test) for test in tests if isinstance(test, StdioTest)]


@dataclass
class Runner:
    """Runs one program on one test after another, compiling a Python program once."""

    program_run: ProgramRun
    code: bytes = b""

    def test(self, test: StdioTest) -> TestOutcome:
        """Run one test and return its outcome."""
        reference = self.program_run.spec.reference
        if reference.interactor is not None:
            return checkers.interact(self.program_run, reference.interactor, test, self.spec(test))
        result = self.run(test)
        if reference.checker is not None:
            if not result.ok:
                return outcome_of(result, lambda: False)
            return checkers.check(self.program_run, reference.checker, test, result)
        rule = output_rule(self.program_run.spec.compare)
        expected = (test.expected_stdout or "").encode("utf-8", "surrogatepass")
        return outcome_of(result, lambda: rule(result.stdout, expected))

    def run(self, test: StdioTest) -> RunResult:
        """Run the program on a test's input."""
        spec = self.spec(test)
        if spec.action != "script" or len(self.program_run.spec.reference.tests) == 1:
            return self.program_run.slot.run(spec)
        if self.code:
            return self.program_run.slot.run(_with_code(spec, self.code))
        result = self.program_run.slot.run(replace(spec, head={**spec.head, "code_fd": _CODE_FD}, outputs=1))
        self.code = result.outputs[0] if result.outputs else b""
        return result

    def spec(self, test: StdioTest) -> RunSpec:
        """The run of the program on a test's input."""
        reference = self.program_run.spec.reference
        return program(
            self.program_run.compiled,
            stdin=test.stdin.encode("utf-8", "surrogatepass"),
            limits=self.program_run.limits,
            environment=reference.env,
            owner=self.program_run.owner,
        )


def _with_code(spec: RunSpec, code: bytes) -> RunSpec:
    return replace(spec, head={**spec.head, "code": len(spec.blobs)}, blobs=[*spec.blobs, code])
